# SPDX-License-Identifier: Apache-2.0
"""The probes in small form on a virtual machine: each prints the numbers that it promises, within what any machine could
show, and a bank on a machine without conflict detection loses money."""

import sys

import probes
import pytest
import recording
from support import expect_refused, run

MACHINE = "xeon-e5-2660v4"


@pytest.fixture
def probe(elision):
    def run_probe(name, *arguments, options=(), machine=MACHINE):
        return elision.vm([elision.workload("probes") / name, *arguments], ["--machine", machine, *options])
    return run_probe


@pytest.fixture
def values_of(probe):
    def values(name, *arguments, **how):
        ending = probe(name, *arguments, **how)
        assert ending.status == 0
        return probes.parse(ending.stdout)
    return values


def test_conflict_matrix(values_of):
    values = values_of("conflict_matrix", "2000")
    assert len(values["read_read_abort_percent"]) == 2
    assert max(values["read_read_abort_percent"]) < 2
    reader, writer = values["read_write_abort_percent"]
    assert reader > writer
    writer, reader = values["write_read_abort_percent"]
    assert reader > writer


def test_spurious(values_of):
    assert values_of("spurious", "20000")["aborts_per_million"][0] < 500
    assert values_of("spurious", "20000", "4")["aborts_per_million"][0] < 2000


def test_transactions(values_of):
    values = values_of("empty_transaction", "2000")
    assert values["commit_cycles"][0] < values["abort_cycles"][0]


def test_loads(values_of):
    values = values_of("loads", "16384", "131072", "1048576", "67108864", machine="core-i7-4770")
    levels = [values[f"{name}_cycles"][0] for name in ("l1", "l2", "l3", "dram")]
    assert levels == sorted(levels)
    assert levels[3] > 4 * levels[2]


def test_instructions(values_of):
    values = values_of("instructions", "1000")
    assert set(values) == {"pause", "lock_add", "mfence", "lfence", "rdtsc", "cpuid"}


def test_cache_to_cache(values_of):
    assert values_of("cache_to_cache", "500")["dirty_line_ticks"][0] > 12


def test_bank(values_of):
    one = values_of("bank", "1", "transactions", "2000")
    assert one["transactions"] == [2000]
    assert one["commits_per_xbegin_percent"][0] > 95
    four = values_of("bank", "4", "transactions", "2000", "B")
    assert four["transactions"] == [2000]
    assert four["conflicts_per_xbegin_percent"][0] > 1
    assert values_of("bank", "2", "seconds", "0.001")["transactions"][0] > 100


def test_a_bank_without_conflict_detection_loses_money(probe):
    codes = [probe("bank", "4", "transactions", "4000", options=("--no-conflict-detection", "--seed", str(seed))).status
             for seed in (1, 2, 3)]
    assert 1 in codes


def test_read_set_ends_with_l3(values_of):
    values = values_of("read_set", "1024", "12288", "1024", "2", machine="core-i7-4770")
    assert values["commit_percent_at_1.00_megabytes"] == [100]
    assert 4 <= values["largest_megabytes"][0] <= 8, values


def test_write_set_ends_with_l1(values_of):
    assert 16 <= values_of("write_set", "3")["largest_kilobytes"][0] <= 32


def test_clock_counts_core_cycles(values_of):
    assert 0.5 < values_of("clock", "20000")["cycles_per_tick"][0] < 2


def test_topology_tells_cores_from_siblings(values_of):
    # The 72 CPUs of a Xeon E5-2699 v3 pair up: CPU 0 and 1 are cores of their own.
    assert values_of("topology", "20000")["together_to_alone"][0] < 1.2


def test_conflicts_end_together_and_count_what_conflicts(values_of):
    values = values_of("conflicts", "3000")
    for counting in ("shared", "private"):
        assert max(values[f"read_read_{counting}_abort_percent"]) < 2
        reader, writer = values[f"read_write_{counting}_abort_percent"]
        assert reader > writer
        assert values[f"read_write_{counting}_abort_percent"] == values[f"read_write_{counting}_conflict_percent"]


def test_window_grows_with_the_transaction(values_of):
    values = values_of("vulnerable_window", "4000")
    short, long = (values[f"read_{cycles}_window_percent_length"] for cycles in (0, 1200))
    assert long[0] - short[0] > 600
    assert long[0] - short[0] < 2400
    assert long[2] > short[2] + 1000


