# SPDX-License-Identifier: Apache-2.0
"""Runs that begin in copies of a snapshot: they are as runs from the program's start, whatever design they change to."""

import contextlib
import json
import os
import pathlib
import signal
import time

import pytest

THREADS, SECTIONS, ROUNDS = 4, 300, 3000
OUR_DESIGNS = ("tatas", "tts", "ticket", "ttstle", "htm-1", "htm-10", "htm-10-fb-aahtm", "hle-scm", "tatas-aahtm", "tatas-pri-aahtm", "ticket-aahtm")
GLIBCS_DESIGNS = ("pthread", "pthread-aahtm")
AT = 5_000_000
PART = ["--start", "thread:2"]


@pytest.fixture
def words(elision):
    return [elision.test_program("beginnings"), THREADS, SECTIONS, ROUNDS]


@pytest.fixture
def serve(place):
    """A snapshot's socket and process, while its program serves copies."""
    @contextlib.contextmanager
    def run(words, design="tatas", at=AT):
        socket = place.root / "snapshot"
        with place.started("vm", "--lock", design, "--serve-snapshot", socket, "--start", f"instructions:{at}", "--", *words) as process:
            while not socket.exists():
                assert process.poll() is None
                time.sleep(0.01)
            yield socket, process
            process.terminate()
            process.communicate()
        assert not socket.exists()
    return run


@pytest.fixture
def copy(place):
    """(the ending, the statistics of the copy)"""
    def run(socket, words, design, *options):
        """The statistics say that it was one."""
        ending = place.run("vm", "--lock", design, "--from-snapshot", socket, *(options or PART), "--stats", "-", "--crash-reports", "none", "--", *words)
        assert ending.status == 0, ending.stderr
        text, _, statistics = ending.stdout.partition("{")
        process = json.loads("{" + statistics)["processes"][0]
        assert process["from_snapshot"] and ending.stderr == ""
        return text, process
    return run


def checked(text, process, design):
    """What the program prints is that of the whole run, and its sections are all there."""
    assert text == f"begins with ELF\nsum {THREADS * SECTIONS + ROUNDS}, class 2\n"
    assert process["region"]["reached"] and process["seed"] == 1
    assert process["cache"]["atomics"] > 0 or process["commits"] > 0, "the part has the timing model"
    assert (process["commits"] > 0) == (design.startswith(("htm", "ttstle", "hle")))
    assert (process["always_abort_begins"] > 0) == design.endswith("aahtm")


def test_copies_change_to_every_design(words, serve, copy):
    """The file's position is that of the snapshot in each of them, so they print the same."""
    with serve(words) as (socket, _):
        for design in OUR_DESIGNS:
            checked(*copy(socket, words, design), design)


def test_copies_change_between_designs_on_glibcs_locks(words, serve, copy):
    with serve(words, "pthread") as (socket, _):
        for design in GLIBCS_DESIGNS:
            checked(*copy(socket, words, design), design)


@pytest.mark.parametrize("lock", ["ticket", "htm-10"])
def test_copies_are_as_runs_from_the_start(place, words, serve, copy, lock):
    with serve(words) as (socket, _):
        _, copied = copy(socket, words, lock)
    whole = place.run("vm", "--lock", lock, *PART, "--stats", "-", "--", *words)
    process = json.loads(whole.stdout[whole.stdout.index("{"):])["processes"][0]
    assert "from_snapshot" not in process
    assert copied["virtual_ns"] == pytest.approx(process["virtual_ns"], rel=0.15)
    assert copied["instructions"] == pytest.approx(process["instructions"], rel=0.15)
    assert copied["commits"] == pytest.approx(process["commits"], rel=0.05)
    assert copied["region"]["second_thread_instructions"] == pytest.approx(process["region"]["second_thread_instructions"], rel=0.1)


def test_copies_repeat(words, serve, copy):
    with serve(words) as (socket, _):
        first, second, other = (copy(socket, words, "htm-10", *PART, "--seed", seed) for seed in (1, 1, 2))
    assert first == second
    assert first[1]["virtual_ns"] != other[1]["virtual_ns"]


