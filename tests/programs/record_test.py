# SPDX-License-Identifier: Apache-2.0
"""`elision record` and `elision report` as a user sees them."""

import json
import os
import resource
import signal
import subprocess
import time

import pytest
from support import expect_refused

MACHINE = ("--vm", "xeon-e5-2697v4")


@pytest.fixture
def onelock(elision):
    return [str(elision.workload("onelock")), "--structure", "map", "--threads", "4", "--seconds", "0.001"]


def report_of(place, *words):
    ending = place.run("report", *words, "--format", "json")
    assert ending.status == 0, ending.stderr
    return json.loads(ending.stdout)


def test_virtual_profile_has_the_programs_time(place, onelock):
    ending = place.run("record", *MACHINE, "--", *onelock)
    assert ending.status == 0
    assert "throughput" in ending.stdout, "the program's own output"
    assert ending.stderr == "elision record: wrote elision.profile; 'elision report' shows it\n"
    report = report_of(place)
    assert (report["where"], report["design"], report["program"]) == ("xeon-e5-2697v4", "pthread", onelock)
    assert report["why"]["basis"] == "exact"
    assert sum(report["why"]["time"].values()) == pytest.approx(1)
    lock, = report["why"]["locks"]
    assert lock["sections"] > 1000 and lock["wait_seconds"]["total"] > 0
    assert report["diagnosis"]["locks_matter"]
    text = place.run("report")
    assert text.stdout.splitlines()[1] == report["diagnosis"]["sentence"]


def test_profile_of_a_design_has_its_aborts(place, onelock):
    assert place.run("record", *MACHINE, "--lock", "htm-10", "-o", "p", "--", *onelock).status == 0
    lock, = report_of(place, "p")["why"]["locks"]
    assert lock["aborts"]["conflict"] > 0 and lock["conflicts"]


def test_native_profile_has_samples(place, elision):
    """Two threads that take turns at one lock until they have been looked at often enough."""
    report = {"why": None}
    for doubling in range(8):
        ending = place.run("record", "-F", "2000", "--", elision.workload("onelock"), "--structure", "map", "--threads", "2", "--seconds", 2**doubling)
        assert ending.status == 0
        report = report_of(place)
        if report["why"] is not None:
            break
    assert report["where"] == "native"
    assert report["why"]["basis"] == "sampled"
    assert [lock["kind"] for lock in report["why"]["locks"]]


def test_recorder_inside_the_virtual_machine(place, elision):
    """It looks at a guest process from another one. Its looks and the program have clocks of their own, so it runs until there are
    enough samples."""
    report = {"why": None}
    for doubling in range(10):
        seconds = 0.01 * 2**doubling
        words = [elision.workload("onelock"), "--structure", "map", "--threads", "4", "--seconds", str(seconds)]
        ending = place.run("vm", "--machine", MACHINE[1], "--", elision.binary, "record", "-F", "10000", "--", *words)
        assert ending.status == 0, ending.stderr
        report = report_of(place)
        if report["why"] is not None:
            break
    assert report["where"] == "native" and report["why"]["basis"] == "sampled"
    lock, = report["why"]["locks"]
    assert lock["file"] == "onelock.cc", "by the program's memory map"
    assert report["why"]["time"]["waiting"] > 0.2 and report["why"]["time"]["blocked"] > 0
    profile = json.loads((place.root / "elision.profile").read_text())["profile"]
    assert profile["most_threads"] == 5
    assert profile["paths"] and profile["paths_lost"] == 0


