#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A seed decides everything: output, virtual time and every statistic, to the byte.

    same_seed.py BUILD repeat      a second run, and one without the host's address randomisation, agree
    same_seed.py BUILD fast-path   a run without the fast path agrees
    same_seed.py BUILD fast-path-transactions
                                   the same for elided, transactional and always-abort programs, from 2 threads to
                                   all, and with hyperthreads

With another seed the statistics must differ, or this test could not fail.
"""

import pathlib
import sys
import tempfile

from whole_programs import Elision, can_fix_addresses


def statistics(elision, words, options, fixed_addresses=False):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "statistics.json"
        ending = elision.vm(words, [*options, "--stats", file], fixed_addresses=fixed_addresses)
        return ending.status, ending.stdout, file.read_text()


def variants(elision, mode, words, options):
    """What must agree with the first run, by name."""
    if mode.startswith("fast-path"):
        return {"without the fast path": statistics(elision, words, [*options, "--no-fast-path"])}
    runs = {"the same seed again": statistics(elision, words, options)}
    if can_fix_addresses():
        runs["without address randomisation"] = statistics(elision, words, options, fixed_addresses=True)
    else:
        print("without address randomisation: left out, this system forbids it")
    return runs


def first_difference(one, other):
    for left, right in zip(one.splitlines(), other.splitlines()):
        if left != right:
            return f"{left.strip()} and {right.strip()}"
    return "their lengths"


def check(elision, mode, name, words, options):
    first = statistics(elision, words, ["--seed", 5, *options])
    for what, other in variants(elision, mode, words, ["--seed", 5, *options]).items():
        for part, one, two in zip(("status", "output", "statistics"), first, other):
            if one != two:
                print(f"{name}: {what}: {part} differs: {first_difference(str(one), str(two))}")
                return 1
    if statistics(elision, words, ["--seed", 6, *options])[2] == first[2]:
        print(f"{name}: another seed gives the same statistics")
        return 1
    return 0


def transactional_cases(elision):
    program = elision.build / "tests" / "contention"
    for machine, threads in (("xeon-e5-2697v4", 2), ("xeon-e5-2697v4", 8), ("xeon-e5-2697v4", 18),
                             ("core-i7-5960x", 16)):
        options = ["--machine", machine]
        for mode in ("rtm", "aahtm"):
            yield f"{mode}, {threads} on {machine}", [program, mode, threads, 100], options
        for design in ("htm-10", "tatas-aahtm", "ticket-aahtm"):
            yield (f"{design}, {threads} on {machine}", [program, "lock", threads, 60],
                   [*options, "--lock", design, "--wait", "spin"])


def all_cases(elision):
    bench = [elision.workload("arraybench"), "--threads", 8, "--sections", 400, "--contention", "high"]
    cases = [(design, bench, ["--lock", design]) for design in ("pthread", "ticket", "htm-10", "tatas-aahtm")]
    cases += [("spinning", bench, ["--lock", "ticket-aahtm", "--wait", "spin"]),
              ("python3", ["python3", "-c", "import random, time; print(random.random(), id([]), time.time())"], []),
              ("sort", ["sort", "--parallel=4", "-R", "/etc/passwd"], [])]
    return cases


def main():
    elision, mode = Elision(sys.argv[1]), sys.argv[2]
    cases = transactional_cases(elision) if mode == "fast-path-transactions" else all_cases(elision)
    return max([check(elision, mode, *case) for case in cases])


if __name__ == "__main__":
    sys.exit(main())
