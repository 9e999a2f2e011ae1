# SPDX-License-Identifier: Apache-2.0
"""`elision record` and the CPU's performance events: in the virtual machine, which has them, its samples of aborts agree with the exact counts of
the lock library; where there are none, record says so or goes on without."""

import json
import math
import os
import shlex

import pytest
from support import expect_refused, run

MACHINE = "xeon-e5-2697v4"
LOCK = ("--lock", "htm-5", "--wait", "spin")
PERIOD = 13
# The library's causes and the flags of the CPU's samples. An instruction that no transaction may execute has no flag in EAX.
CAUSES = {"conflict": ["conflict"], "capacity": ["capacity"], "lock-busy": ["lock-busy"], "explicit": ["explicit"], "other": ["instruction", "interrupt"]}


@pytest.fixture(scope="session")
def recorded(elision, tmp_path_factory):
    """Runs `record` in the virtual machine, once for all tests that ask for the same run: the profile, or its file. The recorder itself has no
    library of locks: it looks up names in virtual time."""
    files = {}

    def record(*words, period=PERIOD, file_only=False, accesses=0):
        run_words = (*map(str, words), str(period), str(accesses))
        if run_words not in files:
            file = tmp_path_factory.mktemp("recorded") / "profile"
            recorder = [elision.binary, "record", *LOCK, "--call-paths", "0", "--aborts", period, "--accesses", accesses, "-o", file, "--", *words]
            ending = elision.vm(recorder, ["--machine", MACHINE])
            assert ending.status == 0, ending.stderr
            files[run_words] = file
        return files[run_words] if file_only else json.loads(files[run_words].read_text())["profile"]
    return record


def aborts(elision, *words, sections=10000):
    return [elision.workload("aborts"), "--threads", 4, "--sections", sections, *words]


def counted(profile, name):
    return sum(lock[name] for lock in profile["locks"])


def counted_aborts(profile):
    """The library's, by the names that samples have."""
    sums = dict.fromkeys(CAUSES, 0)
    for lock in profile["locks"]:
        for cause, count in lock["aborts"].items():
            sums[cause] += count
    return sums


@pytest.mark.parametrize("cause, every, main", [("true-sharing", 2, "conflict"), ("false-sharing", 2, "conflict"), ("instruction", 2, "other")])
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
    assert profile["abort_events"]["with_branches"] == profile["abort_events"]["samples"]
    assert profile["abort_events"]["whole_paths"] > 0.95 * profile["abort_events"]["with_branches"]
    by_function = {}
    for row in rows:
        by_function[row["place"]["name"]] = by_function.get(row["place"]["name"], 0) + row["samples"]
        if row["place"]["name"] == function:
            assert any("aborts.cc" in caller.get("file", "") for caller in row["callers"]), row
            # The section calls the function in its transaction.
            assert [call["file"].rpartition("/")[2] for call in row["inside"]] == ["aborts.cc"], row
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


def test_report_shows_them(elision, recorded):
    file = recorded(*aborts(elision, "--cause", "true-sharing", "--every", 2), file_only=True)
    text = run([elision.binary, "report", file]).stdout
    assert "The CPU counted" in text and "conflict at share() (aborts.cc:" in text
    assert "How far to trust these shares" in text and f"one in {PERIOD} of a thread" in text
    report = json.loads(run([elision.binary, "report", "--format", "json", file]).stdout)
    assert report["abort_events"]["rows"][0]["cause"] == "conflict"
    assert "| conflict | share()" in run([elision.binary, "report", "--format", "markdown", file]).stdout


@pytest.mark.parametrize("cause, function, is_false", [("true-sharing", "share()", False), ("false-sharing", "share_line()", True), ("instruction", None, None)])
def test_samples_of_accesses_tell_true_sharing_from_false(elision, recorded, cause, function, is_false):
    words = aborts(elision, "--cause", cause, "--every", 2, sections=4000)
    events = recorded(*words, accesses=97)["access_events"]
    assert events["loads"] > 1000 and events["stores"] > 500 and events["unknown"] < 0.01 * (events["loads"] + events["stores"])
    if function is None:
        assert events["shared"] < 0.1 * (events["loads"] + events["stores"])
        return
    rows = [row for row in events["rows"] if {row[one]["name"] for one in ("earlier", "later")} & {"share()", "share_line()"}]
    samples, apart = (sum(row[name] for row in rows) for name in ("samples", "apart"))
    assert samples > 0.5 * events["shared"] > 100
    assert apart >= 0.95 * samples if is_false else apart <= 0.05 * samples
    assert rows[0] == events["rows"][0] and rows[0]["later"]["name"] == function and rows[0]["later_stores"]
    text = run([elision.binary, "report", recorded(*words, accesses=97, file_only=True)]).stdout
    expected = "different data in one cache line" if is_false else "the same data"
    assert f"% {expected}:" in text.replace("\n    ", " ") and f"stored at {function} (aborts.cc:" in text.replace("\n    ", " ")