@pytest.mark.parametrize("words, status", [(["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 128 + signal.SIGKILL)])
def test_record_ends_as_the_program_and_has_a_profile(place, words, status):
    assert place.run("record", "--", *words).status == status
    assert report_of(place)["why"] is None
    assert place.run("report").stdout.splitlines()[1].startswith(("No two threads", "The run was too short"))


def test_signals_go_to_the_program(place):
    """It ends in its handler, and the profile is there."""
    program = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"
    recorder = subprocess.Popen([place.elision.binary, "record", "--", "sh", "-c", program], cwd=place.root, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, env=os.environ)
    assert recorder.stdout.readline() == "ready\n"
    recorder.send_signal(signal.SIGTERM)
    assert recorder.wait() == 5
    recorder.stdout.close()
    assert (place.root / "elision.profile").exists()


def test_profile_is_there_if_the_recorder_is_killed(place, running):
    """It is written while the program runs, whole each time; the program runs on."""
    process = running("sections", "1000", ELISION_LOCK="tatas")
    file = place.root / "elision.profile"
    with place.started("record", "-p", process.pid, "-F", "2000") as recorder:
        while not file.exists():
            assert recorder.poll() is None
        recorder.kill()
        recorder.wait()
    assert process.poll() is None
    report = report_of(place)
    assert report["program"][1:] == ["sections", "1000"] and report["why"]["basis"] == "sampled"
    assert [lock["title"] for lock in report["why"]["locks"]]
    assert "ran already" in json.loads(file.read_text())["profile"]["paths_missing"]
    deadline = time.monotonic() + 60
    while list(place.temporary.iterdir()):  # the folder's helper outlives the recorder, and removes it
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("kind", ["program", "process"])
def test_interrupts_do_not_lose_the_profile(place, running, kind):
    """From the first one on they come all the time, also while functions are named and the profile is written."""
    if kind == "process":
        words = ["record", "-p", running("sections", "1000", ELISION_LOCK="tatas").pid]
    else:
        words = ["record", "--", "sh", "-c", "trap '' INT; echo ready; read line"]
    recorder = subprocess.Popen([place.elision.binary, *map(str, words)], cwd=place.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(place.temporary)})
    if kind == "process":
        while not list(place.temporary.iterdir()):  # it looks
            assert recorder.poll() is None
    else:
        assert recorder.stdout.readline() == "ready\n"
        recorder.send_signal(signal.SIGINT)
        recorder.stdin.write("\n")
        recorder.stdin.flush()
    while recorder.poll() is None and not (place.root / "elision.profile").exists():
        recorder.send_signal(signal.SIGINT)
    _, errors = recorder.communicate()
    assert recorder.returncode == 0, errors
    assert "wrote elision.profile" in errors
    assert report_of(place)["why"] is None or kind == "process"


@pytest.mark.parametrize("content, named", [("", "is no profile"), ("{", "is no profile"), ("[1]", "is no profile"), ('{"format": "other"}', "is no profile"),
                                            ('{"format": "elision profile", "version": 3}', "version 3"), ('{"format": "elision profile", "version": 1}', "damaged"),
                                            ('{"format": "elision profile", "version": "1"}', "damaged")])
def test_what_is_no_profile_is_refused(place, folder, content, named):
    file = folder / "file"
    file.write_text(content)
    expect_refused(place.run("report", str(file)), str(file), named)


def test_every_cut_of_a_profile_is_refused(place, onelock):
    assert place.run("record", *MACHINE, "--", *onelock).status == 0
    file = place.root / "elision.profile"
    whole = file.read_bytes()
    for length in range(0, len(whole) - 2, max(1, len(whole) // 40)):
        file.write_bytes(whole[:length])
        expect_refused(place.run("report"), "elision.profile")


@pytest.mark.parametrize("words, named", [
    (["report", "missing"], ["'missing'", "No such file"]), (["report", "/"], ["'/'"]), (["record"], ["record", "--"]),
    (["record", "--", "no-such-program"], ["no-such-program"]), (["record", "-o", "no/such", "--", "true"], ["no/such"]),
    (["record", "--lock", "tata", "--", "true"], ["tata", "tatas"]), (["record", "-F", "0", "--", "true"], ["--frequency", "'0'"]),
    (["record", "--vm", "xeon-e5-2697v5", "--", "true"], ["xeon-e5-2697v5", "xeon-e5-2697v4"])], ids=lambda part: " ".join(part))
def test_bad_input_is_one_line_and_leaves_nothing(place, words, named):
    expect_refused(place.run(*words), *named)
    assert list(place.root.iterdir()) == []


def test_each_process_has_a_file_of_its_own(place):
    """As the ranks of a parallel program."""
    for _ in range(2):
        ending = place.run("record", "-o", "rank.%p", "--", "true")
        assert ending.status == 0, ending.stderr
        name = ending.stderr.splitlines()[-1].split()[3].rstrip(";")
        assert (place.root / name).exists() and name.removeprefix("rank.").isdigit()
    assert len(list(place.root.glob("rank.*"))) == 2


@pytest.fixture
def running(elision):
    """Starts a program with the library, until it is in its sections."""
    started = []

    def start(*words, **environment):
        process = subprocess.Popen([str(elision.build / "tests" / "call_paths"), *words], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "LD_PRELOAD": str(elision.build / "lib" / "libelision.so"), **environment})
        started.append(process)
        while len(os.listdir(f"/proc/{process.pid}/task")) < 2:
            assert process.poll() is None
        return process
    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("environment", [{"ELISION_LOCK": "tatas"}, {"ELISION_LOCK": "pthread", "ELISION_ACTIVITY": "1"}])
def test_process_that_runs_already(place, running, environment):
    """Looked at until there are enough samples; it runs on."""
    process = running("sections", "1000", **environment)
    for doubling in range(6):
        ending = place.run("record", "-p", process.pid, "-F", "2000", "--seconds", 2 ** doubling)
        assert ending.status == 0, ending.stderr
        report = report_of(place)
        if report["why"] is not None:
            break
    assert process.poll() is None
    assert report["program"][1:] == ["sections", "1000"] and report["design"] == environment["ELISION_LOCK"]
    assert report["why"]["time"]["section"] > 0.3
    profile = json.loads((place.root / "elision.profile").read_text())["profile"]
    assert sum(lock["acquisitions"] for lock in profile["locks"]) > 0


def test_process_on_a_cpu_without_events_of_aborts(place, running):
    """Where it has some, they are counted."""
    words = ["record", "-p", running("sections", "1000", ELISION_LOCK="tatas").pid, "--seconds", "0.1"]
    assert place.run(*words).status == 0
    file = place.root / "elision.profile"
    missing = json.loads(file.read_text())["profile"]["abort_events"]["missing"]
    file.unlink()
    ending = place.run(*words, "--aborts", "100")
    if missing:
        expect_refused(ending, "--aborts", missing)
        assert not file.exists()
    else:
        assert ending.status == 0 and file.exists()


def test_process_that_ends(place, running):
    process = running("sections", "0.5", ELISION_LOCK="tatas")
    ending = place.run("record", "-p", process.pid)
    assert ending.status == 0, ending.stderr
    assert process.wait() == 0
    assert (place.root / "elision.profile").exists()


def test_interrupt_ends_the_looks_and_not_the_process(place, running):
    process = running("sections", "1000", ELISION_LOCK="tatas")
    with place.started("record", "-p", process.pid) as recorder:
        while not list(place.temporary.iterdir()):  # it looks
            pass
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait() == 0
    assert process.poll() is None
    assert (place.root / "elision.profile").exists()


LEAST_DESCRIPTORS = 64  # beside those that are open


def limited(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def descriptor_limits():
    """Below 10 the loader finds no room for the libraries."""
    return [*range(3, 41), LEAST_DESCRIPTORS, LEAST_DESCRIPTORS + 16, 256]


@pytest.mark.parametrize("kind", ["program", "process"])
def test_every_limit_of_descriptors_gives_a_profile_or_one_line(place, elision, running, kind):
    """A hard limit. The process that runs already has another one."""
    words = ["--seconds", "0.01", "-p", running("sections", "1000", ELISION_LOCK="tatas").pid] if kind == "process" else \
        ["--", elision.test_program("call_paths"), "sections", "0.01"]
    file = place.root / "elision.profile"
    succeeded = []
    for limit in descriptor_limits():
        ending = place.run("record", *words, preexec_fn=limited(limit, limit))
        assert len(ending.stderr.splitlines()) == 1, (limit, ending.stderr)
        assert ending.status == 0 or ending.stdout == "", (limit, ending.stdout)
        assert [*place.root.iterdir()] == ([file] if ending.status == 0 else []), limit
        if ending.status == 0:
            report = report_of(place)
            assert report["program"][1] == "sections", limit
            file.unlink()
            succeeded.append(limit)
        elif limit > 10:
            assert f"{LEAST_DESCRIPTORS} file descriptors" in ending.stderr and str(limit) in ending.stderr
    assert succeeded and min(succeeded) > LEAST_DESCRIPTORS and 256 in succeeded


def test_soft_limit_of_descriptors_is_the_programs_alone(place):
    """The recorder raises its own."""
    for limit in (12, 20, 40):
        ending = place.run("record", "--", "sh", "-c", "ulimit -n", preexec_fn=limited(limit, 1024))
        assert ending.status == 0 and ending.stdout == f"{limit}\n", ending.stderr
        (place.root / "elision.profile").unlink()


@pytest.mark.parametrize("environment, words, message", [
    ({"LD_PRELOAD": ""}, (), "does not have the lock library"),
    ({"ELISION_LOCK": "pthread"}, (), "ELISION_ACTIVITY=1"),
    ({"ELISION_LOCK": "tatas"}, ("--lock", "htm-10"), "--lock is for programs that record starts"),
    ({"ELISION_LOCK": "tatas"}, ("--call-paths", "10"), "--call-paths is for programs that record starts"),
])
def test_process_that_cannot_be_profiled(place, running, environment, words, message):
    process = running("sections", "1000", **environment)
    expect_refused(place.run("record", "-p", process.pid, *words), message)
    assert not (place.root / "elision.profile").exists()


@pytest.mark.parametrize("words, message", [
    (("-p", "4194304"), "no process has the id 4194304"),
    (("-p", "0"), "whole number"),
    (("-p", "1x"), "whole number"),
    (("--seconds", "3", "--", "true"), "--seconds goes with --process"),
    (("-p", "1", "--", "true"), "exclude each other"),
    (("-p", "1", "--seconds", "-3"), "--seconds"),
    ((*MACHINE, "-F", "100", "--", "true"), "--frequency is for this CPU"),
    (("--vm", "no-such-machine", "--call-paths", "500", "--", "true"), "--call-paths is for this CPU"),
])
def test_bad_words(place, words, message):
    expect_refused(place.run("record", *words), message)
    assert not (place.root / "elision.profile").exists()
