# SPDX-License-Identifier: Apache-2.0
"""The case studies of the profiler (workloads/case_studies): each variant is right, and its check notices lost updates."""

import dataclasses
import re

import pytest
from support import expect_refused, run

MOST_SEEDS = 20
THREADS = 6
MOST_HOST_SECONDS = 3  # of a run without conflict detection, which may hang; another seed is tried then


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    variants: tuple
    words: tuple  # a small input
    losing: tuple  # the variant and input of the test without conflict detection


PROGRAMS = (
    Program("histo", ("original", "merged", "sorted", "atomics"), ("--pixels", 10000, "--granularity", 100),
            ("merged", "--threads", 6, "--input", 2, "--pixels", 10000, "--granularity", 50, "--width", 16, "--height", 16)),
    Program("dedup", ("original", "hash", "calls-outside", "optimised"), ("--kilobytes", 96), ("optimised", "--threads", 2, "--kilobytes", 64)),
    Program("avl_tree", ("original", "read-held", "read-lock", "upgrade"), ("--range", 256, "--operations", 1500),
            ("original", "--threads", 6, "--range", 2000, "--operations", 200)),
    Program("linked_list", ("original", "short"), ("--range", 300, "--operations", 600),
            ("original", "--threads", 8, "--range", 200, "--updates", 100, "--operations", 100)),
    Program("wrong_hash", ("wrong", "right"), ("--range", 1000, "--operations", 3000), ("wrong", "--threads", 6, "--range", 1000, "--operations", 300)),
    Program("store", ("original", "split"), ("--keys", 400, "--memtable", 100, "--operations", 1500, "--writes", 20),
            ("original", "--threads", 12, "--keys", 256, "--memtable", 100, "--operations", 1200, "--writes", 50)),
)
CASES = [(program, variant) for program in PROGRAMS for variant in program.variants]
each_case = pytest.mark.parametrize("program, variant", CASES, ids=[f"{program.name}-{variant}" for program, variant in CASES])
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])


def words_of(elision, program, variant, threads, seed):
    return [elision.workload(program.name), "--variant", variant, "--threads", threads, "--seed", seed, *program.words]


def expect_right(ending):
    assert ending.status == 0, ending.stdout
    assert re.search(r"^throughput: [1-9]", ending.stdout, re.MULTILINE)


@each_case
def test_natively(elision, program, variant, seed):
    for threads in (1, 3):
        expect_right(run(words_of(elision, program, variant, threads, seed)))


@each_case
@pytest.mark.parametrize("lock", ["pthread", "htm-5"])
def test_virtually(elision, program, variant, lock, seed):
    threads = 2 if program.name == "dedup" else THREADS  # of three stages each
    ending, totals = elision.totals(words_of(elision, program, variant, threads, seed), ["--machine", "xeon-e7-4830v4", "--lock", lock, "--seed", seed])
    expect_right(ending)
    # As it starts, the library commits one.
    assert lock == "pthread" or variant == "atomics" or totals["commits"] > 1


@each_program
def test_loses_without_conflict_detection(elision, program):
    """Threads then run through each other: a wrong result, or a crash, or a loop that the limit ends."""
    variant, *words = program.losing

    def outcome(seed, *options):
        limit = ["timeout", MOST_HOST_SECONDS] if options else []
        ending = elision.vm([*limit, elision.workload(program.name), "--variant", variant, "--seed", seed, *words],
                            ["--lock", "htm-10", *options, "--seed", seed])
        assert (ending.status == 1) == bool(re.search("WRONG|LOST", ending.stdout)), ending.stdout
        assert ending.status not in (2, 125, 126, 127), ending.stderr  # it did not run
        return ending.status

    assert outcome(1) == 0
    assert any(outcome(seed, "--no-conflict-detection") == 1 for seed in range(1, MOST_SEEDS + 1))


def test_hash_of_dedup(elision):
    """The original's hash uses 2.2 % of the slots (TxSampler paper, section 8.1)."""
    used = {variant: float(re.search(r"slots used: ([0-9.]+) %", run([elision.workload("dedup"), "--variant", variant]).stdout).group(1))
            for variant in ("original", "optimised")}
    assert used["original"] == pytest.approx(2.2, abs=0.05)
    assert used["optimised"] > 5 * used["original"]


@pytest.mark.parametrize("words, named", [
    ("histo --variant fast", "fast"), ("histo --input 3", "3"), ("histo --pixels 0", "0"), ("dedup --chunk-bytes 100", "--chunk-bytes"),
    ("dedup --threads 0", "0"), ("avl_tree --variant short", "short"), ("avl_tree --filled 101", "101"), ("linked_list --updates 101", "101"),
    ("wrong_hash --variant original", "original"), ("store --keys 1", "1"), ("store --writes x", "x")])
def test_words_that_are_wrong(elision, words, named):
    program, *more = words.split()
    expect_refused(run([elision.workload(program), *more]), named)
