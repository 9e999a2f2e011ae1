# SPDX-License-Identifier: Apache-2.0
"""The programs that compare locks check themselves, and what they check can fail."""

import re

import pytest
from support import expect_refused, printed, run

THREADS = 8
MOST_SEEDS = 20
each_structure = pytest.mark.parametrize("structure", ["counters", "map", "hash"])


@pytest.fixture(scope="module")
def built_locks(elision):
    """The locks that the workload was built with, without pthread's."""
    locks = re.search(r"--lock \S*\{([a-z,]+)\}", printed([elision.workload("onelock"), "--help"])).group(1).split(",")
    return [lock for lock in locks if lock != "pthread"]


def onelock(elision, structure, lock, sections=400):
    return [elision.workload("onelock"), "--structure", structure, "--lock", lock, "--threads", THREADS, "--sections", sections,
            "--reads", 30, "--warmup", 5, "--size", 64]


def expect_elided(elision, words, options=()):
    """Exact totals, with transactions. As it starts, the library commits one."""
    ending, totals = elision.totals(words, options)
    assert ending.status == 0
    assert "LOST" not in ending.stdout
    assert "throughput: " in ending.stdout
    assert totals["commits"] > 1


@each_structure
def test_onelock_under_pthread(elision, structure):
    ending, totals = elision.totals(onelock(elision, structure, "pthread"))
    assert (ending.status, totals["begins"]) == (0, 0)


@each_structure
def test_onelock_under_htm_10(elision, structure):
    expect_elided(elision, onelock(elision, structure, "pthread"), ["--lock", "htm-10"])


@each_structure
def test_onelock_under_glibcs_elision(elision, structure):
    """A later glibc has no elision: then there is nothing more to check."""
    words = ["env", "GLIBC_TUNABLES=glibc.elision.enable=1", *onelock(elision, structure, "pthread")]
    assert elision.vm(words).status == 0


@each_structure
def test_onelock_under_its_other_locks(elision, structure, built_locks):
    for lock in built_locks:
        expect_elided(elision, onelock(elision, structure, lock))


def test_onelock_forms_of_arraybench(elision, built_locks):
    for lock in built_locks:
        expect_elided(elision, [elision.workload(f"arraybench_{lock}"), "--threads", THREADS, "--sections", 100, "--warmup", 5,
                                "--size", 2000, "--contention", "high"])


def test_arraybench_under_locks_that_only_spin(elision, built_locks):
    forms = ["tatas", "ticket", *(form for form in ("tbb", "ck", "ck_ticket") if form.split("_")[0] in built_locks)]
    for form in forms:
        ending, totals = elision.totals([elision.workload(f"arraybench_{form}_form"), "--threads", THREADS, "--sections", 100, "--warmup", 5,
                                         "--size", 2000, "--contention", "high"])
        assert (ending.status, totals["begins"]) == (0, 0), form
        assert "LOST" not in ending.stdout, form
        assert "throughput: " in ending.stdout, form


@pytest.mark.parametrize("condition", ["glibc", "aware", "busy"])
@pytest.mark.parametrize("lock", ["pthread", "tatas", "ticket", "htm-10"])
@pytest.mark.parametrize("locks", ["one", "each"])
def test_packets(elision, locks, lock, condition):
    """Packets arrive as they were sent with every kind of condition variable; with Elision's own kinds, transactions commit."""
    words = [elision.workload("packets"), "--threads", 4, "--packets", 150, "--ring", 4, "--locks", locks]
    ending, totals = elision.totals(words, ["--lock", lock, "--condition", condition])
    assert ending.status == 0
    assert ending.stdout.startswith("packets: 300\n")
    # With glibc's condition variables every signal ends a transaction.
    assert lock != "htm-10" or condition == "glibc" or totals["commits"] >= 20


CLOMP = ["--parts", 8, "--zones", 32, "--mode", "first-parts", "--repeats", 4]
each_variant = pytest.mark.parametrize("variant", ["small-atomic", "small-critical", "large-critical", "small-tm", "large-tm"])


@each_variant
def test_clomp(elision, variant):
    words = [elision.workload("clomp"), "--threads", THREADS, "--variant", variant, *CLOMP]
    ending, totals = elision.totals(words, ["--machine", "core-i7-4770"])
    assert ending.status == 0, ending.stdout
    assert "throughput: " in ending.stdout
    assert totals["commits"] > 10 or not variant.endswith("-tm")


@pytest.mark.parametrize("lock", ["tts", "ttstle"])
def test_preemption(elision, lock):
    """More threads than CPUs."""
    words = [elision.workload("preemption"), "--threads", 5, "--sections", 400, "--outside", 2000]
    ending, totals = elision.totals(words, ["--machine", "core-i7-4770", "--cpus", 2, "--lock", lock])
    assert ending.status == 0, ending.stdout
    assert "throughput: " in ending.stdout
    assert lock == "tts" or totals["commits"] > 100


