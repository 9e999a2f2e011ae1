# SPDX-License-Identifier: Apache-2.0
"""`elision compare`, `elision run` and `elision vm` as a user sees them, with real programs."""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess

import answers
import pytest
from support import ROOT, run

XEON = ["--machine", "xeon-e5-2697v4"]
METRIC = ["--metric", "throughput: ([0-9.]+)"]


@pytest.fixture
def bench(elision):
    return [str(elision.workload("arraybench")), "--sections", "300", "--warmup", "5"]


def test_virtual_comparison_of_all_designs(place, bench):
    ending = place.run("compare", *XEON, "--threads", "1,4", *METRIC, "--json", "c.json", "--", *bench,
                       "--threads", "{threads}", "--writes", "100")
    assert ending.status == 0
    report = json.loads((place.root / "c.json").read_text())
    assert [block["threads"] for block in report["blocks"]] == [1, 4]
    for block in report["blocks"]:
        assert block["verdict"]["sentence"] in ending.stdout
        rows = {row["design"]: row for row in block["rows"]}
        assert list(rows) == ["pthread", "tatas", "ticket", "htm-1", "htm-10", "tatas-aahtm",
                                      "ticket-aahtm"]
        assert {row["state"] for row in rows.values()} == {"good"}
        assert rows["htm-10"]["locks"]["commits"] > 0
    assert rows["tatas-aahtm"]["locks"]["speculations"] > 0
    assert sum(row["best"] for row in block["rows"]) == 1
    assert len(report["runs"]) >= 2 * 7 * 3
    assert "runs" in ending.stderr  # the estimate
    assert "\r" not in ending.stderr  # no bar without a terminal


def test_virtual_comparison_is_the_same_every_time(place, bench):
    words = ("compare", *XEON, "--locks", "tatas,htm-10", "--json", "-", "--", *bench, "--threads", "4")
    reports = [json.loads(place.run(*words).stdout) for _ in range(2)]
    for report in reports:
        for run_of_it in report["runs"]:
            del run_of_it["host_seconds"]
    assert reports[0] == reports[1]


def test_number_of_runs_is_exact(place, bench):
    place.run("compare", *XEON, "--locks", "tatas", "--runs", "2", "--json", "c.json", "--", *bench, "--threads", "4")
    runs = json.loads((place.root / "c.json").read_text())["runs"]
    assert [(r["design"], r["run"]) for r in runs] == [("pthread", 0), ("tatas", 0), ("tatas", 1), ("pthread", 1)]


def test_programs_started_by_the_program_are_counted(place, bench):
    command = " ".join(bench) + " --threads 2; true"
    place.run("compare", *XEON, "--locks", "htm-10", "--runs", "1", "--json", "c.json", "--", "bash", "-c", command)
    report = json.loads((place.root / "c.json").read_text())
    assert report["blocks"][0]["rows"][1]["locks"]["commits"] > 0


def test_page_has_the_report_and_what_repeats_it(place, bench):
    program = place.root / "<!--<script>'\""
    program.symlink_to(bench[0])
    words = ["compare", *XEON, "--locks", "htm-10", "--runs", "2", "--seed", "7", "--json", "c.json", "--html", "c.html", "--"]
    place.run(*words, program, *bench[1:], "--threads", "2")
    report = json.loads((place.root / "c.json").read_text())
    shown = re.findall('<script type="application/json" id="report">(.*?)</script>', (place.root / "c.html").read_text())
    assert [json.loads(text) for text in shown] == [report]
    assert report["program"] == str(program)
    called_as, *rest = shlex.split(report["command"])
    assert called_as.endswith("/bin/elision")
    assert rest == [*words, str(program), *bench[1:], "--threads", "2"]
    assert report["elision"]
    machine = {value["field"]: value for value in report["machine"]}
    assert machine["clock.frequency_mhz"]["value"] == "2300"
    assert all(value["source"] for field, value in machine.items() if field != "name")
    again = shlex.split(report["runs"][-1]["command"])
    assert again[0] == called_as
    assert again[again.index("--seed") + 1] == "8"
    assert place.run(*again[1:]).status == 0


def test_page_on_standard_output_moves_the_table(place, bench):
    ending = place.run("compare", *XEON, "--locks", "tatas", "--runs", "1", "--no-why", "--html", "-", "--", *bench, "--threads", "1")
    assert ending.stdout.startswith("<!doctype html>")
    assert "  design " in ending.stderr


