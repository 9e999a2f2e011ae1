# SPDX-License-Identifier: Apache-2.0
"""A seed decides everything: output, virtual time and every statistic, to the byte.

With another seed the statistics must differ, or these tests could not fail.
"""


import functools
import json

import pytest
from support import can_fix_addresses


def runs():
    """(program, options) of ordinary runs."""
    bench = ["workloads/arraybench", "--threads", 8, "--sections", 400, "--contention", "high"]
    for design in ("pthread", "ticket", "htm-10", "tatas-aahtm"):
        yield pytest.param(bench, ["--lock", design], id=design)
    yield pytest.param(bench, ["--lock", "ticket-aahtm", "--wait", "spin"], id="spinning")
    yield pytest.param(["python3", "-c", "import random, time; print(random.random(), id([]), time.time())"], [], id="python3")
    yield pytest.param(["sort", "--parallel=4", "-R", "/etc/passwd"], [], id="sort")
    for design in ("ticket", "htm-10"):
        yield pytest.param(bench, ["--lock", design, "--fast"], id=f"{design}-fast")
        yield pytest.param(bench, ["--lock", design, "--start", "thread:3", "--stop", "thread:7"], id=f"{design}-region")


def transactional_runs():
    """Elided, transactional and always-abort programs, from 2 threads to all, and with hyperthreads."""
    for machine, threads in (("xeon-e5-2697v4", 2), ("xeon-e5-2697v4", 8), ("xeon-e5-2697v4", 18), ("core-i7-5960x", 16)):
        options = ["--machine", machine]
        for mode in ("rtm", "aahtm"):
            yield pytest.param(["tests/contention", mode, threads, 100], options, id=f"{mode}-{machine}-{threads}")
        for design in ("htm-10", "tatas-aahtm", "ticket-aahtm"):
            yield pytest.param(["tests/contention", "lock", threads, 60], [*options, "--lock", design, "--wait", "spin"],
                               id=f"{design}-{machine}-{threads}")


@pytest.fixture(scope="module")
def outcome(elision):
    def of(words, options, **how):
        """Exit code, output and the lines of the statistics."""
        program = elision.build / words[0] if "/" in words[0] else words[0]
        ending, text = elision.vm_with_statistics([program, *words[1:]], options, **how)
        return ending.status, ending.stdout, text.splitlines()
    return of


@pytest.fixture(scope="module")
def first(outcome):
    """The first run with seed 5."""
    known = functools.cache(lambda words, options: outcome(words, ["--seed", 5, *options]))
    return lambda words, options: known(tuple(words), tuple(options))


@pytest.mark.parametrize("words, options", list(runs()))
def test_repeat(outcome, first, words, options):
    assert outcome(words, ["--seed", 5, *options]) == first(words, options), "the same seed again"
    assert outcome(words, ["--seed", 6, *options])[2] != first(words, options)[2], "another seed"


@pytest.mark.parametrize("words, options", list(runs()))
def test_repeat_without_address_randomisation(outcome, first, words, options):
    if not can_fix_addresses():
        pytest.skip("this system forbids it")
    assert outcome(words, ["--seed", 5, *options], fixed_addresses=True) == first(words, options)


def expect_no_influence_of_the_fast_path(outcome, first, words, options):
    assert outcome(words, ["--seed", 5, *options, "--no-fast-path"]) == first(words, options), "without the fast path"
    assert outcome(words, ["--seed", 6, *options])[2] != first(words, options)[2], "another seed"


@pytest.mark.parametrize("words, options", [run for run in runs() if "--fast" not in run.values[1]])
def test_fast_path(outcome, first, words, options):
    expect_no_influence_of_the_fast_path(outcome, first, words, options)


@pytest.mark.parametrize("words, options", list(transactional_runs()))
def test_fast_path_in_transactions(outcome, first, words, options):
    expect_no_influence_of_the_fast_path(outcome, first, words, options)


def without_lock_times(statistics):
    """What `--lock-times` must leave as it is. Marks leave translated code, so a CPU looks more often whether others are behind."""
    def kept(value):
        if isinstance(value, list):
            return [kept(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {name: kept(each) for name, each in value.items() if name not in ("lock_times", "waits_for_order", "waits_for_busy_lines")}
    return kept(json.loads("\n".join(statistics)))


@pytest.mark.parametrize("lock", ["pthread", "ticket", "htm-1", "htm-10"])
def test_lock_times_change_no_result(outcome, lock):
    words = ["workloads/onelock", "--structure", "map", "--threads", 8, "--seconds", 0.0002]  # its sections allocate, and conflict
    status, output, statistics = outcome(words, ["--seed", 1, "--lock", lock])
    told = outcome(words, ["--seed", 1, "--lock", lock, "--lock-times"])
    assert told[:2] == (status, output) and status == 0
    assert without_lock_times(told[2]) == without_lock_times(statistics)
    assert "lock_times" in "".join(told[2])
