# SPDX-License-Identifier: Apache-2.0
"""--start, --warmup, --stop and --length: the region is simulated and counted, the rest of the run is neither, and all of it is right."""

import json
import re

import pytest
from support import printed

PAIRS = 3000
THREADS = 8
LOCKS = ("pthread", "ticket", "htm-10", "tatas-aahtm")
REGIONS = {
    "start": ["--start", "thread:4"],
    "stop": ["--stop", "thread:4"],
    "both": ["--start", "thread:3", "--stop", "thread:7"],
    "times": ["--start", "time:200us", "--stop", "time:400us"],
    "time and thread": ["--start", "time:100us", "--stop", f"thread:{THREADS}"],
}


@pytest.fixture
def process_of(elision):
    """(the ending, the statistics of the first process)"""
    def run(words, options, status=0):
        ending, text = elision.vm_with_statistics(words, options)
        assert ending.status == status
        return ending, json.loads(text)["processes"][0]
    return run


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("region", list(REGIONS))
def test_nothing_is_lost_where_modes_change(elision, process_of, lock, region, seed):
    """The ledger checks its totals. Threads are in sections and transactions as the mode changes."""
    options = ["--seed", seed, "--lock", lock, *REGIONS[region]]
    _, process = process_of([elision.test_program("ledger"), THREADS, 20, seed], options)
    assert process["region"]["reached"]
    assert process["cache"]["l1_misses"] > 0, "the region has the timing model"
    if region != "stop":
        assert process["region"]["begin_ns"] > 0


@pytest.mark.parametrize("lock", ["htm-10", "tatas-aahtm"])
def test_no_transaction_outlasts_the_region(process_of, elision, lock, seeds):
    """One counter: at every moment several threads are in a transaction with it. Each run's region ends at another time."""
    for microseconds in range(300, 300 + 50 * max(len(seeds), 12), 50):
        words = [elision.test_program("contention"), "lock", 8, 300]
        process = process_of(words, ["--lock", lock, "--stop", f"time:{microseconds}us"])[1]
        assert process["begins"] == process["commits"] + sum(process["aborts"].values())


def test_all_code_changes_its_mode(elision, process_of):
    """A thread in the middle of a loop: from then on each of its atomic instructions meets the model."""
    words = [elision.test_program("lock_pairs"), 10 * PAIRS]
    process = process_of(words, ["--lock", "tatas", "--lock-times", "--start", "time:400us"])[1]
    pairs = sum(lock["acquisitions"] for lock in process["lock_times"]["locks"])
    assert PAIRS < pairs < 9 * PAIRS
    assert process["cache"]["atomics"] == pytest.approx(2 * pairs, rel=0.01)


@pytest.mark.parametrize("lock", ["pthread", "htm-10"])
def test_parts_make_up_the_whole(elision, process_of, lock):
    """Each part counts its own instructions, and the program always makes as many."""
    words = [elision.test_program("lock_pairs"), PAIRS]

    def count(*options):
        process = process_of(words, ["--lock", lock, *options])[1]
        assert sum(cpu["instructions"] for cpu in process["per_cpu"]) == process["instructions"]
        assert sum(thread["instructions"] for thread in process["threads"]) == process["instructions"]
        return process["instructions"]

    before, behind, whole = count("--stop", "thread:2"), count("--start", "thread:2"), count()
    assert before > 1000 and behind > 1000
    assert before + behind == pytest.approx(whole, rel=1e-3)


@pytest.mark.parametrize("start", ["thread:2", "function:stay"])
def test_start_in_front_of_its_warm_up_is_not_late(elision, process_of, start):
    """Under some designs a program has executed less by then than its user expects."""
    words = [elision.test_program("lock_pairs"), PAIRS]
    on_time = process_of(words, ["--start", start])[1]
    process = process_of(words, ["--start", start, "--warmup", "instructions:1000000000"])[1]
    assert process["region"]["reached"] and process["virtual_ns"] == on_time["virtual_ns"]


def test_lock_times_are_those_of_the_region(elision, process_of):
    """The first thread takes locks when the second one exists, and not before."""
    def acquisitions(*region):
        process = process_of([elision.test_program("lock_pairs"), PAIRS], ["--lock", "tatas", "--lock-times", *region])[1]
        times = process["lock_times"]
        assert times["wall_ns"] == pytest.approx(process["virtual_ns"], rel=0.1)
        return sum(lock["acquisitions"] for lock in times["locks"]), times["parallel_ns"]

    assert acquisitions("--start", "thread:2") == (pytest.approx(PAIRS, abs=2), pytest.approx(acquisitions()[1], rel=0.2))
    assert acquisitions("--stop", "thread:2") == (0, 0)


def test_thread_that_slept_before_the_region_works_in_it(elision, process_of):
    """Its sleep in front of the start is no part of the region's time."""
    words = [elision.test_program("markers"), "parked", PAIRS]
    process = process_of(words, ["--lock", "tatas", "--lock-times", "--start", "marker", "--stop", "marker"])[1]
    times = process["lock_times"]["times_ns"]
    assert times["outside"] == pytest.approx(process["cpu_ns"], rel=0.2)


