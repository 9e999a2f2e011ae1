# SPDX-License-Identifier: Apache-2.0
"""Call paths of `elision record`: programs that know where their threads were, and programs with plans of their own for signals and processes.

A native profile is from samples, so shares are compared within five standard errors of their number."""

import json
import math
import pathlib
import resource
import subprocess

import pytest

MACHINE = ("--vm", "xeon-e5-2697v4")


@pytest.fixture
def program(elision):
    return str(elision.build / "tests" / "call_paths")


def record(place, *words):
    ending = place.run("record", *words)
    assert ending.status == 0, ending.stderr
    told = dict(line.split() for line in ending.stdout.splitlines())
    return json.loads((place.root / "elision.profile").read_text())["profile"], {name: float(value) for name, value in told.items()}


def sums(profile, *names):
    """The time and the number of samples by the first of `names` on each path, and by state."""
    result = {}
    for path in profile["paths"]:
        functions = [profile["frames"][frame].get("name", "") for frame in path["frames"]]
        found = next((name for name in names if any(name in function for function in functions)), None)
        time, samples = result.get((found, path["state"]), (0, 0))
        result[found, path["state"]] = (time + path["ns"], samples + path["samples"])
    return result


def test_sections_have_their_share(place, program):
    profile, told = record(place, "--call-paths", "1000", "--", program, "sections", "1")
    found = sums(profile, "short_section", "long_section")
    short_ns, short = found["short_section", "section"]
    long_ns, long = found["long_section", "section"]
    share = told["long"] / (told["long"] + told["short"])
    count = short + long
    assert count > 100, "the kernel's timers tick at least a hundred times a second"
    assert abs(long / count - share) < 5 * math.sqrt(share * (1 - share) / count)
    # A timer's signals stand for all of the thread's CPU time; the threads do nothing else.
    all_ns = sum(path["ns"] for path in profile["paths"])
    assert all_ns == pytest.approx(1e9 * (told["long"] + told["short"]), rel=0.15)
    assert short_ns + long_ns > 0.9 * all_ns


def test_paths_go_from_the_threads_start_to_the_place(place, program):
    profile, _ = record(place, "--call-paths", "1000", "--", program, "sections", "1")
    by_name = {}
    for path in profile["paths"]:
        functions = [profile["frames"][frame].get("name", "").split("(")[0].split("::")[-1] for frame in path["frames"]]
        if "long_section" in functions:
            by_name.setdefault(profile["threads"][path["thread"]]["name"], []).append(functions)
    assert set(by_name) == {"call_paths", "other"}, "threads have their names"
    for functions in by_name["call_paths"]:
        assert "main" in functions
        assert functions.index("main") < functions.index("sections") < functions.index("work") < functions.index("long_section")
    assert all("main" not in functions and "work" in functions for functions in by_name["other"])


def test_waits_are_sampled_while_the_thread_sleeps(place, program):
    profile, told = record(place, "--", program, "waits", "1")
    waited_ns, samples = sums(profile, "wait_for_turn")["wait_for_turn", "waiting"]
    assert samples > 20
    # What was waited since the last sample is in no sample.
    assert waited_ns == pytest.approx(1e9 * told["waited"], rel=0.1)
    assert {name for path in profile["paths"] if path["state"] == "waiting" for frame in path["frames"] for name in [profile["frames"][frame].get("name", "")]
            if "main" in name}, "the callers are found behind it"
    lock, = (profile["locks"][path["lock"]] for path in profile["paths"] if path["state"] == "waiting")
    assert lock["place"]["name"].endswith("awaited")


def test_library_is_not_on_the_paths(place, program):
    for words in (("sections", "0.5"), ("waits", "0.5")):
        profile, _ = record(place, "--call-paths", "1000", "--", program, *words)
        innermost = [profile["frames"][path["frames"][-1]].get("name", "") for path in profile["paths"] if path["state"] != "outside"]
        assert innermost and not any("pthread_mutex" in name or "elision" in name for name in innermost)


@pytest.mark.parametrize("lock", ["tatas", "ticket"])
def test_waits_of_designs(place, program, lock):
    profile, told = record(place, "--lock", lock, "--", program, "waits", "1")
    waited_ns, _ = sums(profile, "wait_for_turn")["wait_for_turn", "waiting"]
    assert waited_ns == pytest.approx(1e9 * told["waited"], rel=0.1)


def test_none_on_request(place, program):
    profile, _ = record(place, "--call-paths", "0", "--", program, "sections", "0.2")
    assert profile["paths"] == [] and profile["threads"] == []
    assert "Call paths" not in place.run("report").stdout


def test_report_shows_paths(place, program):
    record(place, "--", program, "waits", "0.5")
    text = place.run("report").stdout
    line = next(line for line in text.splitlines() if "waiting for awaited: wait_for_turn" in line)
    assert line.split("%")[0].strip().isdigit() and ", called by " in line and line.endswith("waits(), main")


def test_each_file_goes_with_its_process(place, program):
    """Programs that take no lock have none, and neither descriptors nor files are left of those that end."""
    script = f"for i in $(seq 100); do {program} threads 2 >/dev/null; /bin/true; done; exec {program} waits 0.5"
    ending = place.run("record", "-F", "2000", "--", "sh", "-c", script, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80)))
    assert ending.status == 0, ending.stderr
    profile = json.loads((place.root / "elision.profile").read_text())["profile"]
    assert sums(profile, "wait_for_turn")["wait_for_turn", "waiting"][1] > 10


