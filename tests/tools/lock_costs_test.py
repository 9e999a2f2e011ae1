# SPDX-License-Identifier: Apache-2.0
"""Verdicts, tables and the page of tools/bench-locks, on made-up measurements whose answer is known; how the tools read what the
command line says of itself."""

import host
import lock_costs
import pytest
from lock_costs import JUMP, KEPT, MISSED, NOISE, UNSETTLED
from performance import Origin

ORIGIN = Origin("abc of 2020-01-01", "A CPU", 2, "Linux 6", "g++ 1, Release", 0.25, 1.0)
MEASURED = {
    NOISE: {"one normal": [1.0, 0.9, 1.1], "two normal": [0.97, 0.9, 1.1], "two spin": [1.0, 1.0, 1.0],
            "oversubscribed mutex short": [1.1, 1.0, 1.2, 10, 20]},
    "tatas": {"one normal": [4.0, 3.9, 4.2], "two normal": [1.05, 1.04, 1.06], "two trylock": [0.9, 0.8, 1.2],
              "oversubscribed mutex short": [0.8, 0.7, 0.85, 1500, 2e6]},
    "ticket": {"one normal": [1.0, 0.9, 1.1], "two normal": [1.02, 1.01, 1.03],
               "oversubscribed mutex short": [0.1, 0.1, 0.1, 1, 1]},
}


LOADING = [(400, 440), (410, 460), (390, 420), (500, 2000), (400, 450)]


def test_time_must_not_be_longer():
    for numbers, noise, expected in (([1.0, 0.9, 1.3], 0, KEPT), ([1.01, 0.99, 1.02], 0, UNSETTLED),
                                     ([1.02, 1.01, 1.03], 0, MISSED), ([1.02, 1.01, 1.03], 0.02, UNSETTLED)):
        assert lock_costs.at_most_one(numbers, noise) == expected, numbers


def test_throughput_must_not_be_lower():
    for numbers, noise, expected in (([1.0, 0.7, 1.1], 0, KEPT), ([0.99, 0.9, 1.01], 0, UNSETTLED),
                                     ([0.98, 0.9, 0.99], 0, MISSED), ([0.98, 0.9, 0.99], 0.02, UNSETTLED)):
        assert lock_costs.at_least_one(numbers, noise) == expected, numbers


def test_noise_counts_in_both_directions():
    assert lock_costs.noise_of([0.97, 0, 0]) == pytest.approx(0.03)
    assert lock_costs.noise_of([1.03, 0, 0]) == pytest.approx(0.03)
    assert lock_costs.noise_of(None) == 0


def test_goals_are_counted_by_design():
    assert lock_costs.UNCONTENDED_GOAL.cells(MEASURED)[1:] == [
        ["tatas", "1", "0", "1"], ["ticket", "0", "1", "0"]]


def test_a_goal_is_for_its_designs():
    assert lock_costs.OVERSUBSCRIBED_GOAL.verdicts(MEASURED) == {("tatas", "mutex short"): MISSED}


def test_a_row_a_design_and_a_column_for_what_is_replaced():
    cells = lock_costs.rows(MEASURED, "two", lock_costs.OPERATIONS, lock_costs.ratio_text, lock_costs.UNCONTENDED_GOAL)
    assert cells == [["", "normal", "trylock"], [NOISE, "0.97 ±0.10", "-"],
                             ["tatas", "1.05 ±0.01!", "0.90 ±0.20"], ["ticket", "1.02 ±0.01", "-"]]


def test_a_reference_has_no_goal_and_no_row_where_it_is_not_measured():
    measured = {**MEASURED, JUMP: {"two normal": [1.5, 1.4, 1.6]}}
    cells = lock_costs.rows(measured, "two", lock_costs.OPERATIONS, lock_costs.ratio_text, lock_costs.UNCONTENDED_GOAL)
    assert cells[-1] == [JUMP, "1.50 ±0.10", "-"]
    assert JUMP not in [row[0] for row in lock_costs.UNCONTENDED_GOAL.cells(measured)]
    assert JUMP not in [row[0] for row in lock_costs.rows(measured, "oversubscribed", lock_costs.CONTENDED, lock_costs.ratio_text)]


def test_a_page_names_those_of_other_cpus():
    text = lock_costs.document(ORIGIN, MEASURED, {}, LOADING, ["lock-costs-amd.md"])
    assert "[lock-costs-amd.md](lock-costs-amd.md)" in text
    assert "other CPUs" not in lock_costs.document(ORIGIN, MEASURED, {}, LOADING)


def test_waits_have_units():
    assert lock_costs.waits_text([0, 0, 0, 1500, 2e6]) == "1.5 ms (2 s)"
    assert lock_costs.duration(12.34) == "12.3 us"


def test_loading_is_what_neighbours_differ_by():
    assert lock_costs.loading_cells(LOADING)[1:] == [
        ["a program that ends at once", "400 us"], ["added by loading the library", "50 ±5 us"]]


def test_what_nobody_replaces_is_named():
    left = lock_costs.not_replaced(MEASURED)
    assert "spin" in left
    assert "normal" not in left


def test_says_where_the_numbers_come_from_and_how_to_get_them():
    text = lock_costs.document(ORIGIN, MEASURED, {"tatas": "what the launcher said"}, LOADING)
    for part in ("abc of 2020-01-01", "A CPU", "make bench-locks", "| tatas | 4.00 ±0.15 |", "tatas: what the launcher said",
                 "No design replaces: recursive", "0.80 ±0.08!", "| added by loading the library | 50 ±5 us |"):
        assert part in text
    assert "of the full size" not in text
    assert max(map(len, text.splitlines())) <= 200


def test_designs_are_those_of_the_help():
    text = "  --locks TEXT     designs, separated by commas\n      (default: pthread,tatas,\n      htm-10)\n  --wait (default: park)\n"
    assert host.designs_in(text) == ["pthread", "tatas", "htm-10"]
    assert host.designs_in("no such option (default: x)") == []


def test_a_page_is_there_as_a_whole_or_not_at_all(folder):
    host.write_page(folder / "page.md", "text")
    assert [path.name for path in folder.iterdir()] == ["page.md"]
    (folder / "taken.md").mkdir()
    with pytest.raises(host.Failed):
        host.write_page(folder / "taken.md", "text")
    assert sorted(path.name for path in folder.iterdir()) == ["page.md", "taken.md"]
