#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of libelision-api's costs, on made-up measurements; and that apicost prints what they want."""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "repro")]
sys.dont_write_bytecode = True

import api_costs  # noqa: E402
import probes  # noqa: E402
from performance import Origin  # noqa: E402

ORIGIN = Origin("abc of 2020-01-01", "A CPU", 2, "Linux 6", "g++ 1, Release", 0.25, 1.0)
NAMES = [f"{group} {name} {how}"
         for group, names in (("lock", api_costs.LOCKS), ("lockset", api_costs.LOCKSETS), ("coarsening", api_costs.COARSENING))
         for name in names for how in ("alone", "together")]
MEASURED = {name: [number / 100, number / 100 - 0.01, number / 100 + 0.01] for number, name in enumerate(NAMES, 50)}


class Tables(unittest.TestCase):
    def test_every_number_is_in_its_place(self):
        cells = api_costs.rows("lockset", api_costs.LOCKSETS, MEASURED, {name: [9, 8, 10] for name in NAMES})
        self.assertEqual(cells[0], ["", "2 locks", "3 locks", "4 locks", "6 locks", "8 locks"])
        self.assertEqual(cells[2][0], "natively, together")
        self.assertEqual(cells[2][3], f"{MEASURED['lockset 4 together'][0]:.2f} ±0.01")
        self.assertEqual(cells[4][1:], ["9.00 ±1.00"] * 5)

    def test_the_page_has_all_tables(self):
        page = api_costs.document(ORIGIN, MEASURED, MEASURED)
        self.assertEqual(page.count("\n## "), 4)
        self.assertIn("| 64 |", page)


class Program(unittest.TestCase):
    BUILD = None

    def run_program(self, *words):
        return subprocess.run([self.BUILD / "workloads/apicost", *words], capture_output=True, text=True, check=False, timeout=300)

    def test_it_prints_what_the_tables_want(self):
        done = self.run_program("--pairs", "1", "--operations", "50")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(probes.parse(done.stdout)), sorted(NAMES))

    def test_bad_words_get_one_line(self):
        done = self.run_program("nothing")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aapicost: .*nothing.*\n\Z")


if __name__ == "__main__":
    Program.BUILD = pathlib.Path(sys.argv.pop(1))
    unittest.main()