def test_time_of_the_region(elision, process_of):
    words = [elision.test_program("ledger"), THREADS, 20, 1]
    region = process_of(words, ["--start", "time:300us", "--stop", "time:0.4ms"])[1]
    assert region["region"]["begin_ns"] == pytest.approx(300_000, rel=0.02)
    assert region["region"]["ended"]
    assert region["virtual_ns"] == pytest.approx(100_000, rel=0.05)


def test_region_of_the_whole_process(elision, process_of):
    """Counts are those of a run without a region: only its first touches of pages are not simulated."""
    words = [elision.test_program("ledger"), THREADS, 20, 1]
    whole, region = process_of(words, [])[1], process_of(words, ["--start", "thread:1"])[1]
    assert region["region"] == {"reached": True, "begin_ns": 0, "ended": False, "end_instructions": region["instructions"],
                                "second_thread_instructions": sorted(thread["started_instructions"] for thread in region["threads"])[1]}
    assert region["virtual_ns"] == pytest.approx(whole["virtual_ns"], rel=0.1)


def atomics(process):
    return process["cache"]["atomics"]


@pytest.mark.parametrize("kind", ["elision", "sniper", "gem5", "transaction"])
def test_markers(elision, process_of, kind):
    """The part between them is one loop of atomic increments. A marker in a transaction does not count."""
    words = [elision.test_program("markers"), kind, PAIRS]
    ending, process = process_of(words, ["--start", "marker", "--stop", "marker"])
    assert atomics(process) == pytest.approx(PAIRS, abs=20)
    assert process["region"]["ended"]
    assert int(ending.stdout) == (5 if kind == "elision" else 3) * PAIRS


@pytest.mark.parametrize("region, loops", [(["--start", "marker:2"], 2), (["--start", "marker", "--stop", "marker:2"], 3),
                                           (["--stop", "marker"], 2), (["--start", "marker:2", "--stop", "marker:1"], 1)])
def test_markers_are_counted(elision, process_of, region, loops):
    """Of starts all count, of stops those behind the start."""
    process = process_of([elision.test_program("markers"), "elision", PAIRS], region)[1]
    assert atomics(process) == pytest.approx(loops * PAIRS, rel=0.02, abs=200)


def test_markers_that_nobody_asked_for(elision):
    """Sniper's does nothing, as on a CPU, and gem5's is no instruction of a CPU."""
    assert elision.vm([elision.test_program("markers"), "sniper", 10]).status == 0
    ending = elision.vm([elision.test_program("markers"), "gem5", 10])
    assert ending.status == -4 and "0f 04 5a" in ending.stderr


@pytest.mark.parametrize("count", [5_000, 300_000, 2_000_000])
def test_instructions(elision, process_of, count):
    """The program ends in a loop on one CPU: the others execute none."""
    words = [elision.test_program("markers"), "sniper", 300_000]
    whole = process_of(words, ["--start", "thread:1"])[1]["instructions"]
    behind = process_of(words, ["--start", f"instructions:{count}"])[1]["instructions"]
    assert whole - behind == pytest.approx(count, abs=500)
    before = process_of(words, ["--stop", f"instructions:{count}"])[1]["instructions"]
    assert before == pytest.approx(count, abs=500)


def test_instructions_of_all_threads(process_of, elision):
    words = [elision.test_program("contention"), "lock", THREADS, 100]
    process = process_of(words, ["--lock", "ticket", "--stop", "instructions:400000"])[1]
    assert process["instructions"] == pytest.approx(400_000, abs=100 * (THREADS + 1))


@pytest.mark.parametrize("count", range(30_000, 300_000, 15_000))
def test_instructions_are_not_awaited_in_a_vfork_child(elision, count):
    """The child executes most of the run, and its parent's part does not end in it."""
    ending = elision.vm([elision.test_program("markers"), "vfork", 1000], ["--stop", f"instructions:{count}"])
    assert ending.stdout == "1000\n"


def test_deadlock_while_instructions_are_awaited(elision):
    """Nothing wakes the thread any more: the look at instructions is no event."""
    ending = elision.vm([elision.test_program("markers"), "sleep", 10], ["--stop", "instructions:9000000000"])
    assert ending.status == 124 and "deadlock" in ending.stderr


def test_warm_up_and_length(elision, process_of):
    words = [elision.test_program("ledger"), THREADS, 20, 1]
    process = process_of(words, ["--start", "time:200us", "--warmup", "50us", "--length", "0.1ms"])[1]
    assert process["region"]["begin_ns"] == pytest.approx(250_000, rel=0.02)
    assert process["virtual_ns"] == pytest.approx(100_000, rel=0.05)
    cold = process_of(words, ["--start", "time:250us", "--length", "0.1ms"])[1]
    assert process["cache"]["l2_misses"] < cold["cache"]["l2_misses"]


def test_warm_up_without_start(elision, process_of):
    process = process_of([elision.test_program("lock_pairs"), PAIRS], ["--warmup", "100us"])[1]
    assert process["region"]["begin_ns"] == pytest.approx(100_000, rel=0.02)