def test_commits_cost_more_with_stores(values_of):
    values = values_of("commit_cost", "300")
    assert values["transaction_in_l1_32"][1] > values["transaction_in_l1_0"][1]
    assert len(values["transaction_missing_32"]) == 3


def test_a_conflict_ends_a_transaction_that_spins(values_of):
    values = values_of("conflict_cost", "100")
    assert values["aborted_dropped"][0] < 20
    assert values["aborted"][1] > 0

def test_what_overlaps_a_wait_for_a_line(values_of):
    """As on silicon (the records' early_loads): atomics and XEND do not keep what follows from fetching its line; fences and XBEGIN do."""
    values = {pair: quantiles[1] for pair, quantiles in values_of("early_loads", "200").items() if len(quantiles) == 3}
    one = values["one_load"]
    for pair in ("two_loads", "one_atomic", "atomic_load", "two_atomics", "load_commit_load", "store_commit_load"):
        assert values[pair] < 1.4 * one, pair
    for pair in ("two_loads_fenced", "atomic_begin_load", "atomic_fence_begin_load", "load_commit_fence_load", "store_commit_fence_load"):
        assert values[pair] > 1.6 * one, pair


def test_lines_in_l2_cost_more_than_those_in_l1(values_of):
    values = values_of("aborted_lines", "60")
    assert values["load_l2"][1] > values["load_l1"][1]
    assert len(values["store_written_from_l2"]) == 3


def test_dependent_loads_are_the_slowest(values_of):
    values = values_of("store_overlap", "3000", "16384")
    store, _, load, dependent = values["16384_kb_store_increment_load_dependent"]
    assert dependent > load
    assert dependent > store


def test_a_lock_goes_to_and_fro(values_of):
    for release in ("exchange", "store"):
        ticks, handovers, row = values_of("handover", "3000")[f"{release}_ticks_handover_percent_longest_row"]
        assert ticks > 10
        assert handovers <= 100
        assert row >= 1


# What a probe prints, the value of the machine file that it measures, and how many ticks it may be off beside 5 %: the clock
# counts whole ticks, and a commit stands in a few instructions more.
KNOWN_ANSWERS = [
    ("shared_lines 1000", "dirty_load_ticks", "coherence.dirty_transfer_ns", 0),
    ("shared_lines 1000", "clean_load_ticks", "coherence.clean_transfer_ns", 0),
    ("shared_lines 1000", "upgrade_ticks", "coherence.upgrade_ns", 0),
    ("branches 100000", "misprediction_ticks", "core.branch_misprediction_cycles", 0),
    ("page_walks 50000", "second_level_ticks", "tlb.shared_latency_cycles", 0),
    ("page_walks 50000", "walk_ticks", "tlb.walk_cycles", 0),
    ("streams 2", "lines_ahead", "prefetch.stream_lines", 0),
    ("transaction_parts 5000", "begin_ticks", "transactions.begin_cycles", 0),
    ("transaction_parts 5000", "commit_ticks", "transactions.commit_cycles", 3),
    ("transaction_parts 5000", "abort_ticks", "transactions.abort_cycles", 0),
    ("kernel_costs 500 50", "call_ticks", "instructions.syscall_cycles", 0),
    ("kernel_costs 500 50", "fault_ticks", "system.page_fault_cycles", 0),
    ("kernel_costs 500 50", "switch_ticks", "system.context_switch_cycles", 0),
    ("kernel_costs 500 50", "wake_ticks", "system.futex_wake_cycles", 0),
    ("kernel_costs 500 50", "interruption_ticks", "system.timer_interrupt_cycles", 0),
    ("kernel_costs 500 50", "interruptions_a_second", "system.timer_hz", 0),
    ("instructions 5000", "cpuid", "instructions.cpuid_cycles", 0),
    ("clock 20000", "ticks_a_microsecond", "clock.frequency_mhz", 0),
]


def expected(said, figure, field):
    """The figure by the machine file: ticks of the time-stamp counter, if it counts time."""
    value, ticks = float(said[field]), float(said["clock.frequency_mhz"])
    if field.endswith("_ns"):
        return value * ticks / 1000
    return value * ticks / float(said["clock.core_mhz"]) if field.endswith("_cycles") else value