MUTEXES = ["normal", "recursive", "errorcheck", "adaptive", "trylock", "timedlock"]
EVERY_LOCK = [*MUTEXES, "spin", "read", "write"]
UNCONTENDED = [*(f"{count} {name}" for count in ("one", "two") for name in EVERY_LOCK), "two condition"]
CONTENDED = [f"contended {lock} {section}" for lock in ("mutex", "rwlock-0-writers", "rwlock-10-writers", "rwlock-100-writers")
             for section in ("short", "200ns")]
OVERSUBSCRIBED = ["oversubscribed mutex short", "oversubscribed mutex 200ns"]
GROUPS = ["uncontended", "contended", "oversubscribed"]


def lockcost(elision, *groups):
    return [elision.workload("lockcost"), "--pairs", 1, "--milliseconds", 1, *groups]


def expect_lines(ending, names):
    """Every name is there with positive numbers, in this order."""
    assert ending.status == 0
    lines = [line.partition(": ") for line in ending.stdout.splitlines()]
    assert [name for name, _, _ in lines if name in names] == names
    assert all(float(number) > 0 for _, _, numbers in lines for number in numbers.split()[:3])


def test_lockcost_of_glibc_with_itself(elision):
    expect_lines(run(lockcost(elision, *GROUPS)), UNCONTENDED + CONTENDED + OVERSUBSCRIBED)


def test_lockcost_of_tatas(elision):
    ending = elision.run("run", "--lock", "tatas", "--", *lockcost(elision, *GROUPS))
    expect_lines(ending, [*(f"two {name}" for name in MUTEXES), "two condition", *CONTENDED[:2], *OVERSUBSCRIBED])
    # Others only if they are replaced.
    library = (elision.build / "lib" / "libelision.so").read_bytes()
    for name, function in (("spin", b"pthread_spin_lock"), ("read", b"pthread_rwlock_rdlock")):
        assert (f"two {name}: " in ending.stdout) == (function in library)


def test_lockcost_virtually(elision):
    expect_lines(elision.vm(lockcost(elision, "contended"), ["--cpus", 2, "--lock", "htm-10"]), CONTENDED[:2])


@pytest.mark.parametrize("cpus, words", [(THREADS, lambda elision: onelock(elision, "counters", "pthread", sections=4000)),
                                         (2, lambda elision: lockcost(elision, "contended")),
                                         (8, lambda elision: [elision.workload("preemption"), "--threads", 4, "--sections", 400, "--outside", 200])],
                         ids=["onelock", "lockcost", "preemption"])
def test_loses_without_conflict_detection(elision, cpus, words):
    """Not the containers: they would rather crash or hang."""
    options = ["--cpus", cpus, "--lock", "htm-10", "--no-conflict-detection"]
    endings = (elision.vm(words(elision), [*options, "--seed", seed]) for seed in range(1, MOST_SEEDS + 1))
    assert any(ending.status == 1 and "LOST" in ending.stdout for ending in endings)


def test_loses_in_clomp(elision):
    """Where no lock keeps threads apart, and where transactions do not see each other."""
    for variant, options in (("none", ()), ("large-tm", ("--no-conflict-detection",))):
        words = [elision.workload("clomp"), "--threads", 4, "--variant", variant, "--mode", "first-parts"]
        endings = (elision.vm(words, ["--machine", "core-i7-4770", *options, "--seed", seed]) for seed in range(1, MOST_SEEDS + 1))
        assert any(ending.status == 1 and re.search("LOST|WRONG residue", ending.stdout) for ending in endings)


def test_words_of_a_limit_are_kept(elision):
    ending = run([elision.workload("onelock"), "--sections", 10**15, "--limit", 0.01])
    assert (ending.status, ending.stdout) == (124, "did not end within its limit\n")


@pytest.mark.parametrize("words, named", [
    ("onelock --structure tree", "tree"), ("onelock --lock none", "none"), ("onelock --seconds 1 --sections 1", "--sections"),
    ("onelock --threads 0", "0"), ("packets --threads 3", "3"), ("packets --locks two", "two"), ("backward_solver --rows 0", "0"),
    ("updates --variant magic", "magic"), ("updates --variant coarse-x", "coarse-x"), ("updates --kernel sort", "sort"),
    ("clomp --parts 2 --threads 4", "--parts"), ("clomp --variant x", "x"), ("preemption --threads 0", "0"), ("preemption --sections=-1", "-1"),
    ("preemption --seconds=-1", "-1"),
    ("arraybench --update store --warmup 0", "--warmup"), ("arraybench --writes 0", "0"), ("lockcost everything", "everything"), ("lockcost --pairs x", "x")])
def test_words_that_are_wrong(elision, words, named):
    program, *more = words.split()
    expect_refused(run([elision.workload(program), *more]), named)