@pytest.mark.parametrize("region, begin_ns", [(["--start", "time:3ms"], 3_000_000), (["--warmup", "3ms"], 3_000_000),
                                              (["--start", "instructions:12000000"], 1_000_000)])
def test_what_a_fork_awaits_its_child_awaits_too(elision, region, begin_ns):
    """The child works until the event and past it."""
    words = ["bash", "-c", "(for ((i = 0; i < 20000; ++i)); do :; done; echo done); for ((i = 0; i < 20000; ++i)); do :; done"]
    ending, text = elision.vm_with_statistics(words, region)
    assert (ending.status, ending.stdout) == (0, "done\n")
    processes = json.loads(text)["processes"]
    assert len(processes) == 2
    for process in processes:
        assert process["region"]["reached"]
        assert process["region"]["begin_ns"] >= begin_ns


THREAD_THEN = "import os, threading; t = threading.Thread(target=print); t.start(); t.join(); "


def test_child_after_the_region_counts_nothing(elision, process_of):
    """It starts a thread, too, which must not end the region again."""
    then = "os.fork() or (threading.Thread(target=print).start(), os._exit(0)); os.wait()"
    ending, text = elision.vm_with_statistics(["python3", "-c", THREAD_THEN + then], ["--stop", "thread:2"])
    assert ending.status == 0
    parent, child = json.loads(text)["processes"]
    assert parent["instructions"] > 0 and parent["region"]["ended"]
    assert child["instructions"] == child["virtual_ns"] == child["cpu_ns"] == 0 and child["threads"] == []


def test_child_before_the_region_has_no_lock_times(elision):
    works = "import os, threading; child = os.fork(); thread = threading.Thread(target=sum, args=[range(1000)]); thread.start(); thread.join(); " \
            "child and os.waitpid(child, 0)"
    _, text = elision.vm_with_statistics(["python3", "-c", works], ["--lock", "tatas", "--lock-times", "--start", "thread:9"])
    for process in json.loads(text)["processes"]:
        times = process["lock_times"]
        assert not process["region"]["reached"]
        assert (times["wall_ns"], times["parallel_ns"], set(times["times_ns"].values())) == (0, 0, {0})


def test_child_in_the_warm_up_begins_the_region_once(elision):
    """Its first thread is no start: that was met before the fork."""
    then = "os.fork() or (threading.Thread(target=print).start(), [i for i in range(30000)], os._exit(0)); os.wait()"
    ending, text = elision.vm_with_statistics(["python3", "-c", THREAD_THEN + then],
                                              ["--start", "thread:2", "--warmup", "300us", "--length", "200us"])
    assert ending.status == 0
    child = json.loads(text)["processes"][1]
    assert child["region"]["ended"]
    assert child["virtual_ns"] == pytest.approx(200_000, rel=0.05)


@pytest.mark.parametrize("words", [["python3", "-c", THREAD_THEN + "os.execv('/bin/true', ['true'])"],
                                   ["bash", "-c", "python3 -c '" + THREAD_THEN + "'; exec /bin/true"]])
def test_program_after_the_region(elision, words):
    """It begins anew, but the run has had its region."""
    ending = elision.vm(words, ["--start", "thread:2"])
    assert (ending.status, ending.stderr) == (0, "")


def expect_nothing_counted(process_of, words, region):
    ending, process = process_of(words, region, status=2)
    assert ending.stderr == "elision vm: --stop was reached before counting began: nothing was counted\n"
    assert process["instructions"] == 0


@pytest.mark.parametrize("stop", ["time:10us", "instructions:5"])
def test_region_that_ends_before_it_begins(elision, process_of, stop):
    expect_nothing_counted(process_of, [elision.test_program("markers"), "elision", PAIRS], ["--start", "marker", "--stop", stop])


def test_part_that_ends_in_the_warm_up(elision, process_of):
    words = [elision.test_program("markers"), "elision", PAIRS]
    part_ns = process_of(words, ["--start", "marker", "--stop", "marker"])[1]["virtual_ns"]
    expect_nothing_counted(process_of, words, ["--start", "marker", "--warmup", f"{3 * part_ns // 2}ns", "--stop", "marker"])


def test_program_that_fails_keeps_its_exit_code(process_of):
    ending, process = process_of(["bash", "-c", "exit 3"], ["--start", "thread:9"], status=3)
    assert "--start was never reached" in ending.stderr
    assert process["exit"] == 3


def test_closed_standard_error_is_closed_in_children(elision):
    """The shell reads until the last process has closed the pipe; the child closes it and lives on until a thread wakes it."""
    script = "import os, time\nif os.fork() == 0:\n os.close(1), os.close(2)\n os.read(int(os.environ['WAIT']), 1)\n"
    outer = f"import os, subprocess, sys\nr, w = os.pipe()\nos.set_inheritable(r, True)\nenv = dict(os.environ, WAIT=str(r))\n" \
            f"p = subprocess.run([sys.executable, '-c', {script!r}], env=env, close_fds=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)\n" \
            f"os.write(w, b'x')\nprint('ended')"
    ending = elision.vm(["python3", "-c", outer], ["--stop", "thread:9"])
    assert ending.stdout == "ended\n"


