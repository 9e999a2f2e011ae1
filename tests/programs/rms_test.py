# SPDX-License-Identifier: Apache-2.0
"""RMS-TM's programs (workloads/rms): each is right under many locks and under one, and its own check notices lost updates.

A program's words are a small input. Its results do not depend on the order of sections: with threads they are those of one thread.
"""

import dataclasses

import pytest
from support import expect_refused, run

MOST_SEEDS = 20
THREADS = 8
MOST_HOST_SECONDS = 20  # of a run without conflict detection, which may hang; another seed is tried then


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    words: tuple
    losing: tuple  # the input of the test without conflict detection
    results: tuple


PROGRAMS = (
    Program("apriori", ("--items", 40, "--baskets", 60, "--support", 0.1, "--leaf", 2),
            ("--items", 30, "--baskets", 40, "--support", 0.12, "--leaf", 4096), ("itemsets", "candidates")),
    Program("fluidanimate", ("--columns", 6, "--height", 4), ("--columns", 4, "--height", 4, "--frames", 1), ("fluid",)),
    Program("hmmsearch", ("--sequences", 40, "--length", 60, "--states", 10), ("--sequences", 40, "--length", 60, "--states", 10), ("hits",)),
    Program("scalparc", ("--records", 300, "--attributes", 12), ("--records", 200, "--attributes", 16), ("nodes", "levels")),
    Program("utilitymine", ("--items", 40, "--baskets", 60, "--utility", 0.15, "--leaf", 2),
            ("--items", 20, "--baskets", 40, "--utility", 0.25, "--leaf", 4096), ("itemsets", "candidates")),
)
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
each_locks = pytest.mark.parametrize("locks", ("one", "fine"))


def words_of(elision, program, locks, threads, seed):
    return [elision.workload(program.name), "--locks", locks, "--threads", threads, "--seed", seed, *program.words]


def results_of(program, ending):
    assert ending.status == 0, ending.stdout
    lines = dict(line.split(": ", 1) for line in ending.stdout.splitlines())
    assert float(lines["throughput"].split()[0]) > 0
    return [lines[name] for name in program.results]


def expected(elision, program, seed):
    return results_of(program, run(words_of(elision, program, "fine", 1, seed)))


@each_program
@each_locks
def test_natively(elision, program, locks, seed):
    for threads in (2, 3):
        words = words_of(elision, program, locks, threads, seed)
        assert results_of(program, run(words)) == expected(elision, program, seed)
    assert results_of(program, elision.run("run", "--lock", "htm-10", "--", *words)) == expected(elision, program, seed)


@pytest.mark.parametrize("lock", ("pthread", "ticket-aahtm", "htm-5"))
@each_program
@each_locks
def test_virtually(elision, program, locks, lock, seed):
    ending, totals = elision.totals(words_of(elision, program, locks, THREADS, seed), ["--lock", lock, "--seed", seed])
    assert results_of(program, ending) == expected(elision, program, seed)
    assert totals["commits"] > 10 or lock != "htm-5"


@each_program
@each_locks
def test_loses_without_conflict_detection(elision, program, locks):
    """Threads then run through each other: a wrong result, or a crash, or a loop that the limit ends."""
    def outcome(seed, *options):
        limit = ["timeout", MOST_HOST_SECONDS] if options else []
        words = [*limit, elision.workload(program.name), "--locks", locks, "--threads", THREADS, "--seed", seed, *program.losing]
        ending = elision.vm(words, ["--lock", "htm-10", *options, "--seed", seed])
        assert (ending.status == 1) == ("WRONG" in ending.stdout), ending.stdout
        assert ending.status not in (2, 125, 126, 127), ending.stderr  # it did not run
        return ending.status

    assert outcome(1) == 0
    assert any(outcome(seed, "--no-conflict-detection") == 1 for seed in range(1, MOST_SEEDS + 1))


@pytest.mark.parametrize("name", ("hmmsearch", "utilitymine"))
def test_files_of_input_are_left_nowhere(elision, place, name):
    ending = run([elision.workload(name), "--threads", 2], environment=place.environment)
    assert ending.status == 0, ending.stdout
    assert place.left() == []
    expect_refused(run([elision.workload(name)], environment={"TMPDIR": str(place.temporary / "missing")}), "folder")


@pytest.mark.parametrize("words, named", [
    ("apriori --locks two", "two"), ("apriori --threads 0", "0"), ("apriori --support 2", "2"), ("apriori --items x", "x"),
    ("fluidanimate --threads 8 --columns 3", "--columns"), ("fluidanimate --frames 0", "0"), ("hmmsearch --states 1", "1"),
    ("hmmsearch --seed -1", "-1"), ("scalparc --attributes 0", "0"), ("utilitymine --utility nan", "nan"), ("utilitymine --leaf 0", "0")])
def test_words_that_are_wrong(elision, words, named):
    program, *more = words.split()
    expect_refused(run([elision.workload(program), *more]), named)