def test_program_without_locks(place):
    ending = place.run("compare", *XEON, "--", "ls", "/")
    assert ending.stdout.count("\n") == 1
    assert "took no lock" in ending.stdout


def test_program_without_locks_with_several_numbers_of_threads(place):
    ending = place.run("compare", *XEON, "--threads", "1,2", "--", "sleep", "0.00{threads}")
    lines = ending.stdout.splitlines()
    assert [line.split(" took no lock")[0] for line in lines] == ["With 1 thread, sleep", "", "With 2 threads, sleep"]
    assert ending.status == 0


def test_number_of_threads_without_locks_is_skipped_alone(place, bench):
    script = "test $0 = 1 || " + " ".join(bench)
    ending = place.run("compare", *XEON, "--locks", "tatas", "--runs", "1", "--no-why", "--threads", "1,2", "--", "bash", "-c", script, "{threads}")
    assert "With 1 thread, bash took no lock that Elision can replace in this run, so" in ending.stdout
    assert "2 threads, 1 run a design" in ending.stdout
    assert "  tatas " in ending.stdout


def test_design_that_breaks_the_program_cannot_win(place, bench):
    script = "test $ELISION_LOCK != tatas || exit 3; test $ELISION_LOCK != htm-1 || echo more; " + \
             " ".join(bench) + " --threads 2"
    ending = place.run("compare", *XEON, "--locks", "tatas,htm-1,htm-10", "--runs", "2", "--", "bash", "-c", script)
    lines = {line.split()[0]: line for line in ending.stdout.splitlines() if line.startswith((" ", "*"))}
    assert "exit code 3" in lines["tatas"]
    assert "printed something else" in lines["htm-1"]


def test_program_that_fails_by_itself_is_compared_only_on_request(place, bench):
    words = ["compare", *XEON, "--locks", "tatas", "--runs", "2"]
    program = ["bash", "-c", " ".join(bench) + "; echo no luck >&2; exit 3"]
    refused = place.run(*words, "--", *program)
    assert refused.status == 1
    assert "Nothing to compare: under pthread, bash ended with exit code 3;" in refused.stdout
    assert "ended with exit code 3: no luck" in refused.stdout
    assert "Stay with" not in refused.stdout
    assert place.run(*words, "--ignore-failure", "--", *program).status == 0


@pytest.mark.parametrize("verb, status, said", [(["compare", "--locks", "tatas"], 1, "bash ended with exit code 2"),
                                                (["vm", "--vary", "2"], 2, "")], ids=["compare", "vary"])
def test_code_two_of_the_program_is_told_from_an_engine_that_does_not_start(place, verb, status, said):
    machine = place.root / "m.toml"
    words = ["--machine", machine, "--", "bash", "-c"]
    machine.write_text((ROOT / "machines" / "xeon-e5-2697v4.toml").read_text())
    own = place.run(*verb, *words, "exit 2")
    assert said in own.stdout
    assert (own.status, "cannot read" in own.stderr) == (status, False)
    # The shell runs, and what it becomes does not start.
    other = place.run(*verb, *words, f"rm {machine}; exec true")
    assert (other.status, other.stdout) == (2, "")
    assert re.search("^elision [a-z]*: cannot read machine file .*m.toml", other.stderr)


@pytest.mark.parametrize("words", [["compare", *XEON, "--locks", "tatas"], ["vm", "--vary", "2"], ["vm", "--stats", "s.json"]],
                         ids=" ".join)
def test_code_two_with_lost_statistics_is_not_taken_for_a_program_that_did_not_start(place, words):
    ending = place.run(*words, "--", "bash", "-c", "echo first >&2; rm -r $TMPDIR/elision.*; exit 2")
    assert ending.status == 2
    assert "statistics" in ending.stderr.splitlines()[-1]


def test_deadlock_is_never_compared(place):
    ending = place.run("compare", *XEON, "--locks", "tatas", "--runs", "2", "--json", "c.json", "--ignore-failure",
                       "--", place.elision.build / "tests" / "crashing", "deadlock")
    assert ending.status == 1
    assert "deadlocked: every thread waited for another" in ending.stdout
    report = json.loads((place.root / "c.json").read_text())
    assert [run["deadlocked"] for run in report["runs"]] == [True]


each_locking_verb = pytest.mark.parametrize("verb", [["run", "--lock", "tatas"], ["vm", "--lock", "tatas"]], ids=" ".join)


@each_locking_verb
@pytest.mark.parametrize("name, why", [("static", "it is linked statically"), ("script", "it is linked statically"),
                                       ("true", "it does not lock through pthread mutexes")])