def test_forks_in_the_region(elision):
    words = ["bash", "-c", "for i in 1 2 3; do (echo $i); done; exec /bin/echo end"]
    ending, text = elision.vm_with_statistics(words, ["--start", "thread:1"])
    assert (ending.status, ending.stdout) == (0, "1\n2\n3\nend\n")
    assert all(process["region"]["reached"] for process in json.loads(text)["processes"])


@pytest.mark.parametrize("words", [["/bin/true"], ["/bin/echo"], ["sh", "-c", "exec 2>&-; exit 0"]])
def test_start_that_is_never_reached(elision, process_of, words):
    """Programs may have closed standard error when they end."""
    ending, process = process_of(words, ["--start", "thread:2"], status=2)
    assert ending.stderr == "elision vm: --start was never reached: the program started 1 of 2 threads\n"
    assert process["region"].pop("end_instructions") > 0
    assert process["region"] == {"reached": False, "begin_ns": None, "ended": False, "second_thread_instructions": None}
    assert process["instructions"] == process["virtual_ns"] == process["cpu_ns"] == 0


def test_time_that_is_never_reached(process_of):
    ending, _ = process_of(["/bin/true"], ["--start", "time:5s"], status=2)
    assert ending.stderr == "elision vm: --start was never reached: the program ended before 5s\n"


@pytest.mark.parametrize("region, why", [
    (["--stop", "thread:9"], "--stop was never reached: the program started 1 of 9 threads"),
    (["--start", "marker:3"], "--start was never reached: the program met 2 of 3 such markers"),
    (["--start", "marker", "--stop", "marker:3"], "--stop was never reached: the program met 2 of 3 such markers"),
    (["--length", "5s"], "the program ended within --length 5s"),
    (["--warmup", "5s"], "the program ended within --warmup 5s")])
def test_region_that_is_longer_than_the_program(elision, process_of, region, why):
    ending, _ = process_of([elision.test_program("markers"), "elision", 10], region, status=2)
    assert ending.stderr == f"elision vm: {why}\n"


def test_instructions_that_are_never_reached(process_of):
    ending, _ = process_of(["/bin/true"], ["--start", "instructions:9000000000"], status=2)
    assert ending.stderr.startswith("elision vm: --start was never reached: the program executed ")
    assert ending.stderr.endswith(" of 9000000000 instructions\n")


def test_start_in_a_child(elision):
    """The shell has one thread, and the program that it starts has more."""
    words = ["sh", "-c", f"{elision.test_program('ledger')} {THREADS} 20 1; exit 0"]
    ending, text = elision.vm_with_statistics(words, ["--start", "thread:3"])
    assert (ending.status, ending.stderr) == (0, "")
    assert sorted(process["region"]["reached"] for process in json.loads(text)["processes"]) == [False, True]


CALLS = 6


def calls_of(elision, pairs=PAIRS):
    return [elision.test_program("calls"), CALLS, pairs]


@pytest.mark.parametrize("lock", [None, "htm-10"])
@pytest.mark.parametrize("start, stop, expected", [
    ("function:phase:3", "function:phase:2", 2 * PAIRS),
    ("function:phase", "function:in_threads", CALLS * PAIRS),
    (f"function:phase:{CALLS + 1}", "function:_ZN4work4stepEl", PAIRS),
    ("function:work::step(long)", "function:calls!work::step(int)", PAIRS),
    ("function:work::step(int)", "function:work::only", 2 * PAIRS),
    ("function:work::only<long>", "function:work::only", PAIRS),
    ("function:libc!getpgrp", "function:work::only", 0),
    ("function:libm!cbrt", None, PAIRS),
    ("function:work::only:2", None, PAIRS),
])
def test_code(elision, process_of, start, stop, expected, lock):
    """The part between two calls. Calls in transactions do not count."""
    words = ["--start", start] + (["--stop", stop] if stop else []) + (["--lock", lock] if lock else [])
    ending, process = process_of(calls_of(elision), words)
    assert atomics(process) == pytest.approx(expected, abs=100)
    assert process["region"]["reached"] and process["region"]["ended"] == bool(stop)
    assert ending.stdout.split() == [str((3 * CALLS + 6) * PAIRS + 1), "3"]


def test_calls_of_all_threads_count(elision, process_of):
    """The last of two threads' calls leaves little to them."""
    process = process_of(calls_of(elision), ["--start", f"function:in_threads:{2 * CALLS}", "--stop", "function:work::step(long)"])[1]
    assert 2 * PAIRS - 60 <= atomics(process) <= 3 * PAIRS + 60


def address_of(program, symbol):
    for line in printed(["nm", program]).splitlines():
        if line.endswith(f" {symbol}"):
            return "0x" + line.split()[0].lstrip("0")
    raise KeyError(symbol)


def test_address_in_a_file(elision, process_of):
    """An instruction within a loop, in the middle of what would be one block."""
    place = address_of(elision.test_program("calls"), "within_phase")
    start, stop = f"address:calls+{place}:{PAIRS + 11}", f"address:calls+{place}:{PAIRS}"
    assert atomics(process_of(calls_of(elision), ["--start", start, "--stop", stop])[1]) == PAIRS