def test_blocked_signal_is_told(place, program):
    """A thread that blocks it may wait for all signals: it gets none of ours."""
    profile, told = record(place, "--call-paths", "1000", "--", program, "blocks", "0.3")
    assert {path["state"] for path in profile["paths"]} <= {"waiting"}
    assert profile["paths_missing"].startswith("2 of its threads have waits sampled alone")


def test_handler_of_the_program_is_told(place, program):
    profile, told = record(place, "--call-paths", "1000", "--", program, "handles", "0.3")
    assert told["handled"] == 0 and profile["paths_missing"] == "the program handles SIGURG itself, so only waits were sampled"
    assert "the program handles SIGURG itself" in place.run("export", "--format", "folded").stderr


def test_first_thread_may_end(place, program):
    profile, _ = record(place, "--call-paths", "1000", "--", program, "leaves", "0.5")
    assert sums(profile, "sections")["sections", "section"][1] > 20, "which calls those that hold the lock"


def test_libraries_that_are_loaded_later(place, program):
    """A caller of the lock call is in a library that the program loads while it runs."""
    profile, _ = record(place, "--", program, "loads", "1")
    chains = [[profile["frames"][frame].get("name", "") for frame in path["frames"]] for path in profile["paths"] if path["state"] == "waiting"]
    through_library = [chain for chain in chains if "wait_in_library" in chain]
    assert through_library and all("main" in chain for chain in chains)


def test_errno_is_kept(place, program):
    """Where a sandbox forbids process_vm_readv."""
    ending = place.run("record", "--", program, "sandboxed", "0.3")
    assert (ending.status, ending.stdout) == (0, "errno kept\n")


def test_program_that_resets_the_signal_goes_on(place, program):
    _, told = record(place, "--call-paths", "1000", "--", program, "resets", "0.3")
    assert told["long"] > 0


def test_timers_end_with_their_threads(place, program):
    """The kernel keeps a timer of an ended thread; slots take turns, and with them timers."""
    profile, told = record(place, "--", program, "threads", "3000")
    assert told["timers"] <= 1024


def test_child_of_a_fork_has_its_own(place, program):
    profile, told = record(place, "--call-paths", "1000", "--", program, "forks", "0.5")
    assert sum(path["ns"] for path in profile["paths"]) == pytest.approx(1e9 * (told["long"] + told["short"]), rel=0.2)


def test_code_made_at_run_time_has_the_name_that_the_program_gives_it(place, program):
    profile, told = record(place, "--call-paths", "1000", "--", program, "makes", "0.5")
    pathlib.Path(f"/tmp/perf-{told['process']:.0f}.map").unlink()
    whole = 0
    for path in profile["paths"]:
        functions = [profile["frames"][frame].get("name", "").split("(")[0] for frame in path["frames"]]
        if "long_section" not in functions:
            continue
        at = functions.index("made code")
        assert functions.index("work") == at + 1
        whole += path["samples"] * ("main" in functions[:at])
    # Its caller is found by the code in memory, which is gone for the samples of the last moment.
    assert whole > 0.5 * sums(profile, "long_section")["long_section", "section"][1]


def test_no_reader_loses_samples_and_nothing_else(elision, tmp_path, program):
    ending = elision.run("run", "--lock", "pthread", "--", program, "sections", "2",
                         environment={"ELISION_COUNTERS_DIR": str(tmp_path), "ELISION_ACTIVITY": "1", "ELISION_CALL_PATHS": "10000"})
    assert ending.status == 0, ending.stderr
    file, = tmp_path.glob("*.paths")
    begun, lost, taken = (int.from_bytes(file.read_bytes()[at:at + 8], "little") for at in (64, 72, 128))
    assert taken == 0 and begun == 256 and lost > 0


def test_no_room_for_samples(elision, tmp_path, program):
    """A process that may not write files of their size runs without."""
    words = [elision.binary, "run", "--lock", "pthread", "--", program, "sections", "0.1"]
    ending = subprocess.run(["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", *map(str, words)], capture_output=True, text=True, timeout=60,
                            env={"PATH": "/usr/bin:/bin", "ELISION_COUNTERS_DIR": str(tmp_path), "ELISION_CALL_PATHS": "1000"})
    assert ending.returncode == 0, ending.stderr
    assert not list(tmp_path.glob("*.paths"))


def test_virtual_paths_have_the_time_at_locks(place, elision):
    """Samples stand for the time since the thread's last one, so that together they have nearly all time at locks."""
    words = [str(elision.workload("onelock")), "--structure", "map", "--threads", "4", "--seconds", "0.001"]
    for design in ("pthread", "htm-10"):
        assert place.run("record", *MACHINE, "--lock", design, "--", *words).status == 0
        profile = json.loads((place.root / "elision.profile").read_text())["profile"]
        at_locks = {state: ns for state, ns in profile["times_ns"].items() if state not in ("outside", "blocked")}
        by_state = {}
        for path in profile["paths"]:
            time, samples = by_state.get(path["state"], (0, 0))
            by_state[path["state"]] = (time + path["ns"], samples + path["samples"])
        total = sum(at_locks.values())
        assert sum(time for time, _ in by_state.values()) == pytest.approx(total, rel=0.02)
        count = sum(samples for _, samples in by_state.values())
        assert count >= 256
        for state, ns in at_locks.items():
            share = ns / total
            assert abs(by_state.get(state, (0, 0))[0] / total - share) < 5 * math.sqrt(share * (1 - share) / count) + 1e-3, state
        functions = {frame.get("name", "") for frame in profile["frames"]}
        assert any("Worker" in name for name in functions)
        assert {thread["name"] for thread in profile["threads"]} and all(thread["commits"] > 0 for thread in profile["threads"]) == (design == "htm-10")