def test_programs_without_locks_are_told_so(place, verb, name, why):
    static, script = place.root / "static", place.root / "script"
    static.write_bytes(place.elision.test_program("crashing_static").read_bytes())
    script.write_text(f"#!{static} nothing\n")
    for file in (static, script):
        file.chmod(0o755)
    program = name if name == "true" else place.root / name
    said = place.run(*verb, "--", program).stderr.splitlines()
    advice = "; link it dynamically" if why == "it is linked statically" else ""
    assert [line for line in said if line.startswith(f"elision {verb[0]}: {program} takes")] == [
        f"elision {verb[0]}: {program} takes no lock that Elision can replace ({why}), so the design of the lock makes no difference to it{advice}"]


@each_locking_verb
def test_programs_that_may_lock_are_not_told_so(place, bench, verb):
    for program in (bench, ["bash", "-c", "true"]):  # a shell may start anything
        assert "no lock that Elision" not in place.run(*verb, "--", *program).stderr


def test_comparison_of_a_program_without_locks_says_so(place):
    ending = place.run("compare", *XEON, "--ignore-failure", "--", place.elision.test_program("crashing_static"), "nothing")
    assert "crashing_static took no lock that Elision can replace (it is linked statically), so" in ending.stdout


def test_comparison_of_a_program_that_may_lock_speaks_of_this_run(place):
    ending = place.run("compare", *XEON, "--", "bash", "-c", "true")
    assert ending.stdout.startswith("bash took no lock that Elision can replace in this run, so ")


def test_locks_of_the_library_for_programs_are_told_apart(place):
    program = [place.elision.workload("apicost"), "nothing"]
    ending = place.run("compare", *XEON, "--ignore-failure", "--", *program)
    assert "apicost took no lock that Elision can replace (it locks through libelision-api, whose locks are not replaced), so" in ending.stdout


def test_vary_says_once_that_a_program_takes_no_locks(place):
    ending = place.run("vm", "--vary", "2", "--lock", "tatas", "--", "true")
    assert ending.stderr.count("no lock that Elision can replace") == 1


def test_program_with_more_rights_than_its_caller_is_told_apart(place, bench):
    if os.geteuid() != 0:
        pytest.skip("needs root to make such a program")
    program = place.root / "other"
    program.write_bytes(pathlib.Path(bench[0]).read_bytes())
    os.chown(program, 65534, -1)
    program.chmod(0o4755)
    assert "(it runs with more rights than its caller)" in place.run("run", "--lock", "tatas", "--", program, *bench[1:]).stderr


def test_no_program_but_a_dynamic_linker_is_started_to_ask(place, bench):
    program, other = place.root / "program", place.root / "i"
    other.write_text(f"#!/bin/sh\ntouch {place.root}/started\n")
    other.chmod(0o755)
    linker = b"/lib64/ld-linux-x86-64.so.2"
    image = pathlib.Path(bench[0]).read_bytes()
    assert linker in image
    assert len(os.fsencode(other)) <= len(linker)
    program.write_bytes(image.replace(linker, os.fsencode(other).ljust(len(linker), b"\0")))
    program.chmod(0o755)
    place.run("vm", "--lock", "tatas", "--", program)
    assert not (place.root / "started").exists()


def test_design_that_hangs_is_given_up(place, bench):
    script = "test $ELISION_LOCK != tatas || sleep 1000; " + " ".join(bench)
    ending = place.run("compare", "--machine", "native", "--locks", "tatas,ticket", "--timeout", "5", "--", "bash",
                       "-c", script)
    assert "did not end within 5 s" in ending.stdout


def test_short_limit_is_shown_as_given(place):
    ending = place.run("compare", "--machine", "native", "--locks", "tatas", "--timeout", "0.001", "--", "sleep", "1000")
    assert "did not end within 0.001 s" in ending.stdout


def test_interrupt_prints_what_is_done(place, bench):
    with place.started("compare", *XEON, "--runs", "1000", "--locks", "tatas", "--", *bench) as command:
        command.stderr.readline()  # the estimate: the first run is done
        command.send_signal(signal.SIGINT)
        output, _ = command.communicate()
    assert command.returncode == 130
    assert "Stopped early." in output
    assert "pthread" in output


def test_interrupted_machine_leaves_no_directory(place):
    # Waits for input that never comes: a sleep would take no time at all in the virtual machine.
    with place.started("vm", "--stats", "s.json", "--", "bash", "-c", "echo started; cat", stdin=subprocess.PIPE) as command:
        command.stdout.readline()
        command.send_signal(signal.SIGTERM)
        command.wait()
    assert command.returncode == -signal.SIGTERM


