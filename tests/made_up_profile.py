# SPDX-License-Identifier: Apache-2.0
"""A made-up profile of elision record with call paths, for tests of what reads them: every state occurs, names hold what the formats of other
tools treat as special, functions are inlined, recursive and nameless, and threads have the same name."""

import collections
import json

STATES = ["outside", "section", "attempt", "aborted", "fallback", "waiting", "speculating", "overhead", "blocked"]
UNKNOWN = "[unknown]"
SPECIAL = 'Table<int, "a;b">::find(\n\\<é> %s & \t,x)'

FRAMES = [
    {"address": 0x401000, "name": "main", "file": "/src/bank.cc", "line": 90},
    {"address": 0x401100, "name": "worker(void*)", "file": "/src/bank.cc", "line": 40},
    {"address": 0x401200, "name": "transfer(int, int)", "file": "/src/bank.cc", "line": 12},
    {"address": 0x401200, "name": "Account::add(int)", "file": "/src/account.h", "line": 7},  # inlined into the one above
    {"address": 0x401300, "name": "transfer(int, int)", "file": "/src/bank.cc", "line": 19},  # another place in it
    {"address": 0x401400, "name": SPECIAL, "file": "/src/a b;c.h", "line": 3},
    {"address": 0x7f0000001234},
]
THREADS = [{"id": 4711, "name": "bank", "commits": 0, "aborts": 0}, {"id": 4712, "name": "wor;ker 7", "commits": 9, "aborts": 3},
           {"id": 4713, "name": "wor;ker 7", "commits": 0, "aborts": 0}, {"id": 4714, "name": "", "commits": 0, "aborts": 0}]
COUNTS = {"count": 0, "apart": 0, "prefetched": 0, "unknown": 0}
NUMBERS = ["acquisitions", "contended", "waits_ns", "longest_wait_ns", "holds_ns", "aborted_ns", "attempts", "commits", "fallbacks",
           "system_calls", "conflicts_apart_at_lock", "line_waits_ns", "waits_inside_ns", "inside"]


def lock(place, site):
    empty = {name: [] for name in ("callers", "other_sites", "conflicts", "line_waits")}
    return {"place": place, "site": site, **dict.fromkeys(NUMBERS, 0), "aborts": {}, "conflicts_seen": COUNTS, **empty}


LOCKS = [lock({"address": 0x5000, "name": "queue;lock"}, FRAMES[2]), lock({"address": 0x6000}, FRAMES[4])]
LOCK_NAMES = ["queue;lock", "the lock taken at /src/bank.cc:19"]


def path(state, thread, frames, ns, samples, lock=None):
    found = {"state": state, "thread": thread, "frames": frames, "ns": ns, "samples": samples}
    return found if lock is None else {**found, "lock": lock}


PATHS = [
    path("waiting", 1, [1, 2], 7_000_000, 14, lock=0),
    path("waiting", 2, [1, 2], 6_500_000, 13, lock=0),
    path("outside", 0, [0], 6_000_000, 12),
    path("section", 1, [1, 2, 3], 5_000_000, 10, lock=0),
    path("section", 1, [1, 4, 3], 4_500_000.4, 9, lock=1),
    path("attempt", 1, [1, 2], 4_000_000, 8, lock=0),
    path("aborted", 1, [1, 2], 3_500_000, 7, lock=0),
    path("fallback", 2, [1, 2], 3_000_000, 6, lock=0),
    path("speculating", 2, [1, 2], 2_500_000, 5, lock=1),
    path("overhead", 2, [1, 4], 2_000_000, 4, lock=1),
    path("blocked", 3, [6], 1_500_000, 3),
    path("outside", 3, [], 1_000_000, 2),
    path("outside", 2, [1, 5, 5, 5], 500_000, 1),
    path("section", 3, [6, 1], 400, 0, lock=1),
]


# Samples of aborts: two places in transactions that begin in transfer(), called by worker().
ABORT_CALLERS = [FRAMES[2], FRAMES[1]]
ABORT_ROWS = [{"place": FRAMES[5], "cause": "conflict", "callers": ABORT_CALLERS, "inside": [FRAMES[4]], "samples": 7, "aborts": 70, "cycles": 6000},
              {"place": FRAMES[4], "cause": "capacity", "callers": ABORT_CALLERS, "inside": [], "samples": 3, "aborts": 30, "cycles": 2500}]
ABORT_EVENTS = {"missing": "", "counted": True, "aborts": 100, "commits": 900, "period": 10, "samples": 10, "sampled_aborts": 100, "lost": 2,
                "with_branches": 10, "whole_paths": 10, "running": 1, "cycles": 8500, "equal_samples": 0, "counted_cycles": 0,
                "by_cause": {"conflict": 70, "capacity": 30}, "rows": ABORT_ROWS}


def abort_stack(row):
    """The outermost first."""
    calls = [*reversed(row["callers"]), {"name": "[in a transaction]"}, *reversed(row["inside"]), row["place"]]
    return [place["name"] for place in calls]


def document(paths=None, **changes):
    """The profile as elision record writes it."""
    paths = PATHS if paths is None else paths
    profile = {"exact": False, "samples": 94, "acquisitions_estimated": True, "wall_ns": 20_000_000, "parallel_ns": 18_000_000, "most_threads": 4,
               "cpus": 4, "interrupted": 0, "faulted": 0, "parked_ns": 0, "times_ns": dict.fromkeys(STATES, 0), "locks": LOCKS,
               "threads": THREADS, "frames": FRAMES, "paths": paths, "paths_lost": 5, **changes}
    return {"format": "elision profile", "version": 2, "elision": "0.1.0", "program": ["/bin/ba nk", "--threads", "4"], "where": "native",
            "design": "htm-10", "profile": profile}


def write(file, paths=None, **changes):
    file.write_text(json.dumps(document(paths, **changes)))
    return file


def function(index):
    """What a frame is called where it has no name."""
    frame = FRAMES[index]
    return frame.get("name") or f"{frame['address']:#x}"


def functions(found):
    return [function(index) for index in found["frames"]] or [UNKNOWN]


def thread_label(index):
    name, number = THREADS[index]["name"], THREADS[index]["id"]
    return f"{name} ({number})" if name else f"thread {number}"


def times(key, paths=None):
    """The nanoseconds of all paths by what `key` says of each."""
    sums = collections.Counter()
    for found in PATHS if paths is None else paths:
        sums[key(found)] += round(found["ns"])
    return dict(sums)
