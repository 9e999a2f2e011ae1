# SPDX-License-Identifier: Apache-2.0
"""What fences wait for, and what a mispredicted branch costs, end to end.

Runs costs.cc on a machine whose misses and mispredictions are dear, so that one that is left out shows.
"""

import pytest

MEMORY, MISPREDICTION = 1000, 300
MACHINE = (f"xeon-e5-2697v4,clock.frequency_mhz=1000,clock.core_mhz=1000,memory.latency_ns={MEMORY},core.branch_misprediction_cycles={MISPREDICTION},"
           "jitter.latency_percent=0")


@pytest.fixture(scope="module")
def cost(elision):
    ending = elision.vm([elision.test_program("costs")], ["--machine", MACHINE])
    assert ending.status == 0
    return {name: float(value) for name, value in (line.split(": ") for line in ending.stdout.splitlines())}


@pytest.mark.parametrize("name", ["store", "store_sfence", "store_lfence", "load", "load_by_pointer"])
def test_accesses_overlap(cost, name):
    """Neither SFENCE nor LFENCE waits until a store is visible. A load by a pointer does not wait for another one."""
    assert cost[name] < MEMORY / 2


@pytest.mark.parametrize("name", ["store_mfence", "load_lfence"])
def test_fence_waits(cost, name):
    """MFENCE until the store is visible, LFENCE for the load."""
    assert MEMORY <= cost[name] < 1.2 * MEMORY


def test_branch_by_chance_is_mispredicted_half_of_the_time(cost):
    assert 0.4 * MISPREDICTION < cost["branch_by_chance"] - cost["draw"] < 0.6 * MISPREDICTION


def test_branch_by_turns_is_learnt(cost):
    assert cost["branch_by_turns"] - cost["draw"] < 0.05 * MISPREDICTION


@pytest.fixture(scope="module")
def cycles(elision):
    ending = elision.vm([elision.workload("probes/loads")], ["--machine", "xeon-e5-2697v4,jitter.latency_percent=0"])
    assert ending.status == 0
    return {name: float(value) for name, value in (line.split(": ") for line in ending.stdout.splitlines())}


@pytest.mark.parametrize("level", ["l2", "l3", "dram"])
@pytest.mark.parametrize("way", ["called", "kept"])
def test_load_waits_for_its_pointer_on_any_way(cycles, level, way):
    """Also behind a call with copies and additions, and where the pointer was in memory in between."""
    assert cycles[f"{level}_{way}_cycles"] == pytest.approx(cycles[f"{level}_cycles"], rel=0.05)