def test_statistics_of_several_processes(place):
    ending = place.run("vm", "--stats", "s.json", "--", "bash", "-c", "cat /dev/null; (exit 4); exit 6")
    assert ending.status == 6
    statistics = json.loads((place.root / "s.json").read_text())
    assert len(statistics["processes"]) >= 3
    total = sum(process["instructions"] for process in statistics["processes"])
    assert statistics["totals"]["instructions"] == total


@pytest.fixture
def stats_of(place, bench):
    def run_vm(*options, words=None):
        """The ending of `elision vm` and the bytes of its statistics file."""
        ending = place.run("vm", *options, "--stats", "s.json", "--", *(words or [*bench, "--threads", "4"]))
        return ending, (place.root / "s.json").read_bytes()
    return run_vm


def test_variation_is_repeatable_and_matters(place, stats_of):
    one, bytes_one = stats_of("--variation", "3", "--seed", "7")
    again, bytes_again = stats_of("--variation", "3", "--seed", "7")
    assert (one.status, one.stdout, bytes_one) == (0, again.stdout, bytes_again)
    other, bytes_other = stats_of("--variation", "4", "--seed", "7")
    clocks = [json.loads(text)["totals"]["virtual_ns"] for text in (bytes_one, bytes_other)]
    assert clocks[0] != clocks[1]
    named = json.loads(bytes_one)
    assert named["variation"] == 3
    shown = place.run("machines", "xeon-gold-5520plus", "--variation", "3").stdout.splitlines()
    assert f"tlb.walk_cycles {named['drawn']['tlb.walk_cycles']} drawn".split() in [line.split()[:3] for line in shown]


def test_variation_zero_is_the_best_guess(stats_of):
    assert stats_of("--variation", "0")[1] == stats_of()[1]


def test_variation_is_handed_to_children(bench, stats_of):
    program = " ".join(bench)
    _, text = stats_of("--variation", "5", words=["bash", "-c", f"{program} >/dev/null; exec {program}"])
    processes = json.loads(text)["processes"]
    assert len(processes) >= 3
    assert {process["variation"] for process in processes} == {5}
    # A machine of its own each, but the same one: the two runs of the program differ in nothing but their start.
    best_guess = json.loads(stats_of(words=["bash", "-c", f"{program} >/dev/null; exec {program}"])[1])
    for varied, plain in zip(processes, best_guess["processes"]):
        assert varied["virtual_ns"] != plain["virtual_ns"], varied["program"]


def test_vary_runs_each_variation_with_its_seed(stats_of):
    ending, text = stats_of("--vary", "3", "--seed", "5")
    assert ending.stdout == stats_of("--seed", "5")[0].stdout
    whole = json.loads(text)
    for i, varied in enumerate(whole["variations"]):
        alone = json.loads(stats_of("--variation", str(i), "--seed", str(5 + i))[1])
        assert (varied["variation"], varied["seed"]) == (i, 5 + i)
        assert varied["processes"] == alone["processes"]
        assert varied["drawn"] == alone["drawn"]
    commits = sorted(varied["totals"]["commits"] for varied in whole["variations"])
    assert whole["ranges"]["commits"] == dict(zip(("low", "median", "high"), commits))
    assert "virtual time" in ending.stderr
    assert "fallbacks" not in ending.stderr
    assert stats_of("--vary", "3", "--seed", "5")[1] == text


def test_vary_with_a_lock_design_and_a_metric(place, bench):
    ending = place.run("vm", "--vary", "3", "--lock", "htm-1", "--cpus", "4", *METRIC, "--", *bench, "--threads",
                       "4", "--contention", "high")
    lines = {line.split("  ")[1]: line for line in ending.stderr.splitlines() if line.startswith("  ")}
    assert {"virtual time", "CPU time", "commits", "aborts: conflict", "fallbacks", "result"} <= set(lines)
    assert re.search(r"M \[.*M - .*M\]$", lines["result"])


def test_vary_ends_as_variation_zero_did(place):
    ending = place.run("vm", "--vary", "2", "--", "bash", "-c", "echo out; echo err >&2; exit 7")
    assert (ending.status, ending.stdout) == (7, "out\n")
    assert "err\n" in ending.stderr
    assert "Not the same" not in ending.stderr
    killed = place.run("vm", "--vary", "2", "--", "bash", "-c", "kill -USR1 $$")
    assert killed.status == -signal.SIGUSR1


