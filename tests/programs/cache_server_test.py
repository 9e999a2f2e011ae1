# SPDX-License-Identifier: Apache-2.0
"""The cache server (workloads/cache_server) is right under every kind of lock, and notices when sections run through each other."""

import re

import pytest
from support import expect_refused, run

MOST_SEEDS = 20
MOST_HOST_SECONDS = 20  # of a run without conflict detection, which may hang; another seed is tried then
each_form = pytest.mark.parametrize("locks", ["coarse", "fine"])


def server(elision, *words, threads=4, keys=300, requests=600):
    return [elision.workload("cache_server"), "--threads", threads, "--keys", keys, "--requests", requests, "--warmup", 5, *words]


def number(text, name):
    return int(re.search(rf"^{name}: ([0-9]+)$", text, re.MULTILINE).group(1))


def expect_right(ending):
    assert ending.status == 0, ending.stdout
    assert re.search(r"^throughput: [1-9][0-9.]* requests/s$", ending.stdout, re.MULTILINE)


@each_form
@pytest.mark.parametrize("words", [("--reads", 90), ("--reads", 0), ("--reads", 50, "--age", 61), ("--value-bytes", 1024), ("--network", 200)],
                         ids=lambda words: " ".join(map(str, words)))
def test_natively(elision, seed, locks, words):
    ending = run(server(elision, "--locks", locks, "--seed", seed, *words, threads=3, requests=3000))
    expect_right(ending)
    assert number(ending.stdout, "evictions") == 0


@each_form
def test_natively_with_evictions(elision, seed, locks):
    """A megabyte has room for 4369 items."""
    ending = run(server(elision, "--locks", locks, "--seed", seed, "--memory", 1, "--reads", 50, threads=3, keys=5000, requests=3000))
    expect_right(ending)
    assert number(ending.stdout, "evictions") > 5000 - 4369


def test_natively_all_keys_are_there(elision):
    ending = run(server(elision, "--reads", 100, threads=1, requests=1000))
    expect_right(ending)
    assert number(ending.stdout, "hits") == 1005


@each_form
@pytest.mark.parametrize("lock", ["pthread", "ticket", "tatas-aahtm", "ticket-aahtm", "htm-1", "htm-10"])
def test_virtually(elision, seed, locks, lock):
    ending, totals = elision.totals(server(elision, "--locks", locks, "--reads", 50, "--seed", seed), ["--lock", lock, "--seed", seed])
    expect_right(ending)
    # As it starts, the library commits one. Each request has three sections or more.
    assert totals["commits"] > 600 if lock.startswith("htm") else totals["commits"] <= 1


@each_form
def test_virtually_with_evictions(elision, seed, locks):
    """Every get moves its item, and every set evicts one."""
    words = server(elision, "--locks", locks, "--memory", 1, "--age", 61, "--reads", 50, keys=4500)
    ending = elision.vm(words, ["--lock", "htm-10", "--seed", seed, "--start", "thread:2"])
    expect_right(ending)
    assert number(ending.stdout, "evictions") > 4500 - 4369


@each_form
def test_wrong_without_conflict_detection(elision, locks):
    """Threads then run through each other: something wrong, or a crash, or a loop that the limit ends."""
    def outcome(seed, *options):
        limit = ["timeout", MOST_HOST_SECONDS] if options else []
        words = server(elision, "--locks", locks, "--reads", 90, requests=200)
        ending = elision.vm([*limit, *words], ["--lock", "htm-10", *options, "--seed", seed])
        assert (ending.status == 1) == ("WRONG" in ending.stdout), ending.stdout
        assert ending.status not in (2, 125, 126, 127), ending.stderr  # it did not run
        return ending.status

    assert outcome(1) == 0
    assert any(outcome(seed, "--no-conflict-detection") == 1 for seed in range(1, MOST_SEEDS + 1))


@pytest.mark.parametrize("words, named", [
    ("--locks none", "none"), ("--threads 0", "0"), ("--keys 0", "0"), ("--value-bytes 30", "--value-bytes"), ("--value-bytes 8", "8"), ("--reads 101", "101"),
    ("--memory 0", "0"), ("--age -1", "-1"), ("--network -1", "-1"), ("--seconds 1 --requests 1", "--requests"), ("--seed x", "x")])
def test_words_that_are_wrong(elision, words, named):
    expect_refused(run([elision.workload("cache_server"), *words.split()]), named)
