#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenMP programs keep what OpenMP promises under every lock design, with libgomp and, where clang is there, with libomp.

    openmp.py BUILD MODE SEEDS DESIGN...

Modes:

  native    openmp.c and BackwardSolver, natively
  virtual   the same on the virtual E5-2697 v4, each seed with another: elided designs must commit, speculating
            ones speculate at barriers
  tasks     the case in which teams move to the runtime's barrier, speculating designs, many seeds
  loses     with conflict detection off, and with barriers that let everybody pass, openmp.c must fail
  mixed     processes with both runtimes, from the start or by dlopen, natively: each part means its own
  bound     with threads bound to CPUs in every way that the runtimes know, more threads than CPUs among them
  first     the first solve with our barriers takes little longer than with libgomp's: who is new is not looked
            for at length

A failure prints the command that repeats it.
"""

import os
import re
import shlex
import sys

import whole_programs
from whole_programs import Elision, waits

MACHINE = "xeon-e5-2697v4"
SPECULATING = ("tatas-aahtm", "tatas-pri-aahtm", "ticket-aahtm", "pthread-aahtm", "htm-10-fb-aahtm")
ELIDED = ("htm-1", "htm-10", "hle-scm", "ttstle", "htm-10-fb-aahtm")
CASES = ("criticals", "atomics", "locks", "nest-locks", "barriers", "nested", "tasks", "captures")


def programs(elision):
    return [file for runtime in ("libgomp", "libomp") if (file := elision.build / "tests" / f"openmp_{runtime}").exists()]


def complain(words, ending, what):
    print(f"{what}: {shlex.join(map(str, words))}\n{ending}")
    return 1


def is_good(ending, cases):
    return ending.status == 0 and ending.stdout.split("\n")[:-1] == [f"{case} ok" for case in cases]


def solver(elision, threads, seed):
    return [elision.workload("backward_solver"), "--threads", threads, "--levels", 12, "--rows", 20, "--solves", 2, "--seed", seed]


def native(elision, designs):
    failures = 0
    for design in designs:
        for program in programs(elision):
            # Threads that spin where there are few CPUs crawl.
            words = [elision.binary, "run", "--lock", design, "--rtm-always-abort", "--", program, 60]
            ending = whole_programs.run(words, environment={"OMP_WAIT_POLICY": "passive"})
            if not is_good(ending, CASES):
                failures += complain(words, ending, "wrong")
        words = [elision.binary, "run", "--lock", design, "--rtm-always-abort", "--", *solver(elision, 2, 1)]
        ending = whole_programs.run(words, environment={"OMP_WAIT_POLICY": "passive"})
        if ending.status != 0:
            failures += complain(words, ending, "wrong")
    return failures


def check_virtual(elision, words, options, good, needs):
    ending, totals = elision.totals(words, ["--machine", MACHINE, *options])
    command = elision.vm_command(words, ["--machine", MACHINE, *options])
    if not good(ending):
        return complain(command, ending, "wrong")
    for counter in needs:
        if totals[counter] < 20:  # a start of the C library commits one
            return complain(command, ending, f"{counter}: only {totals[counter]}")
    return 0


def virtual(elision, seeds, designs):
    failures = 0
    for seed in range(1, seeds + 1):
        for design in designs:
            options = ["--seed", str(seed), "--lock", design, *waits(design, seed)]
            needs = (["commits"] if design in ELIDED else []) + (["always_abort_begins"] if design in SPECULATING else [])
            for program in programs(elision):
                failures += check_virtual(elision, [program, 8], options, lambda ending: is_good(ending, CASES), needs)
            at_barriers = ["always_abort_begins"] if design in SPECULATING else []
            failures += check_virtual(elision, solver(elision, 6, seed), options, lambda ending: ending.status == 0, at_barriers)
    return failures


def tasks(elision, seeds, designs):
    failures = 0
    for seed in range(1, seeds + 1):
        for design in designs:
            for program in programs(elision):
                options = ["--seed", str(seed), "--lock", design, *waits(design, seed)]
                failures += check_virtual(elision, [program, 14, "tasks"], options, lambda ending: is_good(ending, ["tasks"]),
                                          ["always_abort_begins"])
    return failures


def loses(elision, seeds):
    """Failures: none if every kind of section lost something with one seed or another."""
    for case in ("criticals", "locks", "nest-locks"):
        for program in programs(elision):
            def lost(seed, program=program, case=case):
                ending = elision.vm([program, 40, case], ["--machine", MACHINE, "--seed", str(seed), "--lock", "htm-10",
                                                          "--no-conflict-detection"])
                return " instead of " in ending.stdout

            if not any(map(lost, range(1, seeds + 1))):
                print(f"{program.name}: {case} lost nothing with {seeds} seeds")
                return 1
    environment = {"LD_PRELOAD": str(elision.build / "tests" / "libno_barriers.so")}
    for case in ("barriers", "nested", "tasks", "captures"):
        for program in programs(elision):
            def missed(seed, program=program, case=case):
                options = ["--machine", MACHINE, "--seed", str(seed)]
                return " instead of " in elision.vm([program, 20, case], options, environment=environment).stdout

            # A barrier is missed only by some orders of threads.
            if not any(map(missed, range(1, 4 * seeds + 1))):
                print(f"{program.name}: {case} missed no barrier with {4 * seeds} seeds")
                return 1
    return 0


BINDINGS = [{"OMP_PROC_BIND": binding} for binding in ("true", "master", "close", "spread")] + [
    {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}, {"OMP_PROC_BIND": "close", "OMP_PLACES": "{0},{1}"},
    {"GOMP_CPU_AFFINITY": "0-1"}, {"GOMP_CPU_AFFINITY": "1 0"}, {"KMP_AFFINITY": "scatter"}]


def bound(elision):
    """Virtually with as many CPUs as the machine has, and with two; natively where there are two."""
    failures = 0
    for program in programs(elision):
        for binding in BINDINGS:
            for cpus in (18, 2):
                ending = elision.vm([program, 4], ["--machine", MACHINE, "--cpus", str(cpus)], environment=binding)
                if not is_good(ending, CASES):
                    failures += complain([binding, program, 4], ending, f"wrong with {cpus} CPUs")
            if len(os.sched_getaffinity(0) & {0, 1}) == 2:
                ending = whole_programs.run([program, 4], environment={"OMP_WAIT_POLICY": "passive", **binding})
                if not is_good(ending, CASES):
                    failures += complain([binding, program, 4], ending, "wrong natively")
    return failures


def mixed(elision, designs):
    tests = elision.build / "tests"
    parts = [tests / f"libopenmp_part_{runtime}.so" for runtime in ("libgomp", "libomp")]
    failures = 0
    for program in ([tests / "openmp_mixed_by_gcc"], [tests / "openmp_mixed_by_clang"], [tests / "openmp_mixed", *parts],
                    [tests / "openmp_mixed", *reversed(parts)]):
        for design in designs:
            words = [elision.binary, "run", "--lock", design, "--rtm-always-abort", "--", *program]
            ending = whole_programs.run(words, environment={"OMP_WAIT_POLICY": "passive"})
            if ending.status != 0 or ending.stdout != "ok\n":
                failures += complain(words, ending, "wrong")
    return failures


def first(elision):
    """Virtual time: the same each time."""
    def seconds(*options):
        words = [elision.workload("backward_solver"), "--threads", 12, "--levels", 20, "--rows", 75, "--warmup", 0]
        ending = elision.vm(words, ["--machine", MACHINE, *options])
        found = re.search(r"^seconds: (.*)$", ending.stdout, re.MULTILINE)
        if not found:
            sys.exit(f"backward_solver: {ending}")
        return float(found.group(1))

    libgomp, ours = seconds(), seconds("--lock", "tatas-aahtm", "--tries", "0")
    print(f"libgomp's barriers: {libgomp} s, ours: {ours} s")
    return int(ours > 1.5 * libgomp)


def main():
    build, mode, seeds, *designs = sys.argv[1:]
    elision = Elision(build)
    speculating = [design for design in designs if design in SPECULATING]
    modes = {"native": lambda: native(elision, designs), "virtual": lambda: virtual(elision, int(seeds), designs),
             "tasks": lambda: tasks(elision, int(seeds), speculating), "loses": lambda: loses(elision, int(seeds)), "first": lambda: first(elision),
             "bound": lambda: bound(elision), "mixed": lambda: mixed(elision, designs)}
    failures = modes[mode]()
    print(f"{len(programs(elision))} programs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
