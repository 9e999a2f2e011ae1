# SPDX-License-Identifier: Apache-2.0
"""Profiles as `elision record` writes them, made by hand."""

import copy
import json

STATES = ["outside", "section", "attempt", "aborted", "fallback", "waiting", "speculating", "overhead", "blocked"]
NO_CONFLICTS = {"count": 0.0, "apart": 0.0, "prefetched": 0.0, "unknown": 0.0}
NUMBERS_OF_LOCKS = ["acquisitions", "contended", "waits_ns", "longest_wait_ns", "holds_ns", "aborted_ns", "attempts", "commits", "fallbacks",
                    "system_calls", "conflicts_apart_at_lock", "line_waits_ns", "waits_inside_ns"]


def place(name, file=None, line=0, address=4096):
    return {"address": address, **({"name": name} if name else {}), **({"file": file, "line": line} if file else {})}


def lock(name, site=None, **numbers):
    """`numbers`: what is not 0, or no empty list."""
    times = dict.fromkeys(STATES, 0.0) | {"waiting": numbers.get("waits_ns", 0.0)}
    made = {"place": place(name), "site": site or place("work", "work.c", 5), **dict.fromkeys(NUMBERS_OF_LOCKS, 0.0), "inside": 0, "aborts": {}, "times_ns": times,
            "conflicts_seen": dict(NO_CONFLICTS), "callers": [], "other_sites": [], "conflicts": [], "line_waits": []}
    return {**made, **numbers}


def path(state, frames, ns, samples, thread=0, at=None):
    """`frames`: the outermost function first; `at`: the number of the lock."""
    return {"state": state, **({"lock": at} if at is not None else {}), "thread": thread, "frames": frames, "ns": ns, "samples": samples}


def profile(waiting=0.4, samples=1000, where="native", design="pthread", program=("./server",), locks=(), **members):
    """Four threads for a second. `waiting`: the share of it that they wait for queue_lock; without samples it is exact."""
    everything = 4e9
    times = dict.fromkeys(STATES, 0.0)
    times.update(waiting=waiting * everything, section=0.1 * everything, outside=(0.9 - waiting) * everything)
    queue = lock("queue_lock", acquisitions=1000.0, waits_ns=waiting * everything)
    inner = {"exact": samples == 0, "samples": samples, "acquisitions_estimated": samples != 0, "wall_ns": 1e9, "parallel_ns": 1e9, "most_threads": 5,
             "cpus": 8, "interrupted": 0.0, "faulted": 0.0, "parked_ns": 0.0, "times_ns": times, "locks": [queue, *locks],
             "threads": [{"id": 10, "name": "main", "commits": 1.0, "aborts": 2.0}, {"id": 11, "name": "", "commits": 0.0, "aborts": 0.0}],
             "frames": [place("main", "main.c", 40), place("work", "work.c", 5, 8192), place("push", "queue.c", 12, 8200)],
             "paths": [path("waiting", [0, 1, 2], waiting * everything, waiting * samples, thread=1, at=0),
                       path("outside", [0, 1], (0.9 - waiting) * everything, (0.9 - waiting) * samples),
                       path("section", [0, 1, 2], 0.1 * everything, 0.1 * samples, at=0)], "paths_lost": 0.0}
    return {"format": "elision profile", "version": 2, "elision": "0.1.0", "program": list(program), "where": where, "design": design,
            "profile": {**inner, **members}}


def abort_events(rows, **members):
    """`rows`: a cause, a place, samples, and the aborts that they stand for."""
    made = [{"place": at, "cause": cause, "samples": samples, "aborts": aborts, "cycles": 100 * aborts, "callers": [], "inside": []}
            for cause, at, samples, aborts in rows]
    samples, aborts = (sum(row[key] for row in made) for key in ("samples", "aborts"))
    return {"missing": "", "counted": True, "aborts": aborts, "commits": 4e4, "period": 100.0, "samples": samples, "sampled_aborts": aborts, "lost": 0.0,
            "with_branches": 0.0, "whole_paths": 0.0, "running": 1.0, "cycles": 100 * aborts, "equal_samples": samples, "counted_cycles": 100 * aborts,
            "by_cause": {}, "rows": made} | members


def damaged(whole, keys, value):
    """A copy in which what stands at `keys`, in one another, is `value`."""
    result = copy.deepcopy(whole)
    inner = result
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return result


def write(folder, name, content):
    """The file's name."""
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return name
