# SPDX-License-Identifier: Apache-2.0
"""ELISION_HIDE_RTM=1: on this machine everything behaves as on a CPU without RTM and says so; the virtual CPU keeps its
transactions."""

import json

import pytest
from support import run

HIDDEN = {"ELISION_HIDE_RTM": "1"}


@pytest.fixture
def report(elision):
    def doctor(**variables):
        return json.loads(elision.run("doctor", "--json", environment=variables).stdout)
    return doctor


@pytest.fixture
def shown(report):
    """What the doctor says with RTM shown."""
    return report(ELISION_HIDE_RTM="")


def names(remarks):
    return [remark["name"] for remark in remarks]


def test_doctor_names_the_switch_and_tries_nothing(report, cpu_has_rtm):
    hidden = report(**HIDDEN)
    assert not hidden["live"]
    assert hidden["settings"]["hide_rtm"] == "1"
    assert hidden["trial"]["attempts"] == 0
    assert (hidden["reason"] == "hidden") == cpu_has_rtm


def test_screen_of_the_doctor_names_the_switch(elision, cpu_has_rtm):
    ending = elision.run("doctor", environment=HIDDEN)
    assert ending.status == 1
    assert "ELISION_HIDE_RTM=1" in ending.stdout
    assert ("ELISION_HIDE_RTM" in ending.stdout.splitlines()[0]) == cpu_has_rtm


def test_doctor_names_a_value_that_is_none(report, shown):
    unknown = report(ELISION_HIDE_RTM="yes")
    assert unknown["live"] == shown["live"]
    assert "unknown-value" in names(unknown["notes"])


@pytest.mark.parametrize("elided", ["htm-10", "hle-scm", "ticket-aahtm"])
def test_no_section_commits_natively(elision, cpu_has_rtm, elided):
    ending = elision.run("run", "--lock", elided, "--rtm-always-abort", "--", elision.test_program("preload_worker"), "count", "1",
                         "10", environment={**HIDDEN, "ELISION_VERBOSE": "1"})
    assert ending.status == 0
    assert "no live hardware transactions" in ending.stderr
    assert "fallback lock in force" in ending.stderr
    assert ("RTM hidden by ELISION_HIDE_RTM" in ending.stderr) == cpu_has_rtm


def test_probes_are_skipped(elision):
    assert run([elision.workload("probes/empty_transaction"), "10"], environment=HIDDEN).status == 77


def test_compare_takes_a_virtual_machine(elision, cpu_has_rtm):
    def compare(*options):
        return elision.run("compare", *options, "--locks", "htm-10", "--runs", "1", "--", elision.test_program("preload_worker"),
                           "count", "2", "100", environment=HIDDEN).stdout

    assert "xeon-gold-5520plus" in compare()
    reason = "ELISION_HIDE_RTM=1 hides" if cpu_has_rtm else "which this CPU does not have"
    assert reason in compare("--machine", "native")


@pytest.mark.parametrize("environment", [{}, HIDDEN], ids=["shown", "hidden"])
def test_the_virtual_cpu_commits(elision, environment):
    program = [elision.test_program("preload_worker"), "count", "2", "1000"]
    ending, totals = elision.totals(program, ("--lock", "htm-10"), environment=environment)
    assert ending.status == 0
    assert totals["commits"] > 1000


def test_the_virtual_cpu_is_not_hidden(elision):
    report = json.loads(elision.vm([elision.binary, "doctor", "--json"], environment=HIDDEN).stdout)
    assert (report["live"], report["reason"]) == (True, "virtual-cpu")
    assert names(report["notes"]) == ["hides-nothing"]
