# SPDX-License-Identifier: Apache-2.0
"""Comparisons of a part of each run: windows, budgets, precision, and plans that repeat them."""

import json
import os
import re
import signal

import pytest


def samples(place, *words):
    ending = place.run("compare", "--machine", "xeon-e5-2697v4", "--no-why", "--format", "json", *words)
    assert ending.status == 0, ending.stderr
    report = json.loads(ending.stdout)
    return report, {row["design"]: row for row in report["blocks"][0]["rows"]}


@pytest.mark.parametrize("lock", ["tatas", "htm-10"])
def test_sampled_comparison_is_near_the_whole(place, elision, lock):
    """A program that does the same all the time."""
    words = ["--threads", 4, "--locks", lock, "--", elision.workload("onelock"), "--structure", "hash", "--threads", "{threads}", "--sections", 40000]
    _, whole = samples(place, "--runs", 3, *words)
    report, sampled = samples(place, "--sample", 10, "--sample-length", "200us", *words)
    assert report["windows"] == {"count": 10, "length_seconds": pytest.approx(200e-6)}
    assert report["part"]["text"] == "windows of 200 us"
    assert sampled[lock]["speedup"] == pytest.approx(whole[lock]["speedup"], rel=0.1)
    assert sampled["pthread"]["value"]["median"] == pytest.approx(whole["pthread"]["value"]["median"] / 40000, rel=0.1)
    commands = {run["command"] for run in report["runs"]}
    assert len(commands) == 4, "two processes of each design"
    starts = [re.search(r"--start instructions:(\S+)", command)[1].split(",") for command in commands]
    assert all(len(of_one) == 5 for of_one in starts) and len({start for of_one in starts for start in of_one}) == 10
    for run in report["runs"]:
        sections = 200e-6 / run["seconds"]
        counted = (run["locks"]["acquisitions"] or 0) + (run["locks"]["commits"] or 0)
        assert run["design"] == "pthread" or counted == pytest.approx(sections, rel=0.1, abs=10), "each window has counts of its own"


def test_sampled_comparison_repeats(place, elision):
    words = ["--sample", 3, "--sample-length", "50us", "--threads", 4, "--locks", "ticket", "--", elision.workload("onelock"),
             "--structure", "map", "--threads", "{threads}", "--sections", 8000]
    (first, _), (second, _) = samples(place, *words), samples(place, *words)
    assert without_host_times(first) == without_host_times(second)


def test_budget_chooses_whole_runs_or_windows(place, elision):
    words = ["--threads", 4, "--locks", "tatas", "--", elision.workload("onelock"), "--structure", "map", "--threads", "{threads}", "--sections", 8000]

    def run(budget, *more):
        ending = place.run("compare", "--machine", "xeon-e5-2697v4", "--no-why", "--format", "json", "--budget", budget, *more, *words)
        assert ending.status == 0, ending.stderr
        return json.loads(ending.stdout), ending.stderr

    whole, said = run("1h")
    assert "--budget 1h: whole runs fit" in said
    assert "windows" not in whole and whole["part"]["text"] == "from the second thread on"
    sampled, said = run("1h", "--sample", "auto", "--sample-length", "50us", "--precision", 100)
    assert "--budget 1h: up to 30 windows of 50.0 us of each design; after 5, only designs that may still be best\n" in said
    assert sampled["windows"] == {"count": 5, "length_seconds": pytest.approx(50e-6)}
    assert len(sampled["plan"]["rounds"][0]) == 5
    ending = place.run("compare", "--machine", "xeon-e5-2697v4", "--budget", "0.01s", *words)
    assert ending.status == 2
    assert ending.stderr == "elision compare: a look at the program in fast mode takes longer than --budget 0.01s: give it more\n"


def test_the_default_budget_is_not_mentioned_if_whole_runs_fit(place, elision):
    words = ["--threads", 2, "--locks", "ticket", "--", elision.workload("onelock"), "--structure", "map", "--threads", "{threads}", "--sections", 1000]
    ending = place.run("compare", "--machine", "xeon-e5-2697v4", "--no-why", "--format", "json", *words)
    report = json.loads(ending.stdout)
    assert report["part"]["text"] == "from the second thread on" and "windows" not in report
    assert "budget" not in ending.stderr


