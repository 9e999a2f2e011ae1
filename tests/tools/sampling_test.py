# SPDX-License-Identifier: Apache-2.0
"""The cells, sentence and table of tools/bench-sampling, on made-up reports whose answer is known."""

import sampling
from sampling import Cell


def report(*rows, seconds=(1, 2)):
    return {"blocks": [{"rows": [{"design": design, "state": state, "speedup": speedup, **more} for design, state, speedup, more in rows]}],
            "runs": [{"host_seconds": one} for one in seconds]}


def interval(low, high):
    return {"interval": {"low": low, "high": high}}


def test_cells_are_of_designs_with_both_results():
    whole = report(("pthread", "good", 1, {}), ("tatas", "good", 0.8, {}), ("ticket", "failed", 0, {}), ("htm-10", "good", 2, {}))
    sampled = report(("pthread", "good", 1, {}), ("tatas", "good", 0.7, interval(0.6, 0.9)), ("ticket", "good", 1, interval(1, 1)))
    assert sampling.cells_of("std::map", whole, sampled) == [Cell("std::map", "tatas", 0.8, 0.7, 0.6, 0.9)]
    assert sampling.host_seconds(whole) == 3


def test_a_cell_is_close_or_open_or_neither():
    close = Cell("p", "close", 1.0, 1.09, 1.05, 1.1)
    is_open = Cell("p", "open", 1.0, 0.5, 0.1, 2.0)
    wrong = Cell("p", "wrong", 1.0, 1.2, 1.15, 1.25)
    assert [cell.is_close for cell in (close, is_open, wrong)] == [True, False, False]
    assert [cell.is_inside for cell in (close, is_open, wrong)] == [False, True, False]
    assert [cell.is_open for cell in (close, is_open, wrong)] == [False, True, False]
    assert sampling.summary([close, is_open, wrong]).startswith(
        "Of 3 speedups, 1 are within 10 % of that of whole runs; of the other 2, 1 have an interval wider than that to either side. 1 intervals contain")
    assert [line.split("|")[-2].strip() for line in sampling.table([close, is_open, wrong])[2:]] == ["yes", "open", "no"]
