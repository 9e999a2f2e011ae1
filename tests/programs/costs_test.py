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


@pytest.mark.parametrize("name", ["store", "store_sfence", "store_lfence", "load"])
def test_accesses_overlap(cost, name):
    """Neither SFENCE nor LFENCE waits until a store is visible."""
    assert cost[name] < MEMORY / 2


@pytest.mark.parametrize("name", ["store_mfence", "load_lfence"])
def test_fence_waits(cost, name):
    """MFENCE until the store is visible, LFENCE for the load."""
    assert MEMORY <= cost[name] < 1.2 * MEMORY


def test_branch_by_chance_is_mispredicted_half_of_the_time(cost):
    assert 0.4 * MISPREDICTION < cost["branch_by_chance"] - cost["draw"] < 0.6 * MISPREDICTION


def test_branch_by_turns_is_learnt(cost):
    assert cost["branch_by_turns"] - cost["draw"] < 0.05 * MISPREDICTION
