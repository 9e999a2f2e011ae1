# SPDX-License-Identifier: Apache-2.0
"""Threads in transactions: exact totals, one order of all transactions, no inconsistent view, forks and signals.

On the virtual machine these run with eight cores, repeatably. A library or a mode with a defect must be noticed.
"""

import signal

import pytest
import tm

PROGRAMS = ("threads", "privatisation", "fork", "signals")
VIRTUAL_WAYS = ("ale", "ale, logged", "ale, in software", "hle", "hle-scm")
# These choose by themselves which transactions leave the hardware.
MIXED_PROGRAMS = ("canary", "histories")
MIXED_VIRTUAL_WAYS = tuple(way for way in VIRTUAL_WAYS if "in software" not in way)
UNSAFE = {"ELISION_TM": "unsafe-lr", "ELISION_TM_ACCEPT_UNSAFE": "1"}


@pytest.mark.parametrize(
    ("program", "way"),
    [(program, way) for way in tm.WAYS for program in PROGRAMS + (() if "in software" in way else MIXED_PROGRAMS)],
)
def test_holds_on_this_cpu(build, program, way):
    ending = tm.run(build, program, way)
    assert (ending.status, ending.stderr) == (0, "")
    assert "WRONG" not in ending.stdout


@pytest.mark.parametrize("way", tm.WAYS)
def test_thread_that_ends_inside_a_transaction_ends_the_program(build, way):
    """Otherwise all other threads would wait for ever."""
    ending = tm.run(build, "thread_end", way, "thread")
    assert (ending.status, ending.stdout) == (-signal.SIGABRT, "")
    assert ending.stderr == "elision-tm: a thread ended inside a transaction\n"


@pytest.mark.parametrize("way", tm.WAYS)
def test_exit_inside_a_transaction_is_no_error(build, way):
    ending = tm.run(build, "thread_end", way, "process")
    assert (ending.status, ending.stderr) == (3, "")


@pytest.mark.parametrize("way", MIXED_VIRTUAL_WAYS)
def test_transactions_have_one_order(elision, seed, way):
    for stride in (1, 8, 40):
        ending = tm.run_virtually(elision, "histories", way, seed, stride, 150, options=("--seed", str(seed)))
        assert ending.status == 0, stride


@pytest.mark.parametrize("way", ("ale", "ale, logged"))
def test_transactions_have_one_order_under_injected_aborts(elision, seed, folder, way):
    """The library aborts hardware transactions and segments at random accesses."""
    library = elision.build / "tests" / "libelision-tm-aborts.so"
    ending = tm.run_virtually(elision, "histories", way, seed, 40, 300, library=library, folder=folder)
    assert ending.status == 0
    counted = tm.counted(folder)
    assert counted["segment_aborts"] > 100
    assert counted["write_backs_under_lock"] > 5
    assert counted["foreign_aborts"] > 50


@pytest.mark.parametrize("way", MIXED_VIRTUAL_WAYS)
def test_no_transaction_sees_half_a_transaction(elision, folder, way):
    ending = tm.run_virtually(elision, "canary", way, 300, folder=folder)
    assert ending.status == 0
    assert tm.counted(folder)["foreign_aborts"] == 0


@pytest.mark.parametrize("way", VIRTUAL_WAYS)
def test_private_memory_is_private(elision, way):
    assert tm.run_virtually(elision, "privatisation", way, 150).status == 0


@pytest.mark.parametrize("way", VIRTUAL_WAYS)
def test_totals_are_exact(elision, folder, way):
    assert tm.run_virtually(elision, "threads", way, 2, 60, folder=folder).status == 0
    counted = tm.counted(folder)
    assert counted["commits"] == 2 * 4 * 60 + 2 * 4  # and one of each thread that ends


def test_fallback_runs_beside_fast_path(elision, folder):
    """While a fallback runs, others commit in hardware with their writes logged."""
    tm.run_virtually(elision, "histories", "ale", 1, 40, 300, folder=folder)
    counted = tm.counted(folder)
    for name in ("logged_commits", "fallback_commits", "segments", "write_backs", "validation_aborts"):
        assert counted[name] > 0, name
    assert counted["write_backs_under_lock"] < counted["write_backs"]


def test_lost_update_without_validation_is_noticed(elision):
    library = elision.build / "tests" / "libelision-tm-novalidation.so"
    endings = [tm.run_virtually(elision, "histories", "ale", seed, 40, 300, library=library) for seed in (1, 2, 3)]
    assert any(ending.status == 1 and "WRONG" in ending.stdout for ending in endings)


def test_unsafe_lr_shows_half_a_transaction(elision, folder, monkeypatch):
    """Figure 1(A) of the ALE paper."""
    monkeypatch.setitem(tm.WAYS, "unsafe-lr", UNSAFE)
    tm.run_virtually(elision, "canary", "unsafe-lr", 300, folder=folder)
    assert tm.counted(folder)["foreign_aborts"] > 0


@pytest.mark.parametrize("mode", ("ale-logged", "ale"))
def test_copies_stay_in_hardware(elision, folder, mode):
    """On this machine VZEROUPPER aborts, which the C library's memmove has. A hash table's insertions copy a node."""
    words = [elision.workload("hash"), "--back-end", "gcc-tm", "--mutations", 100, "--threads", 4, "--operations", 4000]
    ending = elision.vm(words, ("--machine", "core-i7-5960x", "--tm", mode), environment={"ELISION_TM_COUNTERS_DIR": str(folder)})
    assert ending.status == 0
    counted = tm.counted(folder)
    assert counted["other_aborts"] < 40
    assert counted["fallback_commits"] < 200
