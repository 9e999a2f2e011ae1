# SPDX-License-Identifier: Apache-2.0
"""Rates, tables and the page of tools/bench, on made-up measurements whose answer is known."""

import performance
import pytest
from performance import AccessCost, NoDifference, OrderCost, Origin, Row, Sample, Scaling

ORIGIN = Origin("abc of 2020-01-01", "A CPU", 2, "Linux 6", "g++ 1, Release", 0.25, 1.0)
ROWS = [Row("fast", 2.0, 8.0, 3.0, 50.0, 12.4), Row("slow", 0.5, 8.0, 1.0, 50.0, -1.0)]


def test_start_up_cancels_out():
    start = Sample(3.0, 1000, 100, 10**6)
    large = Sample(3.0 + 1.0, 1000 + 10**7, 100 + 10**6, 10**6 + 10**8)
    small = Sample(3.0 + 0.1, 1000 + 10**6, 100 + 10**5, 10**6 + 10**7)
    found = performance.between(large, small)
    assert found.cpu_seconds == pytest.approx(0.9)
    assert (found.events, found.changes, found.instructions) == (9 * 10**6, 9 * 10**5, 9 * 10**7)
    assert performance.between(start, Sample(0.0)) == start


def test_runs_that_do_not_differ_say_nothing():
    with pytest.raises(NoDifference):
        performance.between(Sample(1.0), Sample(1.0))
    with pytest.raises(NoDifference):
        performance.nanoseconds_each(1.0, 0)


def test_change_costs_what_events_do_not_explain():
    private = Sample(1.0, events=10**7)                 # 100 ns each
    shared = Sample(1.0, events=10**6, changes=2 * 10**6)  # 0.1 s of events, 0.9 s of changes
    cost = performance.order_cost(8, private, shared)
    assert cost.event == pytest.approx(100)
    assert cost.contended == pytest.approx(1000)
    assert cost.change == pytest.approx(450)
    assert cost.changes_per_event == pytest.approx(2)


def test_accesses_cost_what_more_of_them_add():
    found = performance.access_cost("a load", 150, (100, 51_000, 900, 80), (300, 81_000, 1100, 90), 12.5)
    assert (found.instructions, found.misses, found.far_misses, found.nanoseconds) == (150, 1, 0.05, 12.5)


@pytest.mark.parametrize("kind, misses, right", [
    ("l2", [95, 0, 0], True), ("l2", [80, 0, 0], False), ("store", [95, 1, 0], False), ("stream", [2, 0, 0], True), ("l3", [99, 95, 0], True),
    ("l3", [99, 80, 0], False), ("l3", [99, 95, 1], False)])
def test_accesses_reach_the_level_of_their_name(kind, misses, right):
    assert performance.reaches(kind, 100, misses) == right


@pytest.mark.parametrize("instructions, most, text", [(150, 150, "150 (at most 150: kept)"), (151, 150, "151 (at most 150: missed)"), (151, 0, "151")])
def test_accesses_are_held_against_their_aim(instructions, most, text):
    assert performance.access_cells([AccessCost("a load", instructions, 1, 0, 10, most)])[1] == ["a load", text, "1.0", "0.00", "10 ns"]


def test_scaling_is_by_instruction():
    found = performance.scaling({8: Sample(1.0, instructions=10**9), 72: Sample(3.0, instructions=2 * 10**9)})
    assert found.by_threads == {8: 1.0, 72: 1.5}
    assert found.ratio == pytest.approx(1.5)


def test_geometric_mean():
    assert performance.geometric_mean([4, 16]) == pytest.approx(8)


def test_cpu_model():
    assert performance.cpu_model("processor\t: 0\nmodel\t: 79\nmodel name\t: Some CPU @ 2 GHz \nflags: x\n") == "Some CPU @ 2 GHz"
    assert performance.cpu_model("processor: 0\n") == "unknown"


def test_cmake_cache():
    text = "// CMAKE_BUILD_TYPE\nCMAKE_BUILD_TYPE:STRING=Release\nX_CMAKE_BUILD_TYPE:STRING=no\n"
    assert performance.cached("CMAKE_BUILD_TYPE", text) == "Release"
    assert performance.cached("CMAKE_CXX_COMPILER", text) == ""


def test_programs():
    assert performance.plain(performance.program_cells(ROWS)) == [
        "program         native  elision vm  vm --fast  cachegrind  vm memory",
        "fast            2.00 s        4.0x       1.5x       25.0x     +12 MB",
        "slow            0.50 s       16.0x       2.0x      100.0x      -1 MB",
        "geometric mean                8.0x       1.7x       50.0x"]


def test_markdown_has_a_cell_for_each_column():
    lines = performance.markdown(performance.order_cells([OrderCost(72, 50.4, 300, 249.6, 1.0)]))
    assert {line.count("|") for line in lines} == {6}
    assert lines[2] == "| 72 | 50 ns | 300 ns | 1.00 | 250 ns |"


def test_scaling_names_its_aim_and_whether_it_is_met():
    for many, verdict in ((2.0, "kept"), (2.01, "missed")):
        assert f"(at most 2x: {verdict})" in performance.scaling_cells(Scaling({8: 1.0, 72: many}))[-1][1]


def page(scale=1.0):
    origin = Origin(**{**vars(ORIGIN), "scale": scale})
    return performance.document(origin, ROWS, [AccessCost("a load", 1000, 2, 0.5, 100, 150)], [OrderCost(2, 1, 2, 3, 4)], Scaling({8: 1.0, 72: 1.5}))


def test_says_where_the_numbers_come_from_and_how_to_get_them():
    for part in ("abc of 2020-01-01", "A CPU", "| CPUs | 2 |", "Linux 6", "g++ 1, Release", "| load before | 0.2 |", "make bench", "| fast |",
                 "| 2 | 1 ns |", "1.50x"):
        assert part in page()


def test_a_smaller_size_is_said():
    assert "at 0.1 of the full size" in page(0.1)
    assert "of the full size" not in page()


def test_lines_are_not_too_long():
    assert max(map(len, page().splitlines())) <= 120