def test_windows_lie_in_the_part_that_was_seen(place, elision):
    """A program that executes more than the first look sees, in a budget that allows for no second one."""
    words = ["--threads", 2, "--locks", "ticket", "--", elision.workload("onelock"), "--structure", "map", "--threads", "{threads}", "--sections", 40_000_000]
    ending = place.run("compare", "--machine", "xeon-e5-2697v4", "--no-why", "--json", "first.json", "--budget", "15s", "--sample", "auto", "--precision", 100,
                       "--sample-length", "50us", *words)
    if ending.status == 2:
        pytest.skip(f"this host is too slow: {ending.stderr}")
    heading = re.search(r"windows of 50.0 us in the first (\S+) instructions", ending.stdout)
    assert heading, ending.stdout
    report = json.loads((place.root / "first.json").read_text())
    seen, = report["plan"]["part"]["instructions"]
    assert seen["cut"] and seen["all"] >= seen["alone"] + 500_000_000
    for run in report["runs"]:
        starts = re.search(r"--start instructions:(\S+)", run["command"])[1].split(",")
        assert all(seen["alone"] < int(start) < seen["all"] for start in starts)
    again = place.run("compare", "--plan", "first.json")
    assert again.stdout == ending.stdout


def without_host_times(report):
    for run in report["runs"]:
        del run["host_seconds"]
    return report


@pytest.mark.parametrize("options", [("--sample", "auto", "--sample-length", "50us", "--precision", 100), (), ("--runs", 2, "--whole-run"), ("--vary", 2)])
def test_a_plan_repeats_a_comparison(place, elision, options):
    words = ["--threads", "4,2", "--locks", "htm-10", "--", elision.workload("onelock"), "--structure", "map", "--threads", "{threads}", "--sections", 3000]
    first = place.run("compare", "--machine", "xeon-e5-2697v4", "--json", "first.json", *options, *words)
    again = place.run("compare", "--plan", "first.json", "--json", "again.json")
    assert (again.status, again.stdout) == (0, first.stdout)
    first, again = (json.loads((place.root / name).read_text()) for name in ("first.json", "again.json"))
    assert without_host_times(first) == without_host_times(again)


def test_a_plan_alone_can_be_cut_down(place, elision):
    """Fewer rounds than there were, and other outputs. What the earlier comparison wrote is left as it is."""
    words = ["--threads", 2, "--locks", "ticket", "--runs", 3, "--no-why", "--json", "first.json",
             "--", elision.workload("onelock"), "--structure", "map", "--threads", "{threads}", "--sections", 1000]
    place.run("compare", "--machine", "xeon-e5-2697v4", *words)
    written = (place.root / "first.json").read_text()
    plan = json.loads(written)["plan"]
    del plan["rounds"][0][2:]
    (place.root / "plan.json").write_text(json.dumps(plan))
    ending = place.run("compare", "--plan", "plan.json", "--format", "json")
    assert [(run["design"], run["run"]) for run in json.loads(ending.stdout)["runs"]] == [("pthread", 0), ("ticket", 0), ("ticket", 1), ("pthread", 1)]
    assert (place.root / "first.json").read_text() == written


