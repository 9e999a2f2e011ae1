#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fences wait for, and what a mispredicted branch costs, end to end.

    costs.py BUILD

Runs costs.cc on a machine whose misses and mispredictions are dear, so that one that is left out shows.
"""

import sys

from whole_programs import Elision

MEMORY, MISPREDICTION = 1000, 300
MACHINE = (f"xeon-e5-2697v4,memory.latency_cycles={MEMORY},core.branch_misprediction_cycles={MISPREDICTION},"
           "jitter.latency_percent=0")


def main():
    elision = Elision(sys.argv[1])
    printed = elision.printed([elision.build / "tests" / "costs"], ["--machine", MACHINE])
    cost = {name: float(value) for name, value in (line.split(": ") for line in printed.splitlines())}
    print(printed, end="")
    by_chance = cost["branch_by_chance"] - cost["draw"]
    checks = {
        "stores alone overlap": cost["store"] < MEMORY / 2,
        "SFENCE waits for no store to be visible": cost["store_sfence"] < MEMORY / 2,
        "LFENCE waits for no store": cost["store_lfence"] < MEMORY / 2,
        "MFENCE waits until the store is visible": MEMORY <= cost["store_mfence"] < 1.2 * MEMORY,
        "loads alone overlap": cost["load"] < MEMORY / 2,
        "LFENCE waits for the load": MEMORY <= cost["load_lfence"] < 1.2 * MEMORY,
        "a branch by chance is mispredicted half of the time": 0.4 * MISPREDICTION < by_chance < 0.6 * MISPREDICTION,
        "one by turns is learnt": cost["branch_by_turns"] - cost["draw"] < 0.05 * MISPREDICTION,
    }
    for what, holds in checks.items():
        print(f"{'ok' if holds else 'FAILED'}: {what}")
    sys.exit(0 if all(checks.values()) else 1)


if __name__ == "__main__":
    main()
