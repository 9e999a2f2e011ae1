#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No design loses an update, and a broken one does.

    exact_totals.py BUILD MODE SEEDS

ArrayBench and the ledger (ledger.cc) check their own totals: they end with 1 and a line "LOST n updates" if one is
gone. Every run is on the virtual E5-2697 v4 with a seed of its own; a failure prints the command that repeats
it. Modes:

  arraybench       every design at 8 and 18 threads keeps every update; every elided run committed
                   transactions, every AAHTM run speculated
  opt              the same for the variant that leaves out a write while speculating
  ledger           the same for the ledger
  no-subscription  with a library that does not subscribe to the lock, the ledger loses updates
  no-conflicts     with conflict detection off, the ledger loses updates
"""

import shlex
import sys

from whole_programs import Elision

THREADS = (8, 18)
ELIDED = ("htm-1", "htm-10")
SPECULATING = ("tatas-aahtm", "ticket-aahtm")
PLAIN = ("pthread", "tatas", "ticket")


def array_bench(elision, threads, seed, *more):
    return [elision.workload("arraybench"), "--threads", threads, "--sections", 15 * threads, "--warmup", 5,
            "--size", 2000, "--contention", "high", "--seed", seed,
            "--writes", 10 if seed % 3 else 60, *more]


def ledger(elision, threads, seed):
    return [elision.build / "tests" / "ledger", threads, 20, seed]


def options_of(seed, design, *more):
    return ["--seed", seed, "--lock", design, *more]


def report(elision, words, options, what):
    print(f"{what}\nrepeat with: {shlex.join(map(str, elision.vm_command(words, options)))}")
    return 1


def forms(design):
    """Every form of a design that decides how it may go wrong."""
    if design in ELIDED:
        return [["--busy", "inside", "--retry", "back-off"], ["--busy", "outside", "--wait", "spin"]]
    if design in SPECULATING:
        return [["--speculation", "run-on"], ["--speculation", "abort-at-unlock", "--wait", "spin"]]
    return [[], ["--wait", "spin"]]


def check_one(elision, words, options, design):
    ending, totals = elision.totals(words, options)
    if ending.status != 0:
        return report(elision, words, options, f"ended with {ending}")
    if design in ELIDED and totals["commits"] == 0:
        return report(elision, words, options, "no transaction committed")
    if design in SPECULATING and totals["always_abort_begins"] == 0:
        return report(elision, words, options, "nobody speculated")
    return 0


def exact(elision, seeds, designs, program):
    for seed in range(1, seeds + 1):
        for threads in THREADS:
            for design in designs:
                # Seeds take turns with the forms, so that each form sees many of them.
                form = forms(design)[(seed + threads // 8) % 2]
                if check_one(elision, program(elision, threads, seed), options_of(seed, design, *form), design) != 0:
                    return 1
    return 0


def loses(elision, seeds, run_one):
    """0 if at least one of the seeds loses updates; programs must end by themselves in any case."""
    lost = 0
    for seed in range(1, seeds + 1):
        ending = run_one(seed)
        if ending.status not in (0, 1):
            print(f"seed {seed}: ended with {ending}")
            return 1
        lost += "LOST" in ending.stdout
    print(f"updates were lost with {lost} of {seeds} seeds")
    return 0 if lost > 0 else 1


def no_subscription(elision, seeds):
    library = elision.build / "tests" / "libelision-nosubscription.so"

    def run_one(seed):
        # Set inside the guest: the launcher itself shall not run with the broken library. A single try brings
        # fallbacks, which only subscription keeps apart from transactions.
        settings = [f"LD_PRELOAD={library}", "ELISION_LOCK=htm-1"]
        return elision.vm(["env", *settings, *ledger(elision, 8, seed)], ["--seed", seed])

    return loses(elision, seeds, run_one)


def no_conflicts(elision, seeds):
    def run_one(seed):
        return elision.vm(ledger(elision, 8, seed), options_of(seed, "htm-10", "--no-conflict-detection"))

    return loses(elision, seeds, run_one)


MODES = {
    "arraybench": lambda elision, seeds: exact(elision, seeds, PLAIN + ELIDED + SPECULATING, array_bench),
    "opt": lambda elision, seeds: exact(
        elision, seeds, ELIDED + SPECULATING, lambda *given: array_bench(*given, "--opt")),
    "ledger": lambda elision, seeds: exact(elision, seeds, PLAIN + ELIDED + SPECULATING, ledger),
    "no-subscription": no_subscription,
    "no-conflicts": no_conflicts,
}


def main():
    build, mode, seeds = sys.argv[1:]
    return MODES[mode](Elision(build), int(seeds))


if __name__ == "__main__":
    sys.exit(main())