@pytest.mark.parametrize("machine", [MACHINE, "xeon-gold-5520plus", "core-i7-4770,clock.core_mhz=3900,coherence.upgrade_ns=88,tlb.walk_cycles=90,prefetch.stream_lines=9"])
@pytest.mark.parametrize("words", sorted({row[0] for row in KNOWN_ANSWERS}))
def test_a_probe_finds_what_the_machine_file_says(values_of, build, machine, words):
    said = recording.machine_values(build, machine)
    values = values_of(*words.split(), machine=machine)
    for _, figure, field, ticks in (row for row in KNOWN_ANSWERS if row[0] == words):
        assert values[figure][0] == pytest.approx(expected(said, figure, field), rel=0.05, abs=ticks or None), field


def test_an_increment_brings_a_modified_line_twice_unless_loads_take_it(values_of):
    def values(takes):
        found = values_of("shared_lines", "1000", machine=f"{MACHINE},coherence.loads_take_modified={takes}")
        return {name: row[0] for name, row in found.items()}

    left, taken = values("false"), values("true")
    assert left["increment_ticks"] == pytest.approx(left["dirty_load_ticks"] + left["upgrade_ticks"], rel=0.1)
    assert left["store_after_load_ticks"] == pytest.approx(left["upgrade_ticks"], rel=0.1)
    assert taken["increment_ticks"] == pytest.approx(taken["dirty_load_ticks"], rel=0.1)
    assert taken["store_after_load_ticks"] < 0.1 * taken["upgrade_ticks"]


@pytest.mark.parametrize("megahertz", [2200, 3300])
def test_the_clock_of_a_core_is_found(values_of, megahertz):
    values = values_of("clock", "20000", machine=f"xeon-gold-5520plus,clock.core_mhz={megahertz}")
    assert values["cycles_per_tick"][0] == pytest.approx(megahertz / 2200, rel=0.02)


def test_a_slow_timer_is_found_by_its_first_ticks(values_of):
    """Page faults of the probe are as long as an interruption, and must not count as one."""
    values = values_of("kernel_costs", "200", "20", machine="xeon-gold-5520plus,system.timer_hz=117")
    assert values["interruptions_a_second"][0] == pytest.approx(117, rel=0.05)


def test_without_a_streamer_the_next_line_is_prefetched(values_of):
    assert values_of("streams", "2", machine="xeon-gold-5520plus,prefetch.stream_lines=0")["lines_ahead"][0] == 1


def test_page_walks_without_huge_pages_have_no_figure(elision):
    without = "import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"  # PR_SET_THP_DISABLE
    ending = run([sys.executable, "-c", without, elision.workload("probes") / "page_walks", "5000"])
    assert (ending.status, ending.stdout) == (0, "")


def test_spread_of_costs_follows_the_jitter(values_of):
    still, shaken = (f"{MACHINE},jitter.latency_percent={percent},jitter.transaction_percent={percent}" for percent in (0, 20))
    for words, figure in (("shared_lines 1000", "dirty_load_spread_percent"), ("transaction_parts 5000", "abort_spread_percent")):
        assert values_of(*words.split(), machine=still)[figure][0] < 5
        assert 25 < values_of(*words.split(), machine=shaken)[figure][0] < 40


def test_other_lines_conflict_by_prefetches_and_by_the_filter(values_of):
    def percent(figure, change):
        return values_of("false_conflicts", "200", machine=f"xeon-gold-5520plus,{change}")[f"{figure}_conflict_percent"][0]

    assert percent("neighbour", "prefetch.snoops=true") > 20
    assert percent("neighbour", "prefetch.snoops=false") == 0
    small, large = (percent("filter", f"transactions.read_filter_log2={size}") for size in (11, 14))
    assert small > 3 * large
    assert percent("filter", "transactions.read_filter_log2=0") == 0
    assert percent("idle", "transactions.read_filter_log2=11") == 0
    for modified in ("modified", "unmodified"):
        takes, leaves = (percent(modified, f"coherence.loads_take_modified={flag}") for flag in ("true", "false"))
        assert leaves == 0
        assert takes > 20 if modified == "modified" else takes == 0


@pytest.mark.parametrize("words", ["bank 2", "bank 2 seconds 0", "bank 2 transactions 5x", "bank 2 transactions 5 C", "bank 5000 transactions 5", "spurious 0", "read_set 512 -", "loads 1"])
def test_wrong_words_are_named(probe, words):
    expect_refused(probe(*words.split()))
