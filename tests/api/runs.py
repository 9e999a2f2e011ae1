#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs over libelision-api on the virtual machine, over seeds. A failure prints the command that repeats it.

    runs.py BUILD MODE SEEDS [DESIGN...]

Modes:

  suite        api_test, all that the library promises, with transactions and with every lock really taken
  exact        the workload `updates` keeps every update under every variant, and what elides commits
  loses        without synchronisation, and with conflict detection off, they lose updates: the check can fail
  beside       sections of ours and of pthreads in each other, under every DESIGN of the preload library and without it
"""

import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
sys.dont_write_bytecode = True

from whole_programs import Elision  # noqa: E402

KERNELS = ("histogram", "physics")
LOCKS = ("lock", "atomic", "privatised", "barrier")
GRANULARITIES = (1, 2, 4, 8, 16, 32, 64, 0)
ELIDED = ("scoped", "elided", "lockset", "trylock", "region",
          *(f"{kind}-{granularity}" for kind in ("coarse", "coarse1") for granularity in GRANULARITIES))
THREADS = (3, 8)
SUITE_ROUNDS = 60


def report(elision, words, options, what, environment=None):
    print(f"{what}\nrepeat with: {shlex.join(map(str, elision.vm_command(words, options, environment)))}")
    return 1


def suite(elision, seeds):
    words = [elision.build / "tests" / "api_test"]
    for seed in range(1, seeds + 1):
        for transactions in "10":
            settings = {"ELISION_TEST_ROUNDS": str(SUITE_ROUNDS), "ELISION_TRANSACTIONS": transactions}
            ending = elision.vm(words, ["--seed", seed], environment=settings)
            if ending.status != 0 or "[  PASSED  ]" not in ending.stdout:
                return report(elision, words, ["--seed", seed], ending, settings)
    return 0


def program(elision, kernel, variant, seed):
    return [elision.workload("updates"), "--kernel", kernel, "--variant", variant, "--threads", THREADS[seed % 2], "--items", 240,
            "--places", 24, "--window", 10, "--seed", seed]


def exact(elision, seeds):
    for seed in range(1, seeds + 1):
        for kernel in KERNELS:
            for variant in LOCKS + ELIDED:
                words, options = program(elision, kernel, variant, seed), ["--seed", seed]
                ending = elision.vm(words, options)
                if ending.status != 0:
                    return report(elision, words, options, ending)
                if (variant in ELIDED) == ("commits: 0\n" in ending.stdout):
                    return report(elision, words, options, f"{variant}: {ending.stdout}")
    return 0


def loses(elision, seeds):
    broken = [("none", []), *((variant, ["--no-conflict-detection"]) for variant in ("lockset", "trylock", "region", "coarse-8", "coarse1-0"))]
    for kernel in KERNELS:
        for variant, more in broken:
            lost = 0
            for seed in range(1, seeds + 1):
                words, options = program(elision, kernel, variant, seed), ["--seed", seed, *more]
                ending = elision.vm(words, options)
                if ending.status not in (0, 1):
                    return report(elision, words, options, ending)
                lost += "LOST" in ending.stdout
            print(f"{kernel} {variant} {' '.join(more)}: updates were lost with {lost} of {seeds} seeds")
            if lost == 0:
                return 1
    return 0


def beside(elision, seeds, designs):
    words = [elision.build / "tests" / "beside_pthreads", 3, 24]
    for seed in range(1, seeds + 1):
        for number, design in enumerate((None, *designs)):
            wait = ["park", "spin"][(seed + number) % 2]
            options = ["--seed", seed, *(["--lock", design, "--wait", wait] if design else [])]
            ending = elision.vm(words, options)
            if ending.status != 0 or "commits 0\n" in ending.stdout:
                return report(elision, words, options, ending)
    return 0


MODES = {"suite": suite, "exact": exact, "loses": loses, "beside": beside}


def main():
    build, mode, seeds, *designs = sys.argv[1:]
    return MODES[mode](Elision(build), int(seeds), *([designs] if designs else []))


if __name__ == "__main__":
    sys.exit(main())