def test_accesses_are_sampled_only_if_asked(elision, recorded):
    assert "access_events" not in recorded(*aborts(elision, "--cause", "true-sharing", "--every", 2))


def test_children_and_programs_that_they_execute_are_counted(elision, recorded):
    words = aborts(elision, "--cause", "instruction", "--every", 2)
    profile = recorded("sh", "-c", f"{' '.join(map(str, words))}; {' '.join(map(str, words))}")
    assert profile["abort_events"]["aborts"] > 1.8 * sum(counted_aborts(profile).values())
    assert any(row["place"]["name"] == "execute()" for row in profile["abort_events"]["rows"])


@pytest.fixture
def attached(elision, folder):
    """Lets `record -p` attach in the virtual machine to its child, which waits for it: the ending, and the profile if there is one. `before`:
    what the shell does before it becomes the recorder, which itself has no library of locks."""

    def record(*words, threads=2, sections=2000, every=4, before=":", machine=MACHINE):
        files, file = folder / "files", folder / "profile"
        files.mkdir()
        program = shlex.join(map(str, [elision.test_program("attached_aborts"), threads, sections, every, files]))
        recorder = shlex.join(map(str, [elision.binary, "record", "-F", "50", "-o", file, *words]))
        script = f"{program} & until [ -e {files}-ready ]; do :; done; {before}; LD_PRELOAD= TMPDIR={files} exec {recorder} -p $!"
        ending = elision.vm(["sh", "-c", script], ["--machine", machine, *LOCK])
        assert "LOST" not in ending.stdout
        return ending, json.loads(file.read_text())["profile"] if file.exists() else None
    return record


def test_samples_of_a_process_that_runs_already(attached):
    """Both of the threads that it has and of those that it makes later. Files are known that were mapped before."""
    ending, profile = attached("--aborts", PERIOD)
    assert ending.status == 0, ending.stderr
    events, exact = profile["abort_events"], counted_aborts(profile)
    assert events["missing"] == "" and events["running"] == 1
    assert events["aborts"] == sum(exact.values()) >= 4 * 2000 / 4
    assert events["commits"] == counted(profile, "commits") > 0
    assert events["aborts"] - 5 * PERIOD <= events["sampled_aborts"] + PERIOD * events["lost"] <= events["aborts"] + PERIOD
    share, sampled = exact["other"] / events["aborts"], events["by_cause"]["instruction"] / events["aborts"]
    assert abs(share - sampled) <= 4 * math.sqrt(share * (1 - share) / events["samples"])
    rows = [row for row in events["rows"] if row["cause"] == "instruction"]
    assert rows[0]["place"]["name"] == "execute_cpuid()" and rows[0]["callers"][0]["name"] == "take_lock()"


def test_accesses_of_a_process_that_runs_already(attached):
    ending, profile = attached("--aborts", PERIOD, "--accesses", 997, machine="core-i7-4770")
    assert ending.status == 0, ending.stderr
    assert profile["access_events"]["loads"] > 50 and profile["access_events"]["stores"] > 50
    assert profile["abort_events"]["aborts"] >= sum(counted_aborts(profile).values())


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_descriptors_for_a_process_that_runs_already(attached, kind):
    """Three threads on 18 CPUs take 95 and more. The soft limit is raised. Beyond the hard one --aborts is refused, and record goes on without
    samples if they were not asked for."""
    before = f"ulimit {'-S' if kind == 'soft' else ''} -n 80"
    ending, profile = attached("--aborts", PERIOD, before=before)
    if kind == "soft":
        assert ending.status == 0 and profile["abort_events"]["aborts"] > 0
    else:
        expect_refused(ending, "--aborts", "3 threads on 18 CPUs take 95 file descriptors", "the limit is 80")
        assert profile is None


def test_process_whose_events_take_too_many_descriptors(attached):
    ending, profile = attached(before="ulimit -n 80")
    assert ending.status == 0 and "95 file descriptors" in profile["abort_events"]["missing"]


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


        ending = run([elision.binary, "record", "--accesses", "100", "-o", file, "--", "true"], environment={**os.environ, "ELISION_HIDE_RTM": "1"})
        expect_refused(ending, "--accesses", missing)
        assert not file.exists()


@pytest.mark.parametrize("option", ["--aborts", "--accesses"])
@pytest.mark.parametrize("number", ["-1", "x", "1000000001"])
def test_bad_periods(elision, option, number):
    expect_refused(run([elision.binary, "record", f"{option}={number}", "--", "true"]), option, number)


def test_accesses_without_aborts(elision):
    expect_refused(run([elision.binary, "record", "--accesses", "100", "--aborts", "0", "--", "true"]), "--accesses", "--aborts 0")


def test_accesses_on_a_virtual_machine(elision):
    expect_refused(run([elision.binary, "record", "--accesses", "100", "--vm", MACHINE, "--", "true"]), "--accesses", "counts everything")