@pytest.mark.parametrize("change, why", [
    ({"rounds": [[["ticket"]]]}, "its first run is not under pthread"),
    ({"rounds": [[["pthread", "pthread"]]]}, "a round has a design twice"),
    ({"rounds": [[["pthread", "htm-5"]]]}, "a round has a design that is not in the comparison"),
    ({"rounds": []}, "its lists of rounds are not one for each number of threads"),
    ({"rounds": [[["pthread"]] * 1001]}, "it has too many rounds"),
    ({"part": {"kind": "windows", "instructions": [{"alone": 1, "all": 9, "cut": False}], "windows": 1, "places": 1, "together": 1, "length_ns": 5}, "rounds": [[["pthread"]] * 2]},
     "it has more rounds than windows"),
    ({"part": {"kind": "windows", "instructions": [{"alone": 1, "all": 9, "cut": False}], "windows": 0, "length_ns": 5}}, "a number is out of its range"),
    ({"part": {"kind": "windows", "instructions": [{"alone": 1, "all": 9, "cut": False}], "windows": 2, "places": 1, "together": 1, "length_ns": 5}},
     "a number is out of its range"),
    ({"part": {"kind": "windows", "instructions": [{"alone": 1, "all": 9, "cut": False}], "windows": 2, "places": 2, "together": 0, "length_ns": 5}},
     "a number is out of its range"),
    ({"part": {"kind": "windows", "instructions": [], "windows": 1, "places": 1, "together": 1, "length_ns": 5}}, "its parts are not one for each number of threads"),
    ({"part": {"kind": "windows", "instructions": [{"alone": 10, "all": 9, "cut": False}], "windows": 1, "places": 1, "together": 1, "length_ns": 5}}, "a part begins behind its end"),
    ({"part": {"kind": "all"}}, "the kind of its part is unknown"),
    ({"threads": [-1]}, "a number is out of its range"),
    ({"threads": "4"}, "a number is out of its range"),
    ({"threads": [None, None], "rounds": [[["pthread"]], [["pthread"]]]}, "a number of threads is named twice"),
    ({"threads": [0]}, "a number is out of its range"),
    ({"threads": [4]}, "numbers of threads are for programs with {threads}"),
    ({"rounds": [[]]}, "it has no runs"),
    ({"processes": [[]]}, "a round has no process"),
    ({"processes": [[1]]}, "a number is out of its range"),
    ({"first_rounds": 0}, "a number is out of its range"),
    ({"part": {"kind": "windows", "instructions": [{"alone": -5, "all": -1, "cut": False}], "windows": 1, "places": 1, "together": 1, "length_ns": 5}}, "a number is out of its range"),
    ({"machine": "native", "part": {"kind": "from the second thread on", "instructions": [{"alone": 1, "all": 9, "cut": False}]}},
     "a real CPU simulates no part of a run"),
    ({"words": ["--metric", "(.)", "--", "/bin/true"], "part": {"kind": "windows", "instructions": [{"alone": 1, "all": 9, "cut": False}],
                                                            "windows": 2, "places": 2, "together": 1, "length_ns": 5}}, "a metric is of whole runs, not of windows"),
    ({"words": ["--vary", "1", "--", "/bin/true"], "rounds": [[["pthread"], ["pthread"]]]}, "it has more rounds than variations"),
    ({"words": ["--plan=x"]}, "its words are not a command line of elision compare"),
    ({"words": ["--plan", "x", "--", "/bin/true"]}, "its words are not a command line of elision compare"),
    ({"words": 5}, "a value of its plan has the wrong type ([json.exception.type_error.302] type must be array, but is number)"),
])
def test_bad_plans(place, change, why, monkeypatch):
    monkeypatch.setenv("ELISION_HIDE_RTM", "1")
    plan = {"words": ["--runs", "1", "--", "/bin/true"], "machine": "xeon-e5-2697v4", "designs": ["pthread", "ticket"], "threads": [None],
            "part": {"kind": "as asked"}, "first_rounds": 1, "most_rounds": 0, "rounds": [[["pthread", "ticket"]]], "processes": [list(range(1001))] * 2}
    (place.root / "plan.json").write_text(json.dumps({**plan, **change}))
    ending = place.run("compare", "--plan", "plan.json")
    assert ending.status == 2
    assert ending.stderr == f"elision compare: --plan 'plan.json': {why}\n"


def test_a_plan_may_have_a_program_with_an_option_of_that_name(place):
    words = ["sh", "-c", "echo $0 $1", "--plan", "x"]
    place.run("compare", "--machine", "xeon-e5-2697v4", "--locks", "ticket", "--runs", 1, "--json", "first.json", "--", *words)
    ending = place.run("compare", "--plan", "first.json")
    assert "took no lock" in ending.stdout, ending.stderr


def test_a_plan_with_designs_that_this_cpu_cannot_run(place, monkeypatch):
    monkeypatch.setenv("ELISION_HIDE_RTM", "1")
    plan = {"words": ["--", "/bin/true"], "machine": "native", "designs": ["pthread", "htm-5"], "threads": [None],
            "part": {"kind": "as asked"}, "first_rounds": 1, "most_rounds": 0, "rounds": [[["pthread", "htm-5"]]], "processes": [[0]]}
    (place.root / "plan.json").write_text(json.dumps(plan))
    ending = place.run("compare", "--plan", "plan.json")
    assert ending.status == 2
    assert re.fullmatch("elision compare: --plan 'plan.json': htm-5 needs hardware transactions, which .*\n", ending.stderr)


@pytest.mark.parametrize("words, why", [
    ("--plan none.json", "--plan 'none.json': No such file or directory"),
    ("--plan /etc/passwd", "--plan '/etc/passwd': it is no JSON report of elision compare with a plan"),
    ("--plan /etc/passwd --runs 3", "--runs excludes --plan"),
    ("--plan /etc/passwd --machine native", "--machine excludes --plan"),
    ("--plan /etc/passwd --pauses 5", "--pauses excludes --plan"),
    ("--plan /etc/passwd -- /bin/true", "--plan has a program of its own: leave out '/bin/true' and what follows")])
