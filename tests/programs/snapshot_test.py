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
        ending = place.run("vm", "--lock", design, "--from-snapshot", socket, *(options or PART), "--stats", "-", "--crash-reports", "none", "--", *words)
        assert ending.status == 0, ending.stderr
        text, _, statistics = ending.stdout.partition("{")
        return text, json.loads("{" + statistics)["processes"][0], ending.stderr
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
            text, process, said = copy(socket, words, design)
            assert said == ""
            checked(text, process, design)


def test_copies_change_between_designs_on_glibcs_locks(words, serve, copy):
    with serve(words, "pthread") as (socket, _):
        for design in GLIBCS_DESIGNS:
            text, process, said = copy(socket, words, design)
            assert said == ""
            checked(text, process, design)


@pytest.mark.parametrize("lock", ["ticket", "htm-10"])
def test_copies_are_as_runs_from_the_start(place, words, serve, copy, lock):
    with serve(words) as (socket, _):
        _, copied, _ = copy(socket, words, lock)
    whole = place.run("vm", "--lock", lock, *PART, "--stats", "-", "--", *words)
    process = json.loads(whole.stdout[whole.stdout.index("{"):])["processes"][0]
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


@pytest.mark.parametrize("obstacle, why", [
    ("file", "opens 'beginnings.out' for writing"),
    ("memory", "maps memory that processes share"),
    ("output", "calls dup3"),
    ("pipe", "calls pipe2"),
    ("process", "has several processes"),
    ("condition", "waits for a condition variable before it has a second thread"),
    ("lock", "holds or awaits a lock"),
    ("thread", "calls clone3"),
])
def test_programs_that_cannot_be_copied_run_from_their_start(place, words, serve, obstacle, why):
    words = [*words[:-1], 2 * ROUNDS, obstacle]  # long enough to give up to wait for the lock
    with serve(words) as (socket, _):
        ending = place.run("vm", "--lock", "htm-10", "--from-snapshot", socket, *PART, "--", *words)
    assert ending.status == 0
    assert ending.stderr.startswith(f"elision vm: no snapshot: the program {why}")
    assert ending.stderr.endswith("; the program runs from its start\n")


def test_runs_that_are_not_the_snapshots(place, words, serve):
    """Each runs from its start, and says why."""
    with serve(words) as (socket, _):
        for more, options, why in (
                ([], ["--lock", "pthread"], "the locks of its design are not those of the run's"),
                ([], ["--lock", "htm-10", "--machine", "xeon-e5-2697v4"], "it is of another program or machine"),
                (["x"], ["--lock", "htm-10"], "it is of another program or machine"),
                ([], ["--lock", "htm-10", "--warmup", "instructions:1000"], "the run's part begins before it"),
                ([], [], "it is of another program or machine")):
            ending = place.run("vm", "--from-snapshot", socket, *options, *PART, "--", *words, *more)
            assert ending.status == 0
            assert f"elision vm: no snapshot: {why}; the program runs from its start\n" in ending.stderr


def test_snapshot_whose_process_has_ended(place, words):
    ending = place.run("vm", "--lock", "htm-10", "--from-snapshot", place.root / "nothing", *PART, "--", *words)
    assert ending.status == 0
    assert "no snapshot: no process serves one at" in ending.stderr


def children(process):
    with contextlib.suppress(FileNotFoundError):
        return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def wait_until(holds):
    deadline = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_copies_end_with_their_clients_and_with_the_snapshot(place, elision, serve):
    """The program would run for hours."""
    words = [elision.test_program("beginnings"), THREADS, 10**9, ROUNDS]
    for killed in ("client", "snapshot"):
        with serve(words) as (socket, server):
            with place.started("vm", "--lock", "tatas", "--from-snapshot", socket, *PART, "--", *words) as client:
                wait_until(lambda server=server: children(server.pid))
                (of_copy,) = children(server.pid)
                os.kill(client.pid if killed == "client" else server.pid, signal.SIGTERM if killed == "snapshot" else signal.SIGKILL)
                wait_until(lambda of_copy=of_copy: not os.path.exists(f"/proc/{of_copy}") or pathlib.Path(f"/proc/{of_copy}/stat").read_text().split()[2] == "Z")
                if killed == "snapshot":
                    client.kill()  # it would run from the start


@pytest.mark.parametrize("options, complaint", [
    (["--serve-snapshot", "s"], "--serve-snapshot needs --start, and no other option for a part of the run"),
    (["--serve-snapshot", "s", "--start", "thread:2", "--stop", "thread:3"], "--serve-snapshot needs --start, and no other option for a part of the run"),
    (["--serve-snapshot", "s", "--start", "thread:2", "--stats-directory", "."], "--serve-snapshot has no statistics: its copies do"),
    (["--serve-snapshot", "taken", "--start", "thread:2"], "cannot serve a snapshot at"),
    (["--serve-snapshot", "s" * 200, "--start", "thread:2"], "cannot serve a snapshot at"),
    (["--from-snapshot", "s"], "--from-snapshot needs a part of the run behind the snapshot: give it --start"),
])
def test_bad_options(place, words, options, complaint):
    (place.root / "taken").write_text("mine")
    ending = place.run("vm", *options, "--", *words)
    assert ending.status == 2 and complaint in ending.stderr and ending.stderr.count("\n") == 1
    assert (place.root / "taken").read_text() == "mine" and not (place.root / "s").exists()


def compare(place, *words):
    ending = place.run("compare", "--threads", THREADS, "--locks", "ticket,htm-10", "--format", "json", "--runs", 3, *words)
    assert ending.status == 0, ending.stderr
    report = json.loads(ending.stdout)
    return {row["design"]: row for row in report["blocks"][0]["rows"]}, ending.stderr


def test_comparisons_share_the_beginning(place, elision):
    """They find the same, and say nothing about it; with --lock-times in the runs for the reasons, too."""
    words = ["--", elision.test_program("beginnings"), "{threads}", 1500, 300000]
    shared, said = compare(place, *words)
    alone, _ = compare(place, "--no-snapshot", *words)
    assert "beginning" not in said
    for design in ("ticket", "htm-10"):
        mine, other = shared[design]["interval"], alone[design]["interval"]
        assert mine["low"] <= other["high"] and other["low"] <= mine["high"]
        assert shared[design]["value"]["median"] == pytest.approx(alone[design]["value"]["median"], rel=0.1)


def test_comparisons_say_once_that_they_cannot(place, elision):
    words = ["--no-why", "--", elision.test_program("beginnings"), "{threads}", 300, 300000, "file"]
    rows, said = compare(place, *words)
    assert said.count("since it cannot be shared: the program opens 'beginnings.out' for writing") == 1
    assert rows["ticket"]["value"]["median"] > 0