def test_copies_have_windows_and_times_of_locks(place, elision, serve):
    """Several parts, and an account of the locks, whose marks the snapshot's code does not look at."""
    words = [elision.test_program("beginnings"), THREADS, 20 * SECTIONS, ROUNDS]
    folder = place.root / "statistics"
    folder.mkdir()
    with serve(words) as (socket, _):
        ending = place.run("vm", "--lock", "ticket", "--from-snapshot", socket, "--lock-times", "--start", "parallel:50000,400000", "--length", "20us",
                           "--end-with-part", "--stats-directory", folder, "--", *words)
    assert ending.status == 0 and not (folder / "not-from-snapshot").exists()
    for part in ("1", "2"):
        process = json.loads((folder / part / "0000.json").read_text())
        assert process["region"]["ended"] and process["virtual_ns"] == pytest.approx(20000, rel=0.1)
        assert sum(lock["acquisitions"] for lock in process["lock_times"]["locks"]) > 10


@pytest.mark.parametrize("at", [1000, 40_000, 100_000])
def test_early_snapshots_wait_for_the_library(words, serve, copy, at):
    """The program is being linked there."""
    with serve(words, at=at) as (socket, _):
        checked(*copy(socket, words, "htm-10"), "htm-10")


@pytest.mark.parametrize("obstacle, why", [
    ("file", "opens 'beginnings.out' for writing"),
    ("memory", "maps memory that processes share"),
    ("input", "reads its standard input"),
    ("mapped input", "maps descriptor 0, which it has inherited"),
    ("position", "changes descriptor 0, which it has inherited"),
    ("limit", "changes a limit of another process"),
    ("output", "calls dup3"),
    ("pipe", "calls pipe2"),
    ("event", "calls perf_event_open"),
    ("process", "starts a process"),
    ("thread", "starts a thread"),
    ("program", "calls execve"),
    ("condition", "waits for a condition variable before it has a second thread"),
    ("lock", "holds or awaits a lock"),
])
def test_programs_that_cannot_be_copied_run_from_their_start(place, words, serve, obstacle, why):
    """The snapshot's process itself does nothing of it."""
    words = [*words[:-1], 2 * ROUNDS, obstacle]  # long enough to give up to wait for the lock
    with serve(words) as (socket, _):
        out = place.root / "beginnings.out"
        assert not out.exists()
        ending = place.run("vm", "--lock", "htm-10", "--from-snapshot", socket, *PART, "--", *words)
        assert ending.status in (0, 2) and out.exists() == (obstacle == "file")
    assert f"elision vm: no snapshot: the program {why}; the run begins at the program's start\n" in ending.stderr


def test_runs_that_are_not_the_snapshots(place, words, serve):
    """Each runs from its start, and says why."""
    another = "its program, environment, machine or another option is not the run's"
    with serve(words) as (socket, _):
        for more, options, start, why in (
                ([], ["--lock", "pthread"], "thread:2", "the locks of its design are not those of the run's"),
                ([], ["--lock", "htm-10", "--machine", "xeon-e5-2697v4"], "thread:2", another),
                (["x"], ["--lock", "htm-10"], "thread:2", another),
                ([], [], "thread:2", another),
                ([], ["--lock", "htm-10", "--warmup", "instructions:1000"], "thread:2", "the run's part begins before it"),
                ([], ["--lock", "htm-10"], "time:1us", "the run's part begins before it"),
                ([], ["--lock", "htm-10"], "function:pthread_mutex_lock:9", "the run counts calls or markers, also those in front of it")):
            ending = place.run("vm", "--from-snapshot", socket, *options, "--start", start, "--stats", "s", "--", *words, *more)
            assert ending.status == 0
            assert f"elision vm: no snapshot: {why}; the run begins at the program's start\n" in ending.stderr
        place.environment["LD_PRELOAD"] = str(place.elision.build / "lib/libelision-api.so")
        ending = place.run("vm", "--lock", "htm-10", "--from-snapshot", socket, *PART, "--", *words)
        assert another in ending.stderr


def test_snapshot_whose_process_has_ended(place, words):
    ending = place.run("vm", "--lock", "htm-10", "--from-snapshot", place.root / "nothing", *PART, "--", *words)
    assert ending.status == 0
    assert "no snapshot: no process serves one at" in ending.stderr


