#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs that compare locks check themselves, and what they check can fail.

    lock_workloads.py BUILD MODE

  onelock   every structure under every lock that the program was built with, and under glibc's elision and htm-10, keeps
            its totals on the virtual machine, and all of those commit transactions; the same for arraybench's forms
  packets   arrive as they were sent under every kind of condition variables, one lock or many; elision that knows of them commits
  lockcost  every group prints its ratios, natively and on the virtual machine
  loses     with conflict detection off both lose something and say so (not the containers: they would rather crash or hang)
  words     bad input gets one line and exit code 2; a limit ends what would not
"""

import re
import sys

from whole_programs import Elision, run

THREADS = 8
MOST_SEEDS = 20
STRUCTURES = ("counters", "map", "hash")


def built_locks(elision):
    return re.search(r"--lock \S*\{([a-z,]+)\}", run([elision.workload("onelock"), "--help"]).stdout).group(1).split(",")


def onelock(elision, structure, lock, sections=400):
    return [elision.workload("onelock"), "--structure", structure, "--lock", lock, "--threads", THREADS, "--sections", sections,
            "--reads", 30, "--warmup", 5, "--size", 64]


def expect(holds, what, ending):
    print(f"{'ok' if holds else 'FAILED'}: {what}")
    if not holds:
        print(ending)
    return holds


def check_elided(elision, name, words, options=()):
    """Exact totals, with transactions."""
    ending, totals = elision.totals(words, options)
    return expect(ending.status == 0 and "LOST" not in ending.stdout and "throughput: " in ending.stdout
                  and totals.get("commits", 0) > 0, name, ending)


def check_onelock(elision):
    locks = built_locks(elision)
    good = True
    for structure in STRUCTURES:
        for lock in locks:
            words = onelock(elision, structure, lock)
            if lock == "pthread":
                ending, totals = elision.totals(words)
                good &= expect(ending.status == 0 and totals["begins"] == 0, f"{structure}, pthread", ending)
                good &= check_elided(elision, f"{structure}, htm-10", words, ["--lock", "htm-10"])
                # A later glibc has no elision: then there is nothing to check.
                ending, totals = elision.totals(["env", "GLIBC_TUNABLES=glibc.elision.enable=1", *words])
                good &= expect(ending.status == 0, f"{structure}, glibc's elision: {totals['commits']} commits", ending)
            else:
                good &= check_elided(elision, f"{structure}, {lock}", words)
    for lock in set(locks) - {"pthread"}:
        good &= check_elided(elision, f"arraybench_{lock}", [
            elision.workload(f"arraybench_{lock}"), "--threads", THREADS, "--sections", 100, "--warmup", 5, "--size", 2000,
            "--contention", "high"])
    return good


def check_packets(elision):
    good = True
    for locks in ("one", "each"):
        words = [elision.workload("packets"), "--threads", 4, "--packets", 150, "--ring", 4, "--locks", locks]
        for design in ("pthread", "tatas", "ticket", "htm-10"):
            for condition in ("glibc", "aware", "busy"):
                ending, totals = elision.totals(words, ["--lock", design, "--condition", condition])
                # With glibc's condition variables every signal ends a transaction. The C library's start commits one.
                commits = design != "htm-10" or condition == "glibc" or totals["commits"] >= 20
                good &= expect(ending.status == 0 and ending.stdout.startswith("packets: 300\n") and commits,
                               f"{design}, {condition}, {locks}", ending)
    return good


def lockcost(elision, *groups):
    return [elision.workload("lockcost"), "--pairs", 1, "--milliseconds", 1, *groups]


def check_lines(what, ending, names):
    """Every name is there with positive numbers, in this order."""
    lines = [line.partition(": ") for line in ending.stdout.splitlines()]
    printed = [name for name, _, _ in lines]
    positive = all(float(number) > 0 for _, _, numbers in lines for number in numbers.split()[:3])
    return expect(ending.status == 0 and positive and [name for name in printed if name in names] == names, what, ending)


def check_lockcost(elision):
    mutexes = ["normal", "recursive", "errorcheck", "adaptive", "trylock", "timedlock"]
    every = mutexes + ["spin", "read", "write"]
    uncontended = [f"one {name}" for name in every] + [f"two {name}" for name in every] + ["two condition"]
    contended = [f"contended {lock} {section}"
                 for lock in ("mutex", "rwlock-0-writers", "rwlock-10-writers", "rwlock-100-writers")
                 for section in ("short", "200ns")]
    oversubscribed = ["oversubscribed mutex short", "oversubscribed mutex 200ns"]
    ours = [f"two {name}" for name in mutexes] + ["two condition", *contended[:2], *oversubscribed]
    groups = ["uncontended", "contended", "oversubscribed"]
    preloaded = [elision.binary, "run", "--lock", "tatas", "--", *lockcost(elision, *groups)]
    good = check_lines("glibc with itself, natively", run(lockcost(elision, *groups)), uncontended + contended + oversubscribed)
    ending = run(preloaded)
    good &= check_lines("tatas, natively", ending, ours)
    library = (elision.build / "lib" / "libelision.so").read_bytes()
    for name, function in (("spin", b"pthread_spin_lock"), ("read", b"pthread_rwlock_rdlock")):
        good &= expect((f"two {name}: " in ending.stdout) == (function in library),
                       f"tatas, natively: {name} only if replaced", ending)
    good &= check_lines("htm-10, virtually", elision.vm(lockcost(elision, "contended"), ["--cpus", 2, "--lock", "htm-10"]),
                        contended[:2])
    return good


def check_loses(elision):
    options = ["--lock", "htm-10", "--no-conflict-detection"]
    good = True
    for what, words in (("onelock, counters", onelock(elision, "counters", "pthread", sections=4000)),
                        ("lockcost", lockcost(elision, "contended"))):
        for seed in range(1, MOST_SEEDS + 1):
            ending = elision.vm(words, ["--cpus", THREADS if "onelock" in what else 2, *options, "--seed", seed])
            lost = ending.status == 1 and "LOST" in ending.stdout
            if lost:
                break
        good &= expect(lost, f"{what} loses something within {MOST_SEEDS} seeds", ending)
    return good


def check_words(elision):
    ending = run([elision.workload("onelock"), "--sections", 10**15, "--limit", 0.01])
    good = expect(ending.status == 124 and ending.stdout == "did not end within its limit\n", "a limit is kept", ending)
    for words, named in ((["onelock", "--structure", "tree"], "tree"), (["onelock", "--lock", "none"], "none"),
                         (["onelock", "--seconds", "1", "--sections", "1"], "--sections"), (["onelock", "--threads", "0"], "0"),
                         (["packets", "--threads", "3"], "3"), (["packets", "--locks", "two"], "two"),
                         (["backward_solver", "--rows", "0"], "0"), (["updates", "--variant", "magic"], "magic"),
                         (["updates", "--variant", "coarse-x"], "coarse-x"), (["updates", "--kernel", "sort"], "sort"),
                         (["lockcost", "everything"], "everything"), (["lockcost", "--pairs", "x"], "x")):
        ending = run([elision.workload(words[0]), *words[1:]])
        good &= expect(ending.status == 2 and ending.stdout == "" and len(ending.stderr.splitlines()) == 1
                       and named in ending.stderr, " ".join(words), ending)
    return good


MODES = {"onelock": check_onelock, "packets": check_packets, "lockcost": check_lockcost, "loses": check_loses, "words": check_words}


def main():
    build, mode = sys.argv[1:]
    return 0 if MODES[mode](Elision(build)) else 1


if __name__ == "__main__":
    sys.exit(main())
