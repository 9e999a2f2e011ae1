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

import probes  # noqa: E402

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

    def test_wrong_words_are_named(self):
        for name, arguments in (("bank", ("2",)), ("bank", ("2", "seconds", "0")), ("bank", ("2", "transactions", "5x")),
                                ("spurious", ("0",)), ("read_set", ("512", "-")), ("loads", ("1",))):
            done = run(name, *arguments)
            self.assertEqual(done.returncode, 2, (name, arguments))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