def test_program_that_ends_before_its_snapshot(place, words):
    """It prints as always, and leaves no socket."""
    ending = place.run("vm", "--lock", "tatas", "--serve-snapshot", "s", "--start", "instructions:1000000000000", "--", words[0], 0, 0, 0)
    assert ending.status == 2 and "--start was never reached" in ending.stderr
    assert ending.stdout == "begins with ELF\nsum 0, class 2\n"
    assert not (place.root / "s").exists()


def children(process):
    with contextlib.suppress(FileNotFoundError):
        return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def wait_until(holds):
    deadline = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("killed", ["client", "snapshot"])
def test_copies_end_with_their_clients_and_with_the_snapshot(place, elision, serve, killed):
    """The program would run for hours. It is not run a second time."""
    words = [elision.test_program("beginnings"), THREADS, 10**9, ROUNDS]
    with serve(words) as (socket, server), place.started("vm", "--lock", "tatas", "--from-snapshot", socket, *PART, "--", *words) as client:
        wait_until(lambda: children(server.pid))
        (of_copy,) = children(server.pid)
        os.kill(client.pid if killed == "client" else server.pid, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{of_copy}") or pathlib.Path(f"/proc/{of_copy}/stat").read_text().split()[2] == "Z")
        assert client.wait() == -signal.SIGKILL
        if killed == "snapshot":
            socket.unlink()  # nobody was left to do it
        assert client.stdout.read() in ("", "begins with ELF\n")


@pytest.mark.parametrize("options, complaint", [
    (["--serve-snapshot", "s"], "--serve-snapshot needs --start, and no other option for a part of the run"),
    (["--serve-snapshot", "s", "--start", "thread:2", "--stop", "thread:3"], "--serve-snapshot needs --start, and no other option for a part of the run"),
    (["--serve-snapshot", "s", "--start", "thread:2", "--stats-directory", "."], "--serve-snapshot has no statistics: its copies do"),
    (["--serve-snapshot", "taken", "--start", "thread:2"], "cannot serve a snapshot at"),
    (["--serve-snapshot", "s" * 200, "--start", "thread:2"], "cannot serve a snapshot at"),
    (["--from-snapshot", "s", "--start", "thread:2", "--profile"], "--from-snapshot excludes --profile and --instruction-forms"),
    (["--from-snapshot", "s"], "--from-snapshot needs a part of the run behind the snapshot: give it --start"),
])
def test_bad_options(place, words, options, complaint):
    (place.root / "taken").write_text("mine")
    ending = place.run("vm", *options, "--", *words)
    assert ending.status == 2 and complaint in ending.stderr and ending.stderr.count("\n") == 1
    assert (place.root / "taken").read_text() == "mine" and not (place.root / "s").exists()


def compare(place, *words):
    ending = place.run("compare", "--machine", "xeon-gold-5520plus", "--threads", THREADS, "--locks", "ticket,htm-10", "--format", "json",
                       "--runs", 3, *words)
    assert ending.status == 0, ending.stderr
    report = json.loads(ending.stdout)
    return {row["design"]: row for row in report["blocks"][0]["rows"]}, ending.stderr, [run.get("from_snapshot", False) for run in report["runs"]]


def test_comparisons_share_the_beginning(place, elision):
    """They find the same, and say nothing about it; with --lock-times in the runs for the reasons, too. The beginning takes locks: that of a
    design ends earlier than that of another."""
    words = ["--", elision.test_program("beginnings"), "{threads}", 1500, 300000]
    shared, said, copies = compare(place, *words)
    alone, _, others = compare(place, "--no-snapshot", *words)
    assert "beginning" not in said
    assert all(copies) and not any(others)
    for design in ("ticket", "htm-10"):
        mine, other = shared[design]["interval"], alone[design]["interval"]
        assert mine["low"] <= other["high"] and other["low"] <= mine["high"]
        assert shared[design]["value"]["median"] == pytest.approx(alone[design]["value"]["median"], rel=0.1)


def test_comparisons_say_once_that_they_cannot(place, elision):
    words = ["--no-why", "--", elision.test_program("beginnings"), "{threads}", 300, 300000, "file"]
    rows, said, copies = compare(place, *words)
    assert not any(copies)
    assert said.count("since it cannot be shared: the program opens 'beginnings.out' for writing") == 1
    assert rows["ticket"]["value"]["median"] > 0
