#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rates, tables and the page of tools/bench, on made-up measurements whose answer is known."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
sys.dont_write_bytecode = True

import performance  # noqa: E402
from performance import NoDifference, OrderCost, Origin, Row, Sample, Scaling  # noqa: E402

ORIGIN = Origin("abc of 2020-01-01", "A CPU", 2, "Linux 6", "g++ 1, Release", 0.25, 1.0)
ROWS = [Row("fast", 2.0, 8.0, 50.0, 12.4), Row("slow", 0.5, 8.0, 50.0, -1.0)]


class Rates(unittest.TestCase):
    def test_start_up_cancels_out(self):
        start = Sample(3.0, 1000, 100, 10**6)
        large = Sample(3.0 + 1.0, 1000 + 10**7, 100 + 10**6, 10**6 + 10**8)
        small = Sample(3.0 + 0.1, 1000 + 10**6, 100 + 10**5, 10**6 + 10**7)
        found = performance.between(large, small)
        self.assertAlmostEqual(found.cpu_seconds, 0.9)
        self.assertEqual((found.events, found.changes, found.instructions), (9 * 10**6, 9 * 10**5, 9 * 10**7))
        self.assertEqual(performance.between(start, Sample(0.0)), start)

    def test_runs_that_do_not_differ_say_nothing(self):
        with self.assertRaises(NoDifference):
            performance.between(Sample(1.0), Sample(1.0))
        with self.assertRaises(NoDifference):
            performance.nanoseconds_each(1.0, 0)

    def test_change_costs_what_events_do_not_explain(self):
        private = Sample(1.0, events=10**7)                 # 100 ns each
        shared = Sample(1.0, events=10**6, changes=2 * 10**6)  # 0.1 s of events, 0.9 s of changes
        cost = performance.order_cost(8, private, shared)
        self.assertAlmostEqual(cost.event, 100)
        self.assertAlmostEqual(cost.contended, 1000)
        self.assertAlmostEqual(cost.change, 450)
        self.assertAlmostEqual(cost.changes_per_event, 2)

    def test_scaling_is_by_instruction(self):
        found = performance.scaling({8: Sample(1.0, instructions=10**9), 72: Sample(3.0, instructions=2 * 10**9)})
        self.assertEqual(found.by_threads, {8: 1.0, 72: 1.5})
        self.assertAlmostEqual(found.ratio, 1.5)

    def test_geometric_mean(self):
        self.assertAlmostEqual(performance.geometric_mean([4, 16]), 8)


class Host(unittest.TestCase):
    def test_cpu_model(self):
        self.assertEqual(performance.cpu_model("processor\t: 0\nmodel\t: 79\nmodel name\t: Some CPU @ 2 GHz \nflags: x\n"),
                         "Some CPU @ 2 GHz")
        self.assertEqual(performance.cpu_model("processor: 0\n"), "unknown")

    def test_cmake_cache(self):
        text = "// CMAKE_BUILD_TYPE\nCMAKE_BUILD_TYPE:STRING=Release\nX_CMAKE_BUILD_TYPE:STRING=no\n"
        self.assertEqual(performance.cached("CMAKE_BUILD_TYPE", text), "Release")
        self.assertEqual(performance.cached("CMAKE_CXX_COMPILER", text), "")


class Tables(unittest.TestCase):
    def test_programs(self):
        self.assertEqual(performance.plain(performance.program_cells(ROWS)), [
            "program         native  elision vm  cachegrind  vm memory",
            "fast            2.00 s        4.0x       25.0x     +12 MB",
            "slow            0.50 s       16.0x      100.0x      -1 MB",
            "geometric mean                8.0x       50.0x"])

    def test_markdown_has_a_cell_for_each_column(self):
        lines = performance.markdown(performance.order_cells([OrderCost(72, 50.4, 300, 249.6, 1.0)]))
        self.assertEqual({line.count("|") for line in lines}, {6})
        self.assertEqual(lines[2], "| 72 | 50 ns | 300 ns | 1.00 | 250 ns |")

    def test_scaling_names_its_aim_and_whether_it_is_met(self):
        for many, verdict in ((2.0, "kept"), (2.01, "missed")):
            self.assertIn(f"(at most 2x: {verdict})", performance.scaling_cells(Scaling({8: 1.0, 72: many}))[-1][1])


class Page(unittest.TestCase):
    def page(self, scale=1.0):
        origin = Origin(**{**vars(ORIGIN), "scale": scale})
        return performance.document(origin, ROWS, [OrderCost(2, 1, 2, 3, 4)], Scaling({8: 1.0, 72: 1.5}))

    def test_says_where_the_numbers_come_from_and_how_to_get_them(self):
        for part in ("abc of 2020-01-01", "A CPU", "| CPUs | 2 |", "Linux 6", "g++ 1, Release", "| load before | 0.2 |", "make bench", "| fast |",
                     "| 2 | 1 ns |", "1.50x"):
            self.assertIn(part, self.page())

    def test_a_smaller_size_is_said(self):
        self.assertIn("at 0.1 of the full size", self.page(0.1))
        self.assertNotIn("of the full size", self.page())

    def test_lines_are_not_too_long(self):
        self.assertLessEqual(max(map(len, self.page().splitlines())), 120)


if __name__ == "__main__":
    unittest.main()