def test_options_beside_a_plan(place, words, why):
    ending = place.run("compare", *words.split())
    assert ending.status == 2
    assert ending.stderr == f"elision compare: {why}\n"


def test_precision_adds_rounds(place, elision):
    words = ["--threads", 4, "--locks", "htm-10", "--", elision.workload("onelock"), "--structure", "map", "--threads", "{threads}", "--sections", 1000]
    loose, _ = samples(place, "--precision", 100, *words)
    tight, rows = samples(place, "--precision", 1, *words)
    speedup, interval, rounds = rows["htm-10"]["speedup"], rows["htm-10"]["interval"], len(tight["plan"]["rounds"][0])
    assert len(loose["plan"]["rounds"][0]) == 3
    assert rounds == 12 or (interval["high"] <= 1.01 * speedup and speedup <= 1.01 * interval["low"])


def test_interrupt_of_a_look(place):
    """The program says that it runs, and then waits for ever."""
    for name in ("begun", "never"):
        os.mkfifo(place.root / name)
    with place.started("compare", "--machine", "xeon-e5-2697v4", "--locks", "tatas", "--", "sh", "-c", "echo > begun; read line < never") as command:
        (place.root / "begun").read_text()
        command.send_signal(signal.SIGINT)
        output, errors = command.communicate()
    assert (command.returncode, errors) == (130, "")
    assert "Stopped early." in output


def test_windows_behind_the_end_do_not_count(place, elision):
    """The last window would end after the program, and has no result. With all of them so long there is no result at all."""
    words = ["--threads", 2, "--locks", "tatas", "--", elision.workload("onelock"), "--structure", "map", "--threads", "{threads}", "--sections", 8000]
    _, rows = samples(place, "--sample", 4, "--sample-length", "500us", *words)
    assert 0 < rows["pthread"]["runs"] < 4
    ending = place.run("compare", "--machine", "xeon-e5-2697v4", "--sample", 4, "--sample-length", "1s", *words)
    assert ending.status == 1
    assert "took no lock in any window, or ended before: try another --sample-length" in ending.stdout


@pytest.mark.parametrize("words, why", [
    ("--sample 2", "--sample: '2' is not a whole number from 3 to 1000"),
    ("--sample 5 --runs 3", "--runs excludes --sample"),
    ("--sample 5 --metric (.)", "--metric excludes --sample"),
    ("--sample 5 --vary 3", "--vary excludes --sample"),
    ("--sample 5 --start thread:2", "--start excludes --sample"),
    ("--sample 5 --stop thread:2", "--stop excludes --sample"),
    ("--sample 5 --whole-run", "--whole-run excludes --sample"),
    ("--sample-length 5ms --runs 3", "--sample-length is for virtual machines, and for --sample or a budget"),
    ("--sample-length 5ms --whole-run", "--sample-length is for virtual machines, and for --sample or a budget"),
    ("--sample-length 5ms --machine native", "--sample-length is for virtual machines, and for --sample or a budget"),
    ("--sample 5 --sample-length 5", "--sample-length '5': a time looks like 5ms"),
    ("--sample 5 --sample-length 0ms", "--sample-length '0ms': the time must not be 0"),
    ("--sample 5 --machine native", "--sample is for virtual machines; this CPU runs the whole program"),
    ("--budget 5m --runs 3", "--runs excludes --budget"),
    ("--budget 5m --vary 3", "--vary excludes --budget"),
    ("--budget 5m --sample 5 --machine xeon-e5-2697v4", "--sample 5 excludes --budget"),
    ("--precision 5 --sample 5 --machine xeon-e5-2697v4", "--sample 5 excludes --precision"),
    ("--precision 5 --runs 5", "--runs excludes --precision"),
    ("--precision 0", "--precision: '0' is not a whole number from 1 to 100"),
    ("--sample autos", "--sample: 'autos' is not a whole number from 3 to 1000"),
    ("--sample auto --machine native", "--sample is for virtual machines; this CPU runs the whole program"),
    ("--sample auto --machine xeon-e5-2697v4", "--sample: /bin/true starts no second thread, or fails"),
    ("--budget 5", "--budget '5': use a time such as 90s, 5m or 1h"),
    ("--budget 0s", "--budget '0s': use a time"),
    ("--budget nanm", "--budget 'nanm': use a time"),
    ("--sample 5 --machine xeon-e5-2697v4", "--sample: /bin/true starts no second thread, or fails")])
def test_bad_samples(place, words, why):
    ending = place.run("compare", *words.split(), "--", "/bin/true")
    assert ending.status == 2
    assert why in ending.stderr and ending.stderr.count("\n") == 1