def test_address(elision, process_of):
    """The program's place is the same in each run with one seed."""
    own = int(address_of(elision.test_program("calls"), "phase"), 16)
    part = process_of(calls_of(elision), ["--lock-times", "--lock", "tatas", "--start", "function:phase"])[1]
    first = next(line for line in part["lock_times"]["memory_map"].splitlines() if line.endswith("/calls"))
    start = f"address:{hex(int(first.split('-')[0], 16) + own)}:{CALLS}"
    process = process_of(calls_of(elision), ["--lock", "tatas", "--start", start, "--stop", "function:in_threads"])[1]
    assert atomics(process) == pytest.approx(PAIRS, abs=60)


def test_code_in_a_warm_up_counts(elision, process_of):
    """The second call comes within it."""
    options = ["--start", "function:phase", "--stop", "function:phase:2", "--warmup", "1s"]
    ending, _ = process_of([elision.test_program("calls"), 2, 10], options, status=2)
    assert ending.stderr == "elision vm: the program ended within --warmup 1s\n"
    options = ["--start", "function:phase", "--stop", "function:phase:5", "--warmup", "1us"]
    assert atomics(process_of(calls_of(elision), options)[1]) == pytest.approx(5 * PAIRS, rel=0.05)


@pytest.mark.parametrize("event, why", [
    ("function:work::step", r"'work::step' is ambiguous in calls: work::step\(\w+\) at \+0x\w+, work::step\(\w+\) at \+0x\w+; use address:calls\+0x\w+"),
    ("function:nowhere", "--start was never reached: no program or library that ran has 'nowhere'"),
    ("function:libm!phase", "--start was never reached: no program or library that ran has 'libm!phase'"),
    ("function:phase:99", f"--start was never reached: the program executed 'phase' {CALLS + 1} of 99 times"),
])
def test_code_that_is_never_reached(elision, process_of, event, why):
    ending, _ = process_of(calls_of(elision, 10), ["--start", event], status=2)
    assert re.search(why, ending.stderr) and ending.stderr.count("\n") == 1


def test_code_is_watched_behind_execve(elision):
    words = ["sh", "-c", f"exec {elision.test_program('calls')} {CALLS} {PAIRS}"]
    ending, text = elision.vm_with_statistics(words, ["--start", "function:phase:2", "--stop", "function:phase"])
    assert (ending.status, ending.stderr) == (0, "")
    assert atomics(json.loads(text)["processes"][-1]) == pytest.approx(PAIRS, abs=60)


def test_variations_get_it(elision):
    ending, text = elision.vm_with_statistics([elision.test_program("lock_pairs"), 100], ["--start", "thread:2", "--vary", 2])
    assert ending.status == 0
    assert all(variation["processes"][0]["region"]["reached"] for variation in json.loads(text)["variations"])


def test_warm_up_in_front_of_the_start(elision, process_of):
    """The same part is counted, with fewer misses than in cold caches."""
    words = calls_of(elision)
    part = ["--start", "function:phase:4", "--stop", "function:phase"]
    cold = process_of(words, part)[1]
    warm = process_of(words, [*part, "--warmup", "instructions:1"])[1]
    assert atomics(warm) == pytest.approx(atomics(cold), abs=20) and atomics(warm) >= PAIRS
    assert warm["cache"]["l1i_misses"] + warm["cache"]["l2_misses"] < cold["cache"]["l1i_misses"] + cold["cache"]["l2_misses"]
    by_thread = ["--start", "thread:2", "--stop", "function:work::step(long)", "--warmup", "time:1us"]
    assert atomics(process_of(words, by_thread)[1]) == pytest.approx((2 * CALLS + 1) * PAIRS, abs=200)


def parts_of(elision, words, options):
    ending, text = elision.vm_with_statistics(words, options)
    assert (ending.status, ending.stderr) == (0, "")
    return json.loads(text)["parts"]


@pytest.mark.parametrize("lock", ["pthread", "htm-10"])
def test_the_first_of_several_parts_is_as_if_it_were_alone(elision, process_of, lock):
    words = [elision.test_program("contention"), "lock", 8, 3000]
    options = ["--lock", lock, "--length", "50us", "--warmup"]
    parts = parts_of(elision, words, [*options, "parallel:100000,400000,800000", "--start", "parallel:200000,500000,900000"])
    alone = process_of(words, [*options, "parallel:100000", "--start", "parallel:200000"])[1]
    assert len(parts) == 3
    first = parts[0]["processes"][0]
    assert first.pop("exit") is None and alone.pop("exit") == 0
    assert first == alone
    begins = [part["processes"][0]["region"]["begin_ns"] for part in parts]
    assert begins == sorted(begins)
    for part in parts:
        process, = part["processes"]
        assert process["region"]["ended"] and process["virtual_ns"] == pytest.approx(50000, rel=0.05)
        begun_in_warm_up = process["commits"] + sum(process["aborts"].values()) - process["begins"]
        assert 0 <= begun_in_warm_up <= 8, "one a thread"
        assert lock == "pthread" or process["begins"] > 0


