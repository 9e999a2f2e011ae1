#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suites of the lock designs on the virtual machine, where every transaction is to be had, over many seeds.

    locks_on_seeds.py BUILD SEEDS DESIGN...

The typed suites over the algorithms (src/locks/locks_test.cc, barrier_test.cc), and what POSIX promises through the preload library under each
design (src/preload/semantics_test.cc), waiting both ways in turn. A failure prints the command that repeats it.
"""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys

SUITE_ROUNDS = 60


def run(words, environment):
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode == 0 and "[  PASSED  ]" in done.stdout:
        return True
    settings = " ".join(f"{name}={value}" for name, value in environment.items())
    print(f"{settings} {shlex.join(map(str, words))}\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("seeds", type=int)
    parser.add_argument("designs", nargs="+")
    options = parser.parse_args()
    elision, tests = options.build / "bin" / "elision", options.build / "tests"
    runs = failures = 0
    for seed in range(1, options.seeds + 1):
        for suite in ("locks_locks_test", "locks_barrier_test"):
            failures += not run([elision, "vm", "--seed", str(seed), "--", tests / suite],
                                {"ELISION_TEST_ROUNDS": str(SUITE_ROUNDS)})
            runs += 1
        for number, design in enumerate(options.designs):
            wait = ["park", "spin"][(seed + number) % 2]
            failures += not run([elision, "vm", "--seed", str(seed), "--lock", design, "--wait", wait, "--", tests /
                                 "preload_semantics_test"], {"ELISION_LOCK": design, "ELISION_WAIT": wait})
            runs += 1
    print(f"{runs} runs, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
