#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/bench-elision runs, and its verdicts, tables and page, on made-up results whose answer is known."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "repro")]
sys.dont_write_bytecode = True

import elision_compared as compared  # noqa: E402
from elision_compared import CK, GLIBC, GLIBC_ELISION, TBB, Cell, Comparison, Range, Result, Setting  # noqa: E402

EVERYBODY = {GLIBC: (1, 2), GLIBC_ELISION: (2, 4), TBB: (8, 4), CK: (3, 5), "htm-10": (4, 8), "tatas": (5, 8)}


def results(throughputs=None, transactions=(100, 95, 5), acquisitions=100):
    """{contender: throughput by variation} -> results of one cell; transactions of glibc's elided run: begins, commits,
    aborts."""
    found = {}
    for contender, rates in {**EVERYBODY, **(throughputs or {})}.items():
        counts = transactions if contender == GLIBC_ELISION else (0, 0, 0)
        for variation, rate in enumerate(rates):
            found[Cell("map", 8, contender, variation)] = Result(rate, acquisitions, *counts)
    return found


class Plan(unittest.TestCase):
    def test_every_contender_meets_every_variation_with_its_seed(self):
        plan = compared.plan(["map", "hash"], [1, 8], [GLIBC, "htm-10"], 3)
        self.assertEqual((len(plan), len(set(plan))), (24, 24))
        self.assertEqual({(cell.variation, cell.seed) for cell in plan}, {(0, 1), (1, 2), (2, 3)})
        self.assertEqual(plan[0].threads, 8, "long ones first")

    def words(self, cell):
        return " ".join(compared.command("b", cell, "s", 0.1))

    def test_commands(self):
        self.assertEqual(
            self.words(Cell("map", 8, "htm-10", 2)),
            "b/bin/elision vm --machine xeon-e5-2697v4 --seed 3 --variation 2 --lock htm-10 --stats s -- "
            "env GLIBC_TUNABLES=glibc.elision.enable=0 b/workloads/onelock --lock pthread --limit 3 --structure map --reads 50 "
            "--threads 8 --seconds 0.1 --warmup 100")
        self.assertIn("-- env GLIBC_TUNABLES=glibc.elision.enable=1 b/workloads/onelock --lock pthread",
                      self.words(Cell("map", 8, GLIBC_ELISION)))
        self.assertIn("onelock --lock tbb", self.words(Cell("map", 8, TBB)))
        self.assertIn("b/workloads/arraybench_ck --writes", self.words(Cell("array", 8, CK)))
        self.assertIn("b/workloads/arraybench --writes", self.words(Cell("array", 8, "tatas")))

    def test_only_ours_are_preloaded(self):
        for contender in compared.LOCKS:
            self.assertNotIn("vm --machine xeon-e5-2697v4 --seed 1 --variation 0 --lock",
                             self.words(Cell("map", 8, contender)))

    def test_warm_up_counts_as_acquisitions(self):
        totals = {"begins": 9, "commits": 5, "aborts": {"conflict": 3, "capacity": 1}}
        self.assertEqual(compared.result_of(Cell("map", 8, TBB), 2.5, 1000, totals), Result(2.5, 1800, 9, 5, 4))


class Contention(unittest.TestCase):
    def test_over_a_tenth_aborted_or_fell_back(self):
        for transactions, expected in (((100, 95, 5), False), ((100, 90, 10), False), ((100, 91, 11), True),
                                       ((89, 89, 0), True), ((0, 0, 0), True)):
            comparison = Comparison(results(transactions=transactions))
            self.assertEqual(comparison.is_contended("map", 8), expected, transactions)

    def test_sections_without_a_transaction_fell_back(self):
        comparison = Comparison(results(transactions=(40, 30, 10)))
        self.assertAlmostEqual(comparison.aborted("map", 8), 0.25)
        self.assertAlmostEqual(comparison.fell_back("map", 8), 0.70)

    def test_a_glibc_without_elision_is_noticed(self):
        self.assertTrue(Comparison(results()).elides())
        self.assertFalse(Comparison(results(transactions=(0, 0, 0))).elides())


