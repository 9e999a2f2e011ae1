# SPDX-License-Identifier: Apache-2.0
"""`elision record` and the CPU's performance events: in the virtual machine, which has them, its samples of aborts agree with the exact counts of
the lock library; where there are none, record says so or goes on without."""

import json
import math
import os

import pytest
from support import expect_refused, run

MACHINE = "xeon-e5-2697v4"
LOCK = ("--lock", "htm-5", "--wait", "spin")
PERIOD = 13
# The library's causes and the flags of the CPU's samples. An instruction that no transaction may execute has no flag in EAX.
CAUSES = {"conflict": ["conflict"], "capacity": ["capacity"], "lock-busy": ["lock-busy"], "explicit": ["explicit"], "other": ["instruction", "interrupt"]}


@pytest.fixture
def recorded(elision, folder):
    """Runs `record` in the virtual machine: the profile."""

    def record(*words, period=PERIOD, options=()):
        file = folder / "profile"
        recorder = [elision.binary, "record", *LOCK, "--call-paths", "0", "--aborts", period, "-o", file, "--", *words]
        ending = elision.vm(recorder, ["--machine", MACHINE, *LOCK, *options])
        assert ending.status == 0, ending.stderr
        return json.loads(file.read_text())["profile"]
    return record


def aborts(elision, *words):
    return [elision.workload("aborts"), "--threads", 4, "--sections", 10000, *words]


def counted(profile, name):
    return sum(lock[name] for lock in profile["locks"])


def counted_aborts(profile):
    """The library's, by the names that samples have."""
    sums = dict.fromkeys(CAUSES, 0)
    for lock in profile["locks"]:
        for cause, count in lock["aborts"].items():
            sums[cause] += count
    return sums


@pytest.mark.parametrize("cause, every, main", [("true-sharing", 2, "conflict"), ("false-sharing", 2, "conflict"), ("instruction", 5, "other")])
def test_samples_agree_with_the_librarys_counts(elision, recorded, cause, every, main):
    profile = recorded(*aborts(elision, "--cause", cause, "--every", every))
    events, exact = profile["abort_events"], counted_aborts(profile)
    every_abort = sum(exact.values())
    assert every_abort > 1000
    # Exact, but for the transactions with which the library tries the CPU.
    assert every_abort <= events["aborts"] <= every_abort + 20
    assert counted(profile, "commits") <= events["commits"] <= counted(profile, "commits") + 20
    # Each thread may have begun a period. A recorder that is not scheduled in time loses samples, and counts them.
    assert events["running"] == 1
    assert events["aborts"] - 5 * PERIOD <= events["sampled_aborts"] + PERIOD * events["lost"] <= events["aborts"] + PERIOD
    # Shares from samples: within four standard deviations.
    assert exact[main] > 0.5 * every_abort
    for name, samples_of in CAUSES.items():
        share, sampled = exact[name] / every_abort, sum(events["by_cause"].get(one, 0) for one in samples_of) / events["aborts"]
        assert abs(share - sampled) <= 4 * math.sqrt(max(share * (1 - share), 0.01) / events["samples"]), name


@pytest.mark.parametrize("cause, function", [("true-sharing", "share()"), ("false-sharing", "share_line()"), ("instruction", "execute()")])
def test_samples_name_the_instruction_and_the_section(elision, recorded, cause, function):
    profile = recorded(*aborts(elision, "--cause", cause, "--every", 2))
    rows = profile["abort_events"]["rows"]
    assert rows[0]["cycles"] > 0
    by_function = {}
    for row in rows:
        by_function[row["place"]["name"]] = by_function.get(row["place"]["name"], 0) + row["samples"]
        if row["place"]["name"] == function:
            assert any("aborts.cc" in caller.get("file", "") for caller in row["callers"]), row
    assert by_function.get(function, 0) > 0.3 * sum(by_function.values()), by_function


@pytest.mark.parametrize("cause, inside", [("instruction", 0), ("true-sharing", 400)])
def test_weights_are_the_time_of_aborted_transactions(elision, recorded, cause, inside):
    """The machine counts the cycles in transactions, and in those of them that commit: the rest are those that the samples' weights stand for."""
    events = recorded(*aborts(elision, "--cause", cause, "--every", 1, "--inside", inside), period=3)["abort_events"]
    assert events["samples"] > 300
    assert events["counted_cycles"] > 20 * events["aborts"]
    assert events["cycles"] == pytest.approx(events["counted_cycles"], rel=0.1)


def test_a_program_without_transactions_has_none(elision, recorded):
    profile = recorded("true")
    assert profile["abort_events"]["aborts"] <= 20 and profile["abort_events"]["missing"] == ""


def test_the_profiler_causes_no_aborts_of_its_own(elision, recorded):
    """Without call paths no signal comes, and the interrupt of a sample finds no transaction."""
    words = aborts(elision, "--cause", "instruction", "--every", 5)
    events = recorded(*words, period=1)["abort_events"]
    assert events["samples"] + events["lost"] > 1000
    assert events["by_cause"].get("interrupt", 0) <= 0.01 * events["aborts"]
    assert recorded(*words, period=0)["abort_events"]["missing"] == "record was told to sample none"


def test_report_shows_them(elision, recorded, folder):
    recorded(*aborts(elision, "--cause", "true-sharing", "--every", 2))
    text = run([elision.binary, "report", folder / "profile"]).stdout
    assert "The CPU counted" in text and "conflict at share() (aborts.cc:" in text
    assert "How far to trust these shares" in text and f"one in {PERIOD} of a thread" in text
    report = json.loads(run([elision.binary, "report", "--format", "json", folder / "profile"]).stdout)
    assert report["abort_events"]["rows"][0]["cause"] == "conflict"
    assert "| conflict | share()" in run([elision.binary, "report", "--format", "markdown", folder / "profile"]).stdout


def test_children_and_programs_that_they_execute_are_counted(elision, recorded):
    words = aborts(elision, "--cause", "instruction", "--every", 2)
    profile = recorded("sh", "-c", f"{' '.join(map(str, words))}; {' '.join(map(str, words))}")
    assert profile["abort_events"]["aborts"] > 1.8 * sum(counted_aborts(profile).values())
    assert any(row["place"]["name"] == "execute()" for row in profile["abort_events"]["rows"])


def test_without_events_record_goes_on_unless_they_are_asked_for(elision, folder):
    """On this CPU: most have no such event."""
    file = folder / "profile"
    ending = run([elision.binary, "record", "-o", file, "--", "true"], environment={**os.environ, "ELISION_HIDE_RTM": "1"})
    assert ending.status == 0 and "abort" not in ending.stderr
    missing = json.loads(file.read_text())["profile"]["abort_events"]["missing"]
    file.unlink()
    if missing:
        ending = run([elision.binary, "record", "--aborts", "100", "-o", file, "--", "true"], environment={**os.environ, "ELISION_HIDE_RTM": "1"})
        expect_refused(ending, "--aborts", missing)
        assert not file.exists()


@pytest.mark.parametrize("number", ["-1", "x", "1000000001"])
def test_periods_that_are_none(elision, number):
    expect_refused(run([elision.binary, "record", f"--aborts={number}", "--", "true"]), "--aborts", number)
