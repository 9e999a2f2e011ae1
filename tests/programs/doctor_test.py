# SPDX-License-Identifier: Apache-2.0
"""`elision doctor` on this machine, whatever it is, and on the virtual CPU."""

import json
import re

import pytest

# What other_cpuid.c ends with where CPUID does not trap, and changes of leaf 7 and leaf 0 for it.
CANNOT_TRAP = 77
NO_RTM = "7.ebx-810"
ALWAYS_ABORT = "7.edx+800"
NOT_INTEL = "0.ebx-ff,0.ebx+41"


def report_of(ending):
    return json.loads(ending.stdout)


def check_screen(ending):
    """The verdict, the exit code and the measures of the screen belong together."""
    assert ending.stderr == ""
    lines = ending.stdout.splitlines()
    assert re.search(r"^Hardware transactions: (yes|no), .+\.$", lines[0])
    assert ending.status == (0 if ": yes, " in lines[0] else 1)
    assert len(lines) <= 40


def test_says_of_this_cpu_what_the_lock_library_finds(elision):
    ending = elision.run("doctor")
    check_screen(ending)
    # A program that takes locks: of others the launcher says only that the design makes no difference.
    locks = elision.run("run", "--lock", "htm-1", "--", elision.workload("onelock"), "--sections", "1")
    assert ("no live hardware transactions" in locks.stderr) == (ending.status == 1), (locks, ending)


def test_json_has_the_same_verdict(elision):
    ending = elision.run("doctor", "--json")
    report = json.loads(ending.stdout)
    assert report["version"] == 1
    assert report["live"] == (ending.status == 0)
    assert (report["trial"]["attempts"] > 0) == (report["cpu"]["rtm"] and report["settings"]["hide_rtm"] != "1")
    trial = report["trial"]
    assert trial["commits"] + sum(trial["aborts"].values()) == trial["attempts"]
    assert not report["cpu"]["virtual_cpu"]


@pytest.mark.parametrize("machine, brand", [("xeon-e5-2697v4", "E5-2697 v4"), ("core-i7-4770", "i7-4770")])
def test_virtual_cpu(elision, machine, brand):
    words = [elision.binary, "doctor"]
    ending = elision.vm(words, ["--machine", machine])
    check_screen(ending)
    assert ending.status == 0
    assert brand in ending.stdout
    report = report_of(elision.vm([*words, "--json"], ["--machine", machine]))
    assert report["cpu"]["virtual_cpu"]
    assert report["reason"] == "virtual-cpu"
    assert report["always_abort"] == "virtual-cpu"
    assert report["perf"]["cycles"]["error"] is None, "the virtual machine has performance events"
    assert report["trial"]["attempts"] == 10000


@pytest.fixture
def on_another_cpu(elision):
    def doctor(changes, *options):
        """The doctor under another CPUID (other_cpuid.c)."""
        settings = {"LD_PRELOAD": str(elision.test_program("libother_cpuid.so")), "OTHER_CPUID": changes}
        ending = elision.run("doctor", *options, environment=settings)
        if ending.status == CANNOT_TRAP:
            pytest.skip("CPUID cannot be made to trap here")
        return ending
    return doctor


@pytest.mark.parametrize("changes, rtm, reasons", [
    (NO_RTM, False, None),  # which reason depends on the kernel here
    (ALWAYS_ABORT, None, ["microcode-aborts"]),
    (f"{NO_RTM},{ALWAYS_ABORT}", False, ["microcode-aborts"]),
    (f"{NO_RTM},{NOT_INTEL}", False, ["not-intel"])])
def test_cpus_without_transactions(on_another_cpu, changes, rtm, reasons):
    ending = on_another_cpu(changes)
    check_screen(ending)
    assert ending.status == 1
    report = report_of(on_another_cpu(changes, "--json"))
    assert not report["live"]
    assert report["always_abort"] == "none"
    assert report["reason"] in (reasons or [report["reason"]])
    if rtm is False:
        assert report["trial"]["attempts"] == 0
    assert "virtual-machine" in [advice["name"] for advice in report["advice"]]


def test_tunables_of_glibc(elision):
    tunables = "glibc.elision.enable=1:glibc.malloc.check=0"
    report = report_of(elision.run("doctor", "--json", environment={"GLIBC_TUNABLES": tunables}))
    assert report["glibc"]["elision_tunables"] == "glibc.elision.enable=1"


def test_environment_that_is_no_text(elision):
    # By a name that glibc has not: from 2.39 on ld.so warns of values that it cannot read.
    tunables = b"glibc.elision.none=\xff\x1b".decode(errors="surrogateescape")
    ending = elision.run("doctor", environment={"GLIBC_TUNABLES": tunables})
    assert "\x1b" not in ending.stdout
    check_screen(ending)
    report_of(elision.run("doctor", "--json", environment={"GLIBC_TUNABLES": tunables}))