class Verdicts(unittest.TestCase):
    def test_ratios_are_paired(self):
        """Both twice as fast on the second machine: no change of the ratio."""
        self.assertEqual(Comparison(results()).ratio("map", 8, "htm-10", GLIBC_ELISION), Range(2, 2, 2))

    def test_behind_is_behind_on_every_variation(self):
        self.assertEqual(Comparison(results()).behind("map", 8), [], "0.5x and 2x of oneTBB")
        self.assertEqual(Comparison(results({TBB: (8, 8.1)})).behind("map", 8), [TBB])
        self.assertEqual(Comparison(results({TBB: (8, 8)})).behind("map", 8), [], "level on one")
        self.assertEqual(Comparison(results({GLIBC: (9, 9), CK: (9, 9)})).behind("map", 8), [GLIBC, CK])

    def test_a_starved_run_has_no_throughput(self):
        found = results({TBB: (8, 0)})
        comparison = Comparison(found)
        self.assertEqual(comparison.ratio("map", 8, "htm-10", TBB).high, float("inf"))
        self.assertEqual(comparison.ratio("map", 8, TBB, GLIBC).low, 0)
        self.assertEqual(comparison.starved(), {("map", 8, TBB): 1})
        self.assertIn("oneTBB in 1 of 2 (map, 8 threads)", compared.starvation(comparison))
        self.assertEqual(compared.starvation(Comparison(results())), "")
        self.assertEqual(compared.multiple(0, 0), 1)

    def test_best_is_of_our_designs_alone(self):
        self.assertEqual(Comparison(results({TBB: (90, 90)})).best("map", 8), "tatas")

    def test_sentence(self):
        contended = (100, 80, 20)
        self.assertEqual(compared.verdict(Comparison(results())), "No cell is contended.")
        self.assertEqual(compared.verdict(Comparison(results(transactions=contended))),
                         "In none of the 1 contended cells the median of another lock is above the highest throughput of "
                         "htm-10. In no contended cells another lock is faster on every variation.")
        self.assertEqual(compared.verdict(Comparison(results({CK: (9, 9)}, contended))),
                         "In 1 of the 1 contended cells the median of another lock is above the highest throughput of "
                         "htm-10 (map at 8 threads: CK). In 1 contended cells another lock is faster on every variation (map at 8 "
                         "threads: CK); by at most 33 % (median).")


class Page(unittest.TestCase):
    def page(self, found, **how):
        return compared.document(Setting("abc of 2020-01-01", {"glibc": "2.36"}, 0.003, **{"whole": True, **how}),
                                 Comparison(found))

    def test_rows(self):
        text = self.page(results(transactions=(100, 80, 20)))
        self.assertIn("| 8 * | 1.5 | 2.00 [2.00 - 2.00] | 5.00 [2.00 - 8.00] | 2.75 [2.50 - 3.00] | 4.00 [4.00 - 4.00] | "
                      "tatas 4.50 [4.00 - 5.00] |", text)
        self.assertIn("| map, 8 | 20 % | 20 % | 4.00 [4.00 - 4.00] |", text)
        self.assertNotIn("| 8 * |", self.page(results()))

    def test_a_library_that_is_missing_has_no_column(self):
        found = {cell: result for cell, result in results().items() if cell.contender != TBB}
        self.assertNotIn("| oneTBB |", self.page(found))

    def test_says_what_it_is_made_of(self):
        text = self.page(results(), whole=False)
        for part in ("from a part of its cells", "abc of 2020-01-01", "| glibc | 2.36 |", "3 ms of virtual time",
                     "| variations of it | 2 |"):
            self.assertIn(part, text)
        self.assertNotIn("from a part", self.page(results()))
        self.assertIn("has no lock elision", self.page(results(transactions=(0, 0, 0))))


if __name__ == "__main__":
    unittest.main()
