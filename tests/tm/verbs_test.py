# SPDX-License-Identifier: Apache-2.0
"""`--tm` of `elision run`, `elision vm` and `elision compare`."""

import json

import pytest
import tm
from support import expect_refused

OWN_MODES = ("serial", "hle", "hle-scm", "unsafe-lr", "ale", "ale-logged")
METHODS = ("libitm", "libitm-serialirr", "libitm-gl_wt", "libitm-ml_wt")
XEON = ("--machine", "xeon-gold-5520plus")


@pytest.fixture
def program(elision):
    return elision.build / "tests" / "tm_threads"


def listed(elision, operations=1500):
    return [elision.workload("list"), "--back-end", "gcc-tm", "--operations", str(operations), "--threads", "{threads}"]


@pytest.mark.parametrize("mode", OWN_MODES)
def test_vm_runs_transactions_in_a_mode(elision, program, mode):
    ending = elision.vm([program], (*XEON, "--tm", mode), environment={"ELISION_TM_VERBOSE": "1"})
    fast_path = {"ale": ", two-speed", "ale-logged": ", logged"}.get(mode, "")
    assert (ending.status, ending.stderr) == (0, f"elision-tm: mode {mode.removesuffix('-logged')}, RTM{fast_path}\n")


@pytest.mark.parametrize("mode", METHODS)
def test_libitm_stays_the_programs_own(elision, program, folder, mode):
    """Also for a user whose environment puts the library into its place."""
    ours = {"LD_PRELOAD": str(elision.build / "lib" / "libelision-tm.so"), "LD_LIBRARY_PATH": str(elision.build / "lib" / "elision-tm"),
            "ELISION_TM_VERBOSE": "1", "ELISION_TM_COUNTERS_DIR": str(folder), "ITM_DEFAULT_METHOD": "no such method"}
    for words in (("vm", *XEON), ("run",)):
        ending = elision.run(*words, "--tm", mode, "--", program, environment=ours)
        assert (ending.status, ending.stderr) == (0, "")
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", OWN_MODES)
def test_run_says_what_the_cpu_lacks(elision, cpu_has_rtm, program, mode):
    ending = elision.run("run", "--tm", mode, "--", program, environment={"ELISION_TM_VERBOSE": "1", "ELISION_HIDE_RTM": "1"})
    assert ending.status == 0
    hidden = " (ELISION_HIDE_RTM=1 hides them)" if cpu_has_rtm else ""
    note = f"elision run: this CPU has no live hardware transactions{hidden}; {mode} is serial here"
    assert ending.stderr.startswith(note) == (mode != "serial")
    assert ending.stderr.endswith("elision-tm: mode serial, no RTM\n")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--tm", "al"), ("mode of transactional memory 'al'", "'ale'")),
        (("--tm", "ale", "--lock", "htm-1"), ("--tm", "--lock")),
        (("--tm", "ale", "--wait", "spin"), ("--wait is for locks",)),
        (("--tm", "ale", "--tm-retry", "hints"), ("--tm-retry", "hint")),
        (("--tm-retry", "hint"), ("--tm",)),
        (("--tm", "libitm", "--tm-retry", "hint"), ("--tm-retry has no effect",)),
    ],
)
@pytest.mark.parametrize("verb", ["run", "vm"])
def test_bad_modes_are_refused(elision, program, verb, words, named):
    expect_refused(elision.run(verb, *words, "--", program), *named)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--tm", "ale,,hle"), ("missing in 'ale,,hle'",)),
        (("--tm", "ale,ale"), ("'ale' is named twice",)),
        (("--tm", "libitm"), ("'libitm' is what the others are compared with",)),
        (("--tm", "ale", "--locks", "ticket"), ("--tm", "--locks")),
        (("--tm", "ale", "--sample", "auto"), ("--tm", "--sample")),
        (("--tm", "ale", "--rwlock", "exclusive"), ("--rwlock is for locks",)),
    ],
)
def test_bad_comparisons_are_refused(elision, program, words, named):
    expect_refused(elision.run("compare", *XEON, *words, "--", program), *named)


@pytest.mark.parametrize("verb", ["run", "vm", "compare"])
def test_program_without_transactions_is_refused(elision, verb):
    expect_refused(elision.run(verb, "--tm", "ale", "--", "/bin/true"), "/bin/true", "it has none", "-fgnu-tm")


@pytest.mark.parametrize("verb", ["run", "vm", "compare"])
def test_other_version_of_libitm_is_refused(elision, verb):
    program = elision.build / "tests" / "other_libitm" / "tm_needs_other_libitm"
    expect_refused(elision.run(verb, "--tm", "ale", "--", program), "libitm.so.2", "libitm.so.1")


def test_program_that_runs_no_transaction_is_told(elision):
    """A shell may start a program with transactions, so it is not refused."""
    ending = elision.run("compare", *XEON, "--tm", "ale", "--runs", "1", "--", "/bin/sh", "-c", "exit 0")
    assert "/bin/sh ran no transaction, so the mode makes no difference to it." in ending.stdout