def test_vary_says_where_the_program_noticed(place, bench):
    # The result in every digit: another one on every machine.
    ending = place.run("vm", "--vary", "3", "--", *bench, "--threads", "4")
    assert "Not the same as in variation 0: its output is another in 2 of 3 (1, 2).\n" in ending.stderr


def test_vary_gives_a_file_to_every_run(place):
    (place.root / "in.txt").write_text("line\n" * 3)
    ending = run(["bash", "-c", f"{place.elision.binary} vm --vary 3 -- wc -l < in.txt"], cwd=place.root)
    assert ending.stdout.strip() == "3"
    assert "Not the same" not in ending.stderr
    words = f"{place.elision.binary} compare --machine native --locks tatas --metric '([0-9]+)' -- sort -n < in.txt"
    (place.root / "in.txt").write_text("17\n4\n")
    assert "17" in run(["bash", "-c", words], cwd=place.root).stdout


def test_interrupt_of_vary_leaves_nothing(place, bench):
    with place.started("vm", "--vary", "1000", "--stats", "s.json", "--", *bench) as command:
        command.stderr.readline()  # the estimate: the first run is done
        command.send_signal(signal.SIGINT)
        output, errors = command.communicate()
    assert command.returncode == 130
    assert "throughput" in output
    assert "Stopped early." in errors


def test_comparison_over_variations(place, bench):
    words = ["compare", *XEON, "--locks", "tatas,htm-10", "--vary", "3", "--seed", "11", *METRIC, "--json", "c.json",
             "--", *bench, "--threads", "4"]
    ending = place.run(*words)
    assert ending.status == 0
    report = json.loads((place.root / "c.json").read_text())
    assert [variation["seed"] for variation in report["variations"]] == [11, 12, 13]
    assert len({json.dumps(variation["drawn"]) for variation in report["variations"]}) == 3
    assert [(r["run"], r["seed"], r["variation"]) for r in report["runs"]] == [(i, 11 + i, i) for i in range(3) for _ in range(3)]
    metrics = {(r["design"], r["variation"]): r["metric"] for r in report["runs"]}
    for row in report["blocks"][0]["rows"]:
        expected = [metrics[row["design"], i] / metrics["pthread", i] for i in range(3)]
        assert row["ratios"] == expected
        assert [row["ratio"][part] for part in ("low", "median", "high")] == sorted(expected)
    assert re.search(r" beats \S+( \S+){0,3} (only )?in [0-3] of 3, (by|at) [0-9.]+x to [0-9.]+x", ending.stdout)
    assert place.run(*words).stdout == ending.stdout


@pytest.mark.parametrize("verb", [["vm"], ["run", "--lock", "tatas"]], ids=" ".join)
def test_arguments_of_the_program_are_its_own(place, verb):
    ending = place.run(*verb, "--", "echo", "--lock", "--", "-h", "--version")
    assert ending.stdout == "--lock -- -h --version\n"


def test_run_preloads_in_front_and_passes_on_the_ending(place):
    ending = run([place.elision.binary, "run", "--lock", "ticket", "--wait", "spin", "--", "bash", "-c",
                  'echo "$ELISION_LOCK $ELISION_WAIT $LD_PRELOAD"; exit 9'],
                 environment={"LD_PRELOAD": str(place.elision.build / "lib" / "libelision.so") + ":"})
    assert ending.status == 9
    assert "ticket spin " in ending.stdout
    killed = place.run("run", "--lock", "tatas", "--", "bash", "-c", "kill -USR1 $$")
    assert killed.status == -signal.SIGUSR1


def test_glibc_elides_by_itself_on_the_virtual_machine(place, bench):
    if tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))) >= (2, 43):
        pytest.skip("glibc has had no elision since 2.43")
    _, totals = place.elision.totals(["env", "GLIBC_TUNABLES=glibc.elision.enable=1", *bench, "--threads", "2"])
    assert totals["commits"] > 0


def test_options_of_the_benchmark_of_long_programs(build, bench):
    """tools/bench-answers runs for minutes or hours before compare sees the last of its commands."""
    program = answers.Program("short", (*bench, "--threads", "{threads}"))
    ending = run(answers.command(build, program, build, answers.whole_options("tatas")))
    assert ending.status == 0, ending.stderr
    report = json.loads(ending.stdout)
    assert answers.leading(report) == ["tatas"] and len(report["runs"]) == 2
