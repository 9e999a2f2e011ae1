#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The probes in small form on a virtual machine: each prints the numbers that it promises, within what any machine could
show, and a bank on a machine without conflict detection loses money.

    probes.py BUILD
"""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "repro"))

import probes

BUILD = pathlib.Path(sys.argv.pop(1))
MACHINE = "xeon-e5-2660v4"


def run(name, *arguments, options=(), machine=MACHINE):
    words = [BUILD / "bin" / "elision", "vm", "--machine", machine, *options, "--", BUILD / "workloads" / "probes" / name,
             *arguments]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=300)


class Probes(unittest.TestCase):
    def values(self, name, *arguments, **how):
        done = run(name, *arguments, **how)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return probes.parse(done.stdout)

    def test_conflict_matrix(self):
        values = self.values("conflict_matrix", "2000")
        self.assertEqual(len(values["read_read_abort_percent"]), 2)
        self.assertLess(max(values["read_read_abort_percent"]), 2)
        reader, writer = values["read_write_abort_percent"]
        self.assertGreater(reader, writer)
        writer, reader = values["write_read_abort_percent"]
        self.assertGreater(reader, writer)

    def test_spurious(self):
        self.assertLess(self.values("spurious", "20000")["aborts_per_million"][0], 500)
        self.assertLess(self.values("spurious", "20000", "4")["aborts_per_million"][0], 2000)

    def test_transactions(self):
        values = self.values("empty_transaction", "2000")
        self.assertLess(values["commit_cycles"][0], values["abort_cycles"][0])

    def test_loads(self):
        values = self.values("loads", "16384", "131072", "1048576", "67108864", machine="core-i7-4770")
        levels = [values[f"{name}_cycles"][0] for name in ("l1", "l2", "l3", "dram")]
        self.assertEqual(levels, sorted(levels))
        self.assertGreater(levels[3], 4 * levels[2])

    def test_instructions(self):
        values = self.values("instructions", "1000")
        self.assertEqual(set(values), {"pause", "lock_add", "mfence", "lfence", "rdtsc"})

    def test_cache_to_cache(self):
        self.assertGreater(self.values("cache_to_cache", "500")["dirty_line_ticks"][0], 12)

    def test_bank(self):
        one = self.values("bank", "1", "transactions", "2000")
        self.assertEqual(one["transactions"], [2000])
        self.assertGreater(one["commits_per_xbegin_percent"][0], 95)
        four = self.values("bank", "4", "transactions", "2000", "one-line")
        self.assertEqual(four["transactions"], [2000])
        self.assertGreater(four["conflicts_per_xbegin_percent"][0], 1)
        self.assertGreater(self.values("bank", "2", "seconds", "0.001")["transactions"][0], 100)

    def test_a_bank_without_conflict_detection_loses_money(self):
        codes = [run("bank", "4", "transactions", "4000", options=("--no-conflict-detection", "--seed", str(seed))).returncode
                 for seed in (1, 2, 3)]
        self.assertIn(1, codes)

    def test_read_set_ends_with_l3(self):
        values = self.values("read_set", "1024", "12288", "1024", "2", machine="core-i7-4770")
        self.assertEqual(values["commit_percent_at_1.00_megabytes"], [100])
        self.assertTrue(4 <= values["largest_megabytes"][0] <= 8, values)

    def test_write_set_ends_with_l1(self):
        self.assertTrue(16 <= self.values("write_set", "3")["largest_kilobytes"][0] <= 32)

    def test_clock_counts_core_cycles(self):
        self.assertTrue(0.5 < self.values("clock", "20000")["cycles_per_tick"][0] < 2)

    def test_topology_tells_cores_from_siblings(self):
        # The 72 CPUs of a Xeon E5-2699 v3 pair up: CPU 0 and 1 are cores of their own.
        self.assertLess(self.values("topology", "20000")["together_to_alone"][0], 1.2)

    def test_conflicts_end_together_and_count_what_conflicts(self):
        values = self.values("conflicts", "3000")
        for counting in ("shared", "private"):
            self.assertLess(max(values[f"read_read_{counting}_abort_percent"]), 2)
            reader, writer = values[f"read_write_{counting}_abort_percent"]
            self.assertGreater(reader, writer)
            self.assertEqual(values[f"read_write_{counting}_abort_percent"], values[f"read_write_{counting}_conflict_percent"])

    def test_window_grows_with_the_transaction(self):
        values = self.values("vulnerable_window", "4000")
        short, long = (values[f"read_{cycles}_window_percent_length"] for cycles in (0, 1200))
        self.assertGreater(long[0] - short[0], 600)
        self.assertLess(long[0] - short[0], 2400)
        self.assertGreater(long[2], short[2] + 1000)

    def test_commits_cost_more_with_stores(self):
        values = self.values("commit_cost", "300")
        self.assertGreater(values["transaction_in_l1_32"][1], values["transaction_in_l1_0"][1])
        self.assertEqual(len(values["transaction_missing_32"]), 3)

    def test_a_conflict_ends_a_transaction_that_spins(self):
        values = self.values("conflict_cost", "100")
        self.assertLess(values["aborted_dropped"][0], 20)
        self.assertGreater(values["aborted"][1], 0)

    # The virtual machine does not model CLFLUSH, so that flushed lines are where they were.
    def test_early_loads_prints_every_pair(self):
        values = self.values("early_loads", "200")
        for pair in ("two_loads", "two_loads_fenced", "atomic_begin_load", "store_commit_fence_load"):
            self.assertEqual(len(values[pair]), 3, pair)
            self.assertGreater(values[pair][0], 0, pair)

    def test_lines_in_l2_cost_more_than_those_in_l1(self):
        values = self.values("aborted_lines", "60")
        self.assertGreater(values["load_l2"][1], values["load_l1"][1])
        self.assertEqual(len(values["store_written_from_l2"]), 3)

    def test_dependent_loads_are_the_slowest(self):
        values = self.values("store_overlap", "3000", "16384")
        store, _, load, dependent = values["16384_kb_store_increment_load_dependent"]
        self.assertGreater(dependent, load)
        self.assertGreater(dependent, store)

    def test_a_lock_goes_to_and_fro(self):
        for release in ("exchange", "store"):
            ticks, handovers, row = self.values("handover", "3000")[f"{release}_ticks_handover_percent_longest_row"]
            self.assertGreater(ticks, 10)
            self.assertLessEqual(handovers, 100)
            self.assertGreaterEqual(row, 1)

    def test_wrong_words_are_named(self):
        for name, arguments in (("bank", ("2",)), ("bank", ("2", "seconds", "0")), ("bank", ("2", "transactions", "5x")),
                                ("spurious", ("0",)), ("read_set", ("512", "-")), ("loads", ("1",))):
            done = run(name, *arguments)
            self.assertEqual(done.returncode, 2, (name, arguments))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
