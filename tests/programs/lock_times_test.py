# SPDX-License-Identifier: Apache-2.0
"""`elision vm --lock-times`: its counts are those of the virtual machine, and every thread's time is somewhere."""

import json

import pytest

PAIRS = 3000


@pytest.fixture
def profile_of(elision):
    """(lock times, totals of the statistics)"""
    def run(words, lock):
        ending, text = elision.vm_with_statistics(words, ["--lock", lock, "--lock-times"])
        assert ending.status == 0
        statistics = json.loads(text)
        return statistics["processes"][0]["lock_times"], statistics["totals"]
    return run


@pytest.mark.parametrize("lock", ["tatas", "ticket", "htm-10"])
def test_thread_that_sleeps_until_the_process_ends_is_blocked(elision, profile_of, lock):
    """One thread takes locks, the other sleeps from its start on."""
    profile, _ = profile_of([elision.test_program("lock_pairs"), PAIRS], lock)
    times = profile["times_ns"]
    assert sum(times.values()) == pytest.approx(2 * profile["parallel_ns"], rel=0.05)
    assert times["blocked"] == pytest.approx(profile["parallel_ns"], rel=0.1)
    assert sum(lock["acquisitions"] for lock in profile["locks"]) == PAIRS


@pytest.mark.parametrize("lock", ["htm-1", "htm-10"])
def test_attempts_commits_and_fallbacks_are_those_that_happened(elision, profile_of, lock):
    words = [elision.workload("onelock"), "--structure", "map", "--threads", 4, "--sections", 400]
    profile, totals = profile_of(words, lock)

    def total(name):
        return sum(lock[name] for lock in profile["locks"])

    # The library tries one transaction when it is loaded.
    assert total("attempts") == totals["begins"] - 1 > total("commits")
    assert total("commits") == totals["commits"] - 1 > 0
    assert 0 < total("fallbacks") == total("acquisitions") - total("commits")


def test_both_accesses_of_nearly_all_conflicts_are_known(elision, profile_of):
    """A tree on the heap: its nodes have regular distances. A few conflicts are with prefetches."""
    words = [elision.workload("onelock"), "--structure", "map", "--threads", 16, "--sections", 2000]
    profile, _ = profile_of(words, "htm-10")
    counts = profile["locks"][0]["conflicts_seen"]
    assert counts["count"] > 1000
    assert counts["unknown"] < 0.02 * counts["count"]
    assert 0 < counts["prefetched"] < 0.5 * counts["count"]
    assert counts["count"] == sum(place["counts"]["count"] for place in profile["locks"][0]["conflicts"])


def test_each_variation_has_them(elision):
    ending, text = elision.vm_with_statistics([elision.test_program("lock_pairs"), 100], ["--lock", "tatas", "--lock-times", "--vary", 2])
    assert ending.status == 0
    for variation in json.loads(text)["variations"]:
        assert variation["processes"][0]["lock_times"]["process"] == 4242424


@pytest.mark.parametrize("kind", ["hot-lock", "readers"])
def test_to_note_what_threads_do_changes_little(elision, kind):
    """For the profile of compare, the library notes it under glibc's locks, too."""
    def virtual_ns(noted):
        ending, text = elision.vm_with_statistics([elision.test_program("diagnoses"), kind, 8], ["--machine", "xeon-e5-2697v4", "--lock", "pthread"],
                                                  environment={"ELISION_ACTIVITY": noted})
        assert ending.status == 0
        return json.loads(text)["processes"][0]["virtual_ns"]
    assert virtual_ns("1") == pytest.approx(virtual_ns("0"), rel=0.15)