def test_run_needs_a_design_or_a_mode(elision, program):
    expect_refused(elision.run("run", "--", program), "--lock DESIGN", "--tm MODE")


def test_virtual_comparison(elision, folder):
    words = ("compare", "--tm", ",".join((*METHODS[1:], *OWN_MODES)), *XEON, "--runs", "2", "--threads", "4", "--ignore-output")
    ending = elision.run(*words, "--json", folder / "c.json", "--", *listed(elision))
    assert ending.status == 0
    report = json.loads((folder / "c.json").read_text())
    (block,) = report["blocks"]
    rows = {row["design"]: row for row in block["rows"]}
    assert list(rows) == [*METHODS, *OWN_MODES]
    assert {row["state"] for row in rows.values()} == {"good"}
    for method in METHODS:
        assert (rows[method]["locks"]["commits"], rows[method]["locks"]["acquisitions"]) == (None, None)
        assert "transactional_memory" not in rows[method]["locks"]
    for mode in OWN_MODES:
        counts = rows[mode]["locks"]
        details = counts["transactional_memory"]
        assert counts["acquisitions"] == counts["commits"] + counts["fallbacks"] + details["cancels"]
        assert counts["acquisitions"] == 1500
        assert (counts["commits"] == 0) == (mode == "serial")
    assert rows["ale"]["locks"]["transactional_memory"]["plain_commits"] > 0
    assert rows["ale-logged"]["locks"]["transactional_memory"]["plain_commits"] == 0
    assert rows["ale-logged"]["locks"]["transactional_memory"]["logged_commits"] > 0
    assert rows["ale"]["speedup"] > rows["serial"]["speedup"]
    assert "write-backs" in ending.stdout


def test_transactions_of_the_timed_part_are_counted(elision, folder):
    """That part begins with the second thread."""
    counts = {}
    for options in ((), ("--whole-run",)):
        words = ("compare", "--tm", "ale", *XEON, "--runs", "1", *options, "--json", folder / "c.json")
        assert elision.run(*words, "--", elision.build / "tests" / "tm_alone_first").status == 0
        (block,) = json.loads((folder / "c.json").read_text())["blocks"]
        (counts[options],) = [row["locks"]["acquisitions"] for row in block["rows"] if row["design"] == "ale"]
    assert counts == {(): 100, ("--whole-run",): 300}


def test_comparison_is_repeated_by_its_plan(elision, folder):
    words = ("compare", "--tm", "ale", "--machine", "core-i7-5960x", "--runs", "1", "--threads", "2", "--ignore-output", "--json", folder / "c.json")
    first = elision.run(*words, "--", *listed(elision, 300))
    again = elision.run("compare", "--plan", folder / "c.json")
    assert (again.status, again.stdout) == (0, first.stdout)
    assert " run --tm ale -- " in first.stdout


def test_comparison_gives_the_retry_rule_to_modes_that_have_one(elision, folder):
    """The reference has none."""
    words = ("compare", "--tm", "serial,hle", "--tm-retry", "hint", *XEON, "--runs", "1", "--threads", "8", "--ignore-output", "--json", folder / "c.json")
    ending = elision.run(*words, "--", *listed(elision))
    assert (ending.status, "fallbacks" in ending.stdout) == (0, True)
    commands = {run["design"]: run["command"] for run in json.loads((folder / "c.json").read_text())["runs"]}
    assert {mode: "--tm-retry hint" in command for mode, command in commands.items()} == {"libitm": False, "serial": False, "hle": True}
    assert " run --tm hle --tm-retry hint -- " in ending.stdout


def test_native_comparison_leaves_out_what_needs_hardware(elision, cpu_has_rtm, folder):
    words = ("compare", "--tm", "default", "--machine", "native", "--runs", "1", "--threads", "2", "--ignore-output")
    ending = elision.run(*words, "--json", folder / "c.json", "--", *listed(elision), environment={"ELISION_HIDE_RTM": "1"})
    assert ending.status == 0
    (block,) = json.loads((folder / "c.json").read_text())["blocks"]
    states = {row["design"]: (row["state"], row.get("remark", "")) for row in block["rows"]}
    reason = "ELISION_HIDE_RTM=1 hides" if cpu_has_rtm else "this CPU does not have"
    left_out = ("not-run", f"needs hardware transactions, which {reason}")
    assert states == {**{m: ("good", "") for m in (*METHODS, "serial")}, **{m: left_out for m in ("hle", "hle-scm", "ale")}}


def test_without_patience_a_held_lock_makes_others_take_it(elision, folder):
    """Under hle. The transactions that take it make a system call."""
    serial = {}
    for retry in ("patient", "hint"):
        words = [elision.build / "tests" / "tm_histories", 1, 40, 300]
        where = folder / retry
        where.mkdir()
        ending = elision.vm(words, (*XEON, "--tm", "hle", "--tm-retry", retry), environment={"ELISION_TM_COUNTERS_DIR": str(where)})
        assert ending.status == 0
        serial[retry] = tm.counters.of_folder(where)["serial_commits"]
    assert serial["hint"] > 1.5 * serial["patient"]
