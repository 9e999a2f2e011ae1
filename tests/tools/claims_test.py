#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Claims judged on made-up measurements: each part of each claim can make it fail."""

import pathlib
import sys
import tomllib
import unittest

REPRO = pathlib.Path(__file__).parents[2] / "repro"
sys.path.insert(0, str(REPRO))

import arraybench  # noqa: E402
from arraybench import Cell, Measurement, Result  # noqa: E402

# Throughputs under which every claim holds.
PAPER_LIKE = {
    (10, "low"): {"pthread": 5, "tatas": 6, "ticket": 4, "htm-1": 3, "htm-10": 20, "tatas-aahtm": 9, "ticket-aahtm": 8},
    (10, "high"): {"pthread": 4, "tatas": 5, "ticket": 3, "htm-1": 2, "htm-10": 4, "tatas-aahtm": 6, "ticket-aahtm": 5},
    (100, "low"): {"pthread": 3, "tatas": 3, "ticket": 2, "htm-1": 1, "htm-10": 3, "tatas-aahtm": 4, "ticket-aahtm": 5},
    (100, "high"): {"pthread": 3, "tatas": 3, "ticket": 2, "htm-1": 1, "htm-10": 2, "tatas-aahtm": 4,
                    "ticket-aahtm": 5},
}


def measurement(changes=None, opt=1.1):
    """PAPER_LIKE at every number of threads with `changes` {(writes, contention, design): throughput}; opt variants
    are `opt` times their plain form."""
    results = {}
    for (writes, contention), row in PAPER_LIKE.items():
        for design, throughput in row.items():
            throughput = (changes or {}).get((writes, contention, design), throughput)
            for threads in arraybench.THREADS:
                results[Cell(writes, contention, threads, design)] = Result(throughput)
                results[Cell(writes, contention, threads, design, opt=True)] = Result(throughput * opt)
    return Measurement(results)


class LargeTicket(unittest.TestCase):
    def holds(self, **how):
        return arraybench.judge_large_ticket(measurement(**how)).holds

    def test_range_has_two_ends(self):
        for throughput, expected in ((3.9, False), (4.0, True), (6.0, True), (6.1, False)):
            for contention in ("low", "high"):
                self.assertEqual(self.holds(changes={(100, contention, "ticket-aahtm"): throughput}), expected)

    def test_small_sections_do_not_matter(self):
        self.assertTrue(self.holds(changes={(10, "low", "ticket-aahtm"): 1}))


class BestOfFour(unittest.TestCase):
    def judge(self, *args):
        return arraybench.judge_best_of_four(measurement(dict(args)))

    def test_holds(self):
        self.assertTrue(self.judge().holds)

    def test_each_part_can_fail_alone(self):
        failing = [
            ((10, "high", "htm-10"), 5.9),      # less than 10 % ahead
            ((10, "high", "tatas-aahtm"), 16),  # more than 200 % ahead
            ((100, "low", "htm-10"), 5.1),      # an elided lock wins
            ((100, "high", "pthread"), 6),      # a plain lock wins
            ((10, "low", "tatas-aahtm"), 21),   # htm-10 does not win its configuration
            ((10, "low", "htm-1"), 4.1),        # htm-1 is not below the plain locks
        ]
        for change in failing:
            with self.subTest(change=change):
                judgement = self.judge(change)
                self.assertFalse(judgement.holds)
                self.assertEqual(sum(line.startswith("no") for line in judgement.measured), 1, judgement.measured)


class Opt(unittest.TestCase):
    def test_as_fast_as_without(self):
        self.assertTrue(arraybench.judge_opt(measurement(opt=1.0)).holds)
        self.assertTrue(arraybench.judge_opt(measurement(opt=0.975)).holds)  # within the spread
        self.assertFalse(arraybench.judge_opt(measurement(opt=0.96)).holds)


class Measurements(unittest.TestCase):
    def test_median_over_seeds(self):
        one, two = Cell(10, "low", 18, "tatas", seed=1), Cell(10, "low", 18, "tatas", seed=2)
        self.assertEqual(Measurement({one: Result(1), two: Result(3)}).throughput(10, "low", 18, "tatas"), 2)

    def test_form_changes_only_its_designs(self):
        plain = Cell(10, "low", 18, "tatas")
        changed = Cell(10, "low", 18, "tatas-aahtm", form=arraybench.ABORT_AT_UNLOCK)
        found = Measurement({plain: Result(1), changed: Result(2)})
        self.assertEqual(found.throughput(10, "low", 18, "tatas", form=arraybench.ABORT_AT_UNLOCK), 1)
        self.assertEqual(found.throughput(10, "low", 18, "tatas-aahtm", form=arraybench.ABORT_AT_UNLOCK), 2)

    def test_every_cell_that_is_judged_is_run(self):
        results = {cell: Result(1.0, 1) for cell in arraybench.paper_cells() + arraybench.form_cells()}
        found = Measurement(results)
        for judge in arraybench.JUDGES.values():
            for threads in arraybench.THREADS[1:]:
                judge(found, threads)
            for form in arraybench.CHANGED_BY:
                judge(found, form=form)
        for configuration in arraybench.CONFIGURATIONS:
            arraybench.table(found, *configuration)
        arraybench.forms_table(found)

    def test_best_of_a_column_is_marked(self):
        lines = arraybench.table(measurement(), 10, "low")
        marked = [line.split()[0] for line in lines if "*" in line]
        self.assertEqual(marked, ["htm-10"])


class Claims(unittest.TestCase):
    def test_every_claim_has_a_judge_and_the_other_way_round(self):
        claims = tomllib.loads((REPRO / "claims.toml").read_text())["claim"]
        self.assertEqual([claim["id"] for claim in claims], list(arraybench.JUDGES))
        for claim in claims:
            self.assertTrue(claim["paper"] and claim["where"] and claim["says"])


if __name__ == "__main__":
    unittest.main()
