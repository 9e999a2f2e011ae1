# SPDX-License-Identifier: Apache-2.0
"""Sets of keys over sections (workloads/structures): each is right under every back end, and its own check notices lost updates."""

import re

import pytest
from support import expect_refused, printed, run

MOST_SEEDS = 20
THREADS = 6
MOST_HOST_SECONDS = 3  # of a run without conflict detection, which may hang; another seed is tried then
PROGRAMS = ("b_plus_tree", "cache_db", "hash", "list", "skip_list", "tree")
BACK_ENDS = ("lock", "api", "tl2", "gcc-tm")
each_program = pytest.mark.parametrize("program", PROGRAMS)
each_back_end = pytest.mark.parametrize("back_end", BACK_ENDS)


def words_of(elision, program, back_end, threads, seed, operations=2000):
    few = ("--buckets", 2) if program == "cache_db" else ()  # trees of many records
    return [elision.workload(program), "--back-end", back_end, "--threads", threads, "--seed", seed, "--size", 100, "--mutations", 50,
            "--operations", operations, *few]


def keys_of(ending):
    assert ending.status == 0, ending.stdout
    lines = dict(line.split(": ", 1) for line in ending.stdout.splitlines())
    assert float(lines["throughput"].split()[0]) > 0
    return int(lines["keys"])


def need(elision, program, back_end):
    if not re.search(rf"--back-end \S*[{{,]{back_end}[,}}]", printed([elision.workload(program), "--help"])):
        pytest.skip(f"this compiler has no {back_end}")


@each_program
@each_back_end
def test_natively(elision, program, back_end, seed):
    need(elision, program, back_end)
    alone = keys_of(run(words_of(elision, program, "sequential", 1, seed)))
    assert keys_of(run(words_of(elision, program, back_end, 1, seed))) == alone
    keys_of(run(words_of(elision, program, back_end, 3, seed)))


@each_program
@each_back_end
def test_virtually(elision, program, back_end, seed):
    need(elision, program, back_end)
    options = ["--seed", seed, *(("--lock", "htm-5") if back_end == "lock" else ())]
    ending, totals = elision.totals(words_of(elision, program, back_end, THREADS, seed), options)
    keys_of(ending)
    # As it starts, the library commits one.
    assert back_end not in ("lock", "api") or totals["commits"] > 10


@each_program
def test_in_software(elision, program, seed):
    """libitm's transactions with a lock for each place depend on the barriers that the compiler made."""
    need(elision, program, "gcc-tm")
    options = ["--tm", "libitm-ml_wt", "--seed", seed]
    keys_of(elision.vm(words_of(elision, program, "gcc-tm", THREADS, seed), options))


@each_program
def test_loses_without_conflict_detection(elision, program):
    """Threads then run through each other: a wrong result, or a crash, or a loop that the limit ends."""
    def outcome(seed, *options):
        limit = ["timeout", MOST_HOST_SECONDS] if options else []
        ending = elision.vm([*limit, *words_of(elision, program, "lock", THREADS, seed, operations=200)], ["--lock", "htm-10", *options, "--seed", seed])
        assert (ending.status == 1) == ("WRONG" in ending.stdout), ending.stdout
        assert ending.status not in (2, 125, 126, 127), ending.stderr  # it did not run
        return ending.status

    assert outcome(1) == 0
    assert any(outcome(seed, "--no-conflict-detection") == 1 for seed in range(1, MOST_SEEDS + 1))


@pytest.mark.parametrize("words, named", [
    ("tree --size 0", "0"), ("list --mutations 101", "101"), ("hash --buckets 0", "0"), ("skip_list --operations x", "x"),
    ("b_plus_tree --back-end sequential --threads 2", "sequential")])
def test_words_that_are_wrong(elision, words, named):
    program, *more = words.split()
    expect_refused(run([elision.workload(program), *more]), named)


@pytest.mark.parametrize("size", [1, 2, 13, 14, 15, 31, 47, 63, 64, 1000])
def test_cache_of_any_size_can_be_filled(elision, size):
    keys_of(run([elision.workload("cache_db"), "--back-end", "sequential", "--size", size, "--buckets", 1, "--operations", 500, "--mutations", 100]))


def test_full_cache_evicts(elision):
    """Without evictions it would end with a key more for most of its insertions."""
    words = [elision.workload("cache_db"), "--size", 160, "--capacity", 16, "--buckets", 2, "--mutations", 100, "--operations", 4000, "--threads", 3]
    assert keys_of(run(words)) <= 16 * 16


def test_cache_without_room_is_refused(elision):
    expect_refused(run([elision.workload("cache_db"), "--size", 1000, "--capacity", 60]), "--capacity")