@pytest.mark.parametrize("lock", LOCKS)
def test_nothing_is_lost_in_many_parts(elision, lock, seed):
    """The ledger checks its totals."""
    starts = ",".join(str(10_000 + 6_000 * i) for i in range(20))
    parts = parts_of(elision, [elision.test_program("ledger"), THREADS, 20, seed],
                     ["--seed", seed, "--lock", lock, "--start", f"parallel:{starts}", "--length", "3us"])
    assert len(parts) == 20 and all(part["processes"][0]["region"]["ended"] for part in parts)


def test_parts_that_overlap_follow_each_other(elision):
    words = [elision.test_program("contention"), "lock", 8, 3000]
    parts = parts_of(elision, words, ["--start", "instructions:2000000,2000001,2000002", "--length", "20us"])
    regions = [part["processes"][0]["region"] for part in parts]
    assert [region["begin_ns"] for region in regions] == pytest.approx([regions[0]["begin_ns"] + 20000 * i for i in range(3)], abs=1000)


def test_parts_with_a_warm_up_time_and_lock_times(elision):
    """Each part has times and calls of its own, behind its own warm-up."""
    options = ["--lock", "htm-10", "--start", "parallel:200000,600000", "--warmup", "20us", "--length", "50us", "--lock-times",
               "--count-calls", "libelision!pthread_mutex_unlock", "--end-with-part"]
    parts = parts_of(elision, [elision.test_program("contention"), "lock", 8, 3000], options)
    assert len(parts) == 2
    for part in parts:
        process, = part["processes"]
        assert 10 < process["region"]["calls"] < 3000
        lock, = process["lock_times"]["locks"]
        assert lock["acquisitions"] == pytest.approx(process["region"]["calls"], abs=16) and lock["commits"] > 0


def test_child_between_parts(elision, place):
    """A process of its own: it goes on with the parts that its parent has not begun. Each part has a file for each process that was there."""
    (place.root / "parts").mkdir()
    options = ["--start", "instructions:100000,9000000000", "--length", "1us", "--stats-directory", place.root / "parts"]
    elision.vm(["bash", "-c", "(:); (:)"], options)
    first = [json.loads(file.read_text()) for file in sorted((place.root / "parts/1").glob("*.json"))]
    second = [json.loads(file.read_text()) for file in sorted((place.root / "parts/2").glob("*.json"))]
    assert [process["region"]["ended"] for process in first] == [True], "no child was there"
    assert first[0]["exit"] is None
    assert [(process["region"]["reached"], process["exit"]) for process in second] == [(False, 0)] * 3


def test_parts_that_are_never_reached(elision, process_of):
    words = [elision.test_program("contention"), "lock", 8, 300]
    ending, text = elision.vm_with_statistics(words, ["--start", "parallel:1000,9000000000", "--length", "5us"])
    assert ending.status == 2
    assert re.fullmatch(r"elision vm: --start was never reached: the program executed \d+ of 9000000000 instructions since it started its second thread\n", ending.stderr)
    first, second = (part["processes"][0]["region"] for part in json.loads(text)["parts"])
    assert first["reached"] and not second["reached"]


@pytest.mark.parametrize("options, why", [
    (["--start", "instructions:5,3", "--length", "1us"], "--start: 3 is not after 5"),
    (["--start", "instructions:5,5", "--length", "1us"], "--start: 5 is not after 5"),
    (["--start", "instructions:5,", "--length", "1us"], "--start 'instructions:5,': '' is not a whole number from 1 on"),
    (["--start", "parallel:5,x", "--length", "1us"], "--start 'parallel:5,x': 'x' is not a whole number from 1 on"),
    (["--start", "parallel:5,9"], "--start of several parts needs --length"),
    (["--start", "parallel:5,9", "--length", "1us", "--warmup", "parallel:1"], "--start has 2 parts, --warmup has 1"),
    (["--start", "parallel:5", "--length", "1us", "--warmup", "parallel:1,2"], "--start has 1 parts, --warmup has 2"),
    (["--start", "parallel:5,9", "--length", "1us", "--warmup", "parallel:1,9"], "--start 9 is not after --warmup 9: there is nothing between them"),
    (["--start", "parallel:,9", "--length", "1us"], "--start 'parallel:,9': parallel: takes a number, 1 or more"),
    (["--start", "thread:2,3", "--length", "1us"], "--start 'thread:2,3': thread: takes a number, 1 or more"),
    (["--start", "parallel:5,9", "--length", "1us", "--vary", "2"], "--vary 2: --start has several parts; give it one"),
])
def test_parts_that_are_refused(place, options, why):
    ending = place.run("vm", *options, "--", "/bin/true")
    assert (ending.status, ending.stderr) == (2, f"elision vm: {why}\n")


def test_warm_up_that_is_never_reached(elision, process_of):
    ending, _ = process_of(calls_of(elision, 10), ["--start", "thread:3", "--warmup", "instructions:9000000000"], status=2)
    assert re.match(r"elision vm: --warmup was never reached: the program executed \d+ of 9000000000 instructions\n$", ending.stderr)
    ending, _ = process_of(calls_of(elision, 10), ["--start", "thread:3", "--warmup", "instructions:10"], status=2)
    assert ending.stderr == "elision vm: --start was never reached: the program started 2 of 3 threads\n"


