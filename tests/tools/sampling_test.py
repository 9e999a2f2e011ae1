# SPDX-License-Identifier: Apache-2.0
"""The cells, sentence and tables of tools/bench-sampling, on made-up reports whose answer is known."""

import pytest
import sampling
from sampling import Cell, Interval


def run(design, commits=0, aborts=None, acquisitions=1, host_seconds=1):
    return {"design": design, "host_seconds": host_seconds, "locks": {"acquisitions": acquisitions, "commits": commits, "aborts": aborts or {}}}


def report(*rows, runs=()):
    return {"blocks": [{"rows": [{"design": design, "state": state, "speedup": speedup, **more} for design, state, speedup, more in rows]}],
            "runs": list(runs)}


def interval(low, high, *ratios):
    return {"interval": {"low": low, "high": high}, "ratios": list(ratios)}


def test_cells_are_of_designs_with_both_results():
    whole = report(("pthread", "good", 1, {}), ("tatas", "good", 0.8, {}), ("ticket", "failed", 0, {}), ("htm-10", "good", 2, {}),
                   runs=[run("pthread"), run("tatas", host_seconds=2)])
    sampled = report(("pthread", "good", 1, {}), ("tatas", "good", 0.7, interval(0.6, 0.9)), ("ticket", "good", 1, interval(1, 1)))
    assert sampling.cells_of("std::map", whole, sampled) == [Cell("std::map", "tatas", "speedup", 0.8, Interval(0.7, 0.6, 0.9))]
    assert sampling.host_seconds(whole) == 3


def test_an_interval_is_not_narrower_than_one_percent():
    whole = report(("tatas", "good", 0.802, {}))
    cell, = sampling.cells_of("p", whole, report(("tatas", "good", 0.8, interval(0.8, 0.8))))
    assert (cell.sampled.low, cell.sampled.high) == pytest.approx((0.792, 0.808)) and cell.is_inside
    assert not Cell("p", "d", "speedup", 0.81, cell.sampled).is_inside


def test_ratio_of_sums():
    """Two windows, 1 of 2 and 3 of 4: 2/3, residuals -1/3 and 1/3, error sqrt(2/9 * 2) / 6 = 1/9, t with one degree of freedom 12.706."""
    found = sampling.ratio_of_sums([(1, 2), (3, 4)])
    assert found.middle == pytest.approx(2 / 3)
    assert found.high - found.middle == pytest.approx(12.7062 / 9, rel=1e-4) and found.middle - found.low == pytest.approx(12.7062 / 9, rel=1e-4)
    same = sampling.ratio_of_sums([(1, 2), (2, 4), (10, 20)])
    assert (same.low, same.high) == (0.5, 0.5)


def test_commits_and_causes_of_aborts():
    row = ("htm-10", "good", 2, interval(1.9, 2.1))
    windows = [run("htm-10", 90, {"conflict": 40, "capacity": 20, "explicit": 5}, acquisitions=0), run("htm-10", 90, {"conflict": 40, "capacity": 20, "explicit": 5}),
               run("htm-10", 0, acquisitions=0), run("pthread", 5)]
    whole = report(row, runs=[run("htm-10", 900, {"conflict": 400, "capacity": 200, "explicit": 50})])
    cells = {cell.quantity: cell for cell in sampling.cells_of("p", whole, report(row, runs=windows))}
    assert list(cells) == list(sampling.QUANTITIES)
    assert cells["commits an attempt"].whole == pytest.approx(900 / 1550) and cells["commits an attempt"].sampled.middle == pytest.approx(90 / 155)
    assert cells["share of conflicts"].whole == pytest.approx(400 / 650) and cells["share of capacity"].whole == pytest.approx(200 / 650)
    assert all(cell.is_inside for cell in cells.values())


def test_few_aborts_have_no_shares():
    row = ("htm-10", "good", 2, interval(1.9, 2.1))
    runs = [run("htm-10", 90, {"conflict": 20}), run("htm-10", 90, {"conflict": 20})]
    assert [cell.quantity for cell in sampling.cells_of("p", report(row, runs=runs), report(row, runs=runs))] == ["speedup", "commits an attempt"]
    other = ("tatas", *row[1:])
    assert [cell.quantity for cell in sampling.cells_of("p", report(other, runs=runs), report(other, runs=runs))] == ["speedup"], "it elides nothing"


def test_orders_that_all_whole_runs_agree_on():
    whole = report(("a", "good", 2, interval(1, 3, 1.9, 2.1)), ("b", "good", 1.5, interval(1, 3, 1.4, 1.6)), ("c", "good", 1.5, interval(1, 3, 1.3, 1.7)))
    sampled = report(("a", "good", 1.7, {}), ("b", "good", 1.8, {}), ("c", "good", 1.6, {}))
    assert sampling.order_is_the_same(whole, sampled) == (2, 1), "a before b, which windows have the other way round, and a before c"


def test_summary_and_coverage():
    close = Cell("p", "close", "speedup", 1.0, Interval(1.09, 1.05, 1.1))
    is_open = Cell("p", "open", "speedup", 1.0, Interval(0.5, 0.1, 2.0))
    wrong = Cell("p", "wrong", "speedup", 1.0, Interval(1.2, 1.15, 1.25))
    cells = [close, is_open, wrong, Cell("p", "wrong", "share of conflicts", 0.5, Interval(0.5, 0.4, 0.6))]
    assert [cell.is_close for cell in cells[:3]] == [True, False, False]
    assert [cell.is_inside for cell in cells[:3]] == [False, True, False]
    assert [cell.is_open for cell in cells[:3]] == [False, True, False]
    assert sampling.summary(cells, [(3, 2), (1, 1)]) == (
        "Of 3 speedups, 1 are within 10 % of that of whole runs; of the other 2, 1 have an interval wider than that to either side. "
        "Of 4 orders of two designs that all whole runs agree on, 3 are the same in windows.")
    assert sampling.coverage(cells[:3])[:2] == (1, 3)
    assert sampling.coverage(cells[:3])[2:] == pytest.approx((0.0084, 0.9057), abs=1e-4)
    assert [line.split("|")[3].strip() for line in sampling.coverage_table(cells)[2:]] == ["1 (33 %)", "1 (100 %)"]
    assert [line.split("|")[-2].strip() for line in sampling.table(cells)[2:]] == ["**no**", "yes", "**no**", "yes"]
