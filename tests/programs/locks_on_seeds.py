#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suites of the lock designs on the virtual machine, where every transaction is to be had, over many seeds.

    locks_on_seeds.py BUILD SEEDS suites      the typed suites over the algorithms (src/locks/locks_test.cc, barrier_test.cc)
    locks_on_seeds.py BUILD SEEDS DESIGN      what POSIX promises, through the preload library under a design
                                              (src/preload/semantics_test.cc), waiting both ways in turn

A failure prints the command that repeats it.
"""

import argparse
import shlex
import sys

from whole_programs import Elision, waits

SUITES = ("locks_locks_test", "locks_barrier_test")
SUITE_ROUNDS = 60


def runs(elision, what, seed):
    """(options, program, environment) of all runs with a seed."""
    tests = elision.build / "tests"
    if what == "suites":
        return [([], tests / suite, {"ELISION_TEST_ROUNDS": str(SUITE_ROUNDS)}) for suite in SUITES]
    wait = waits(what, seed)
    # The tests ask the environment what to expect.
    return [(["--lock", what, *wait], tests / "preload_semantics_test", {"ELISION_LOCK": what, "ELISION_WAIT": wait[1]})]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("seeds", type=int)
    parser.add_argument("what")
    options = parser.parse_args()
    elision = Elision(options.build)
    passed = failed = 0
    for seed in range(1, options.seeds + 1):
        for more, program, environment in runs(elision, options.what, seed):
            ending = elision.vm([program], ["--seed", seed, *more], environment=environment)
            if ending.status == 0 and "[  PASSED  ]" in ending.stdout:
                passed += 1
                continue
            failed += 1
            command = elision.vm_command([program], ["--seed", seed, *more], environment)
            print(f"{shlex.join(map(str, command))}\nstatus {ending.status}\n{ending.stdout[-3000:]}{ending.stderr[-2000:]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