def report_of(place, program, *options):
    words = ["--machine", "xeon-e5-2697v4", "--locks", "tatas", "--runs", 1, "--no-why", "--format", "json", *options]
    ending = place.run("compare", *words, "--", *program)
    return ending, json.loads(ending.stdout)


def test_compare_begins_with_the_second_thread(place, elision):
    """What main does alone is no part of the times, but just before it is simulated."""
    seconds = {}
    for options in [(), ("--whole-run",)]:
        ending, report = report_of(place, calls_of(elision, 20_000), *options)
        assert ending.status == 0
        part = {"options": ["--start", "thread:2", "--warmup", "instructions:1"], "text": "from the second thread on"}
        assert report.get("part") == (None if options else part)
        seconds[options] = report["runs"][0]["seconds"]
    assert seconds["--whole-run",] > 1.15 * seconds[()]
    _, report = report_of(place, calls_of(elision, 1_500_000))
    loops = CALLS * 1_500_000 * 4
    assert loops < int(report["part"]["options"][-1].removeprefix("instructions:")) + 20_000_000 < loops + 3_000_000


def test_compare_times_the_whole_run_of_one_thread(place, elision):
    assert "part" not in report_of(place, [elision.test_program("markers"), "sniper", 5])[1]


def test_compare_gets_it(place, elision):
    words = ["--machine", "xeon-e5-2697v4", "--locks", "ticket", "--runs", 1]
    ending = place.run("compare", *words, "--start", "thread:3", "--", elision.test_program("ledger"), THREADS, 20, 1)
    assert ending.status == 0
    ending = place.run("compare", *words, "--start", "thread:99", "--", elision.test_program("ledger"), THREADS, 20, 1)
    assert ending.status == 2
    assert ending.stderr == f"elision compare: --start was never reached: the program started {THREADS + 1} of 99 threads\n"
    ending = place.run("compare", *words, "--start", "function:work::step", "--", *calls_of(elision, 10))
    assert ending.status == 2
    assert ending.stderr.startswith("elision compare: --start: 'work::step' is ambiguous in calls: ") and ending.stderr.count("\n") == 1


def test_compare_without_a_process_that_reaches_the_part(place):
    words = ["--machine", "xeon-e5-2697v4", "--locks", "ticket", "--runs", 1, "--metric", "(.)", "--start", "thread:99"]
    ending = place.run("compare", *words, "--", "sh", "-c", "/bin/true; echo 7")
    assert ending.status == 2
    assert ending.stderr.endswith("elision compare: no process of 'sh' reached the part to simulate (--start thread:99)\n")


@pytest.mark.parametrize("lock", ["pthread", "tatas", "htm-10", "tatas-aahtm"])
def test_calls_are_counted_in_the_part(elision, process_of, lock):
    """Each section ends by such a call, some of them in a transaction. To count changes no virtual time."""
    words = [elision.test_program("contention"), "lock", 8, 400]
    part = ["--lock", lock, "--start", "thread:2"]
    counted = process_of(words, [*part, "--count-calls", "libelision!pthread_mutex_unlock,nobody!has_this"])[1]
    plain = process_of(words, part)[1]
    assert counted["region"].pop("calls") == 8 * 400
    for number in ("virtual_ns", "instructions", "commits", "begins"):
        assert counted[number] == plain[number], number


def test_calls_behind_the_part_do_not_count(elision, process_of):
    words = [elision.test_program("markers"), "locks", 1000]
    part = ["--lock", "tatas", "--start", "marker", "--stop", "marker", "--count-calls", "pthread_mutex_unlock"]
    assert process_of(words, part)[1]["region"]["calls"] == 1000
    ending, process = process_of(words, [*part, "--end-with-part"])
    assert process["region"]["calls"] == 1000
    assert ending.stdout == "", "it ended there"


@pytest.mark.parametrize("lock", ["pthread", "htm-10"])
def test_instructions_since_the_second_thread(elision, process_of, lock):
    words = [elision.test_program("contention"), "lock", 4, 20000]
    second = process_of(words, ["--lock", lock])[1]["threads"]
    begin = sorted(thread["started_instructions"] for thread in second)[1]
    region = process_of(words, ["--lock", lock, "--start", "parallel:300000", "--length", "1ns", "--end-with-part"])[1]["region"]
    assert region["second_thread_instructions"] == pytest.approx(begin, rel=0.01), "fast mode was in front of it"
    assert 300_000 <= region["end_instructions"] - region["second_thread_instructions"] < 320_000


def test_a_part_behind_the_second_thread_ends_only_processes_that_have_one(elision, process_of):
    ending, _ = process_of(["/bin/true"], ["--start", "parallel:1", "--length", "1ns", "--end-with-part"], status=2)
    assert ending.stderr == "elision vm: --start was never reached: the program started no second thread\n"
    ending, process = process_of([elision.test_program("contention"), "lock", 4, 10], ["--start", "parallel:900000000"], status=2)
    assert "of 900000000 instructions since it started its second thread\n" in ending.stderr
    assert process["region"]["second_thread_instructions"] < process["region"]["end_instructions"]


