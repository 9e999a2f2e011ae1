# SPDX-License-Identifier: Apache-2.0
"""The page of tools/bench-record, from rounds whose answer is known."""

import math
import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "tools")]

import paired  # noqa: E402
import record_cost  # noqa: E402

PROGRAM = record_cost.PROGRAMS[0]


def rounds(recorded, count=10):
    """Each slower than the one before, so that only ratios within a round tell."""
    seconds = {record_cost.ALONE: 1.0, record_cost.NOTED: 1.02, record_cost.WOKEN: 1.02 * 1.004, record_cost.RECORDED: recorded, record_cost.PERF: 1.5}
    return [{form: taken * (1 + i) for form, taken in seconds.items()} for i in range(count)]


def test_ratios_are_of_one_round():
    found = record_cost.ratios_of(rounds(1.0302))
    assert [math.expm1(paired.middle(found[heading])) for heading in record_cost.HEADINGS] == pytest.approx([0.02, 0.0302, 0.01, 0.004, 1.01 / 1.004 - 1, 0.5])
    low, high = paired.interval(found["elision record over notes"])
    assert low == pytest.approx(high)


def test_page_says_how_many_are_within():
    text = record_cost.sentence([(PROGRAM, rounds(1.02 * 1.005)), (PROGRAM, rounds(1.02 * 1.03))])
    assert "in 1 of 2 programs" in text and "3.0 %" in text
    assert "does nothing adds 0.4 to 0.4 %" in text and text.endswith("the highest upper end is 2.6 %.")


def test_without_perf_its_column_is_empty():
    some = [{form: seconds for form, seconds in one.items() if form != record_cost.PERF} for one in rounds(1.03)]
    assert record_cost.cells_of([(PROGRAM, some)])[1][-1] == "-"


def test_middle_leaves_the_ends_out():
    assert paired.middle([1, 2, 3, 4, 100]) == 3
    assert paired.percent(math.log(1.01)) == "+1.00 %"