def test_compare_counts_locks_in_the_part(place, elision):
    """Also those of a process that was forked in it, and none of one that was forked behind it."""
    words = ["--machine", "xeon-e5-2697v4", "--locks", "tatas,htm-10", "--runs", 1, "--no-why", "--format", "json"]
    ending = place.run("compare", *words, "--start", "marker", "--stop", "marker", "--", elision.test_program("markers"), "locks", 1000)
    assert ending.status == 0
    report = json.loads(ending.stdout)
    assert report["part"]["text"] == "part: --start marker:1 --stop marker:1"
    _, plain, elided = report["blocks"][0]["rows"]
    assert plain["locks"]["acquisitions"] == 2000
    assert elided["locks"]["acquisitions"] + elided["locks"]["commits"] == 2000


REFUSED = {
    "--start": "--start: 1 required EVENT missing",
    "--start thread": "--start 'thread' is no event: use thread:NUMBER, function:NAME, address:0xADDRESS, marker, time:TIME, "
                      "instructions:NUMBER or parallel:NUMBER",
    "--start function:": "--start 'function:': a function looks like function:NAME or function:OBJECT!NAME",
    "--start function:!f": "--start 'function:!f': a function looks like",
    "--start function:a!0x10": "--start 'function:a!0x10': a function looks like",
    "--start function:f:0": "--start 'function:f:0': the number behind the last colon must be 1 or more",
    "--start address:401136": "--start 'address:401136': an address looks like address:0x401136 or address:OBJECT+0x1136",
    "--start address:0x": "--start 'address:0x': an address looks like",
    "--start address:prog+0xg": "--start 'address:prog+0xg': an address looks like",
    "--start address:0x12:x": "--start 'address:0x12:x': an address looks like",
    "--start address:+0x12": "--start 'address:+0x12': an address looks like",
    "--stop thread:0": "--stop 'thread:0': thread: takes a number, 1 or more",
    "--start thread:x": "--start 'thread:x': thread: takes a number",
    "--start thread:-1": "--start 'thread:-1': thread: takes a number",
    "--start marker:": "--start 'marker:': marker: takes a number",
    "--start markers": "--start 'markers' is no event",
    "--start instructions:1e6": "--start 'instructions:1e6': instructions: takes a number",
    "--start time:5": "--start 'time:5': a time looks like time:5ms",
    "--start time:ms": "--start 'time:ms': a time looks like",
    "--start time:-1s": "--start 'time:-1s': a time looks like",
    "--start time:nans": "--start 'time:nans': a time looks like",
    "--start time:1e30s": "--start 'time:1e30s': a time looks like",
    "--warmup 5": "--warmup '5': a time looks like 5ms",
    "--length 0s": "--length '0s': the time must not be 0",
    "--length 5ms --stop thread:2": "--stop excludes --length",
    "--warmup instructions:5": "--warmup with an event has no effect without --start",
    "--warmup thread:2 --start thread:3": "--warmup 'thread:2': use a time, time:TIME, instructions:NUMBER or parallel:NUMBER",
    "--warmup time:5ms --start time:5ms": "--start is not after --warmup",
    "--stop thread:1": "--stop comes before counting begins: nothing would be counted",
    "--stop time:0ns": "--stop comes before counting begins: nothing would be counted",
    "--start time:100us --warmup 200us --stop time:200us": "--stop is not after --start and --warmup",
    "--start thread:4 --stop thread:4": "--stop is not after --start",
    "--start time:1ms --stop time:1us": "--stop is not after --start",
    "--end-with-part": "--end-with-part has no effect without --stop or --length",
    "--start thread:2 --end-with-part": "--end-with-part has no effect without --stop or --length",
    "--count-calls f": "--count-calls needs a part that neither begins nor ends with function: or address:",
    "--start function:f --count-calls f": "--count-calls needs a part that neither begins nor ends with function: or address:",
    "--fast --start thread:2": "--start has no effect with --fast",
    "--fast --length 5ms": "--length has no effect with --fast",
    "--fast --run-ahead 50": "--run-ahead excludes --fast",
    "--fast --no-fast-path": "--fast excludes --no-fast-path",
    "--fast --no-conflict-detection": "--fast excludes --no-conflict-detection",
}


@pytest.mark.parametrize("words", list(REFUSED))
def test_bad_input(place, words):
    ending = place.run("vm", *words.split(), "--", "/bin/true")
    assert ending.status == 2
    assert REFUSED[words] in ending.stderr and ending.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--length 5ms", "--warmup 5ms", "--stop time:5ms", "--start time:5ms", "--stop instructions:5",
                                    "--start instructions:5", "--start parallel:5", "--length 5ms --metric (.)"])
def test_parts_with_different_work_are_not_compared(place, option):
    ending = place.run("compare", "--machine", "xeon-e5-2697v4", *option.split(), "--", "/bin/true")
    assert ending.status == 2
    assert ending.stderr.count("\n") == 1 and "leave designs different amounts of work" in ending.stderr


def test_native_runs_have_none(place):
    ending = place.run("compare", "--machine", "native", "--stop", "thread:2", "--", "/bin/true")
    assert ending.status == 2
    assert ending.stderr.count("\n") == 1 and "--stop is for virtual machines" in ending.stderr
