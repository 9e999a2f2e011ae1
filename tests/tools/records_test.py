# SPDX-License-Identifier: Apache-2.0
"""Records beside the machines that describe them: which figures are compared, what is near enough, and the section of the page."""

import tomllib

import pytest
import records
from support import ROOT

RECORD = tomllib.loads((ROOT / "repro/silicon/intel-6-167-1-2026-11-23-3.toml").read_text())


def quantiles(median, width=0.0):
    return [median - width, median - width, median, median + width, median + width]


def test_jobs_have_the_records_arguments_and_timed_ones_run_shorter():
    jobs = {job.name: job for job in records.jobs_of(RECORD)}
    assert set(jobs) == set(RECORD["jobs"])
    assert jobs["instructions"].arguments == ("100000",)
    assert jobs["bank_a_2_seconds"].arguments == ("2", "seconds", "0.004", "A")
    assert jobs["onelock_map"].arguments[-2:] == ("--seconds", "0.004")
    assert jobs["packets"].compared == ("--metric", "throughput: ([0-9.]+)", "--wait", "park")


@pytest.mark.parametrize(("figure", "kind"), [
    ("instructions: pause", "latency"), ("spurious: aborts_per_million", "rate"), ("write_set: largest_kilobytes", "latency"),
    ("conflicts: read_write_shared_abort_percent", "percent"), ("conflicts: read_write_shared_tenths_abort_percent", None),
    ("conflict_cost: aborted", "latency"), ("conflict_cost: aborted_missing", "latency"), ("conflict_cost: aborted_dropped", None),
    ("aborted_lines: load_flushed", "latency"), ("commit_cost: plain_missing_8", "latency"), ("early_loads: two_atomics", "latency"), ("bank_a_2_seconds: million_per_second", "rate"),
    ("bank_a_2_seconds: transactions", None), ("read_set_small: commit_percent_at_0.02_megabytes", None),
    ("updates_physics_lock: seconds", None), ("updates_physics_lock: throughput", "rate"), ("kernel_costs: call_ticks", "latency"),
    # Facts of the description, and glibc beside itself.
    ("clock: ticks_a_microsecond", None), ("clock: cycles_per_tick", None), ("lock_costs: one normal", None),
])
def test_a_figure_has_the_kind_of_its_pattern(figure, kind):
    assert records.kind_of(*figure.split(": "))[0] == kind


def test_what_is_near_depends_on_the_kind():
    assert records.near("latency", 115, 100, 100, 100)
    assert not records.near("latency", 116, 100, 100, 100)
    assert records.near("latency", 140, 90, 100, 140)  # between the quartiles
    assert records.near("rate", 125, 100, 100, 100)
    assert records.near("percent", 2.5, 1, 1, 1)
    assert not records.near("rate", 2.5, 1, 1, 1)


def test_rows_take_the_position_that_counts():
    record = {"jobs": {"conflict_cost": {"figures": {"plain": [quantiles(9), quantiles(100), quantiles(999)]}},
                       "handover": {"figures": {"store_ticks": [quantiles(50), quantiles(1)]}}}}
    samples = {"conflict_cost": {"plain": [1.0, 120.0, 1.0]}, "handover": {"store_ticks": [50.0, 99.0]}}
    rows = records.rows_of(record, samples, {("handover", "store_ticks", 0)})
    assert [(row.name, row.virtual, row.verdict, row.fitted) for row in rows] == [
        ("plain", 120.0, records.MISSES, False), ("store_ticks [0]", 50.0, records.MEETS, True)]


VALUES = {"pthread.result": 2.0, "pthread.acquisitions": 10, "pthread.commits": 0, "pthread.fallbacks": 0, "pthread.speculations": 0,
          "htm-10.result": 5.0, "htm-10.acquisitions": 10, "htm-10.commits": 90, "htm-10.fallbacks": 10, "htm-10.speculations": 0,
          "htm-10.aborts.conflict": 30,
          "tatas-aahtm.result": 1.0, "tatas-aahtm.acquisitions": 100, "tatas-aahtm.commits": 0, "tatas-aahtm.fallbacks": 0,
          "tatas-aahtm.speculations": 40, "tatas-aahtm.aborts.conflict": 40}


def test_cells_are_ratios_of_one_machine():
    assert records.cells_of(VALUES) == {
        ("htm-10", records.RATIO): 2.5, ("htm-10", "commits per begin"): 0.75, ("htm-10", "fall-backs per section"): 0.1,
        ("tatas-aahtm", records.RATIO): 0.5, ("tatas-aahtm", "speculations per section"): 0.4}


def compared_record():
    figures = {name: quantiles(number, 0.2 if name.endswith("result") else 0) for name, number in VALUES.items()}
    return {"jobs": {"a": {"compare": ["--wait", "park"], "figures": figures}}}


def test_a_ratio_may_lie_within_the_quartiles_of_both_throughputs():
    [ratio] = [cell for cell in records.compared_cells(compared_record(), {"a": {name: [number] for name, number in VALUES.items()}})
               if (cell.design, cell.what) == ("htm-10", records.RATIO)]
    assert ratio.real == (4.8 / 2.2, 2.5, 5.2 / 1.8)
    assert ratio.met


def test_a_design_that_did_not_run_to_its_end_misses():
    samples = {"a": {name: [number] for name, number in VALUES.items() if not name.startswith("tatas-aahtm")}}
    cells = {(cell.design, cell.what): cell for cell in records.compared_cells(compared_record(), samples)}
    stopped = cells["tatas-aahtm", records.RATIO]
    assert stopped.virtual is None
    assert not stopped.met
    assert "1 designs of jobs did not run" in " ".join(records.summary([], list(cells.values()), (0, 0, [])))
    assert records.cell_text(stopped) == "**0.5 / -**"


def cell_of(changes, design, what):
    samples = {"a": {name: [number] for name, number in {**VALUES, **changes}.items()}}
    [cell] = [cell for cell in records.compared_cells(compared_record(), samples) if (cell.design, cell.what) == (design, what)]
    return cell


def test_a_design_whose_transactions_all_abort_falls_back_always():
    none_commits = {"htm-10.commits": 0, "htm-10.acquisitions": 100, "htm-10.fallbacks": 100}
    commits, fall_backs = (cell_of(none_commits, "htm-10", what) for what in ("commits per begin", "fall-backs per section"))
    assert (commits.virtual, commits.met) == (0, False)
    assert (fall_backs.virtual, fall_backs.met) == (1, False)


def test_a_design_that_begins_nothing_has_no_rates_and_misses():
    nothing = {"htm-10.commits": 0, "htm-10.acquisitions": 100, "htm-10.aborts.conflict": 0}
    for what in ("commits per begin", "fall-backs per section"):
        assert (cell_of(nothing, "htm-10", what).virtual, cell_of(nothing, "htm-10", what).met) == (None, False)
    assert "did not run" not in " ".join(records.summary([], [cell_of(nothing, "htm-10", "commits per begin")], (0, 0, [])))


def test_no_speculation_is_a_rate_of_0():
    assert cell_of({"tatas-aahtm.speculations": 0}, "tatas-aahtm", "speculations per section").virtual == 0


def test_the_order_counts_where_the_quartiles_are_apart():
    samples = {"a": {**{name: [number] for name, number in VALUES.items()}, "tatas-aahtm.result": [3.0]}}
    assert records.order_of(compared_record(), samples) == (2, 3, [("a", "pthread", "tatas-aahtm")])
    wide = compared_record()
    wide["jobs"]["a"]["figures"]["tatas-aahtm.result"] = quantiles(1.0, 0.9)
    assert records.order_of(wide, samples)[:2] == (2, 2)


def test_a_section_is_put_before_the_published_figures_and_replaced():
    page = f"{records.TITLE}\n\nOld text.\n"
    once = records.splice(page, [records.HEADING, "", "first", ""])
    twice = records.splice(once, [records.HEADING, "", "second", ""])
    assert once.index("first") < once.index(records.PUBLISHED) < once.index("Old text.")
    assert twice == once.replace("first", "second")
    with pytest.raises(records.BadRecord):
        records.splice("# Something else\n", [])


def test_the_section_counts_what_was_not_fitted_apart():
    record = {"jobs": {"instructions": {"figures": {"pause": quantiles(10), "rdtsc": quantiles(10)}}}}
    rows = records.rows_of(record, {"instructions": {"pause": [10.0], "rdtsc": [20.0]}}, {("instructions", "pause", 0)})
    lines = records.section("r", "m", rows, [], (0, 0, []), [], ["because"])
    assert lines[2].startswith("0 of 1 costs and latencies that nothing was searched on meet")
    assert "1 of 1" in lines[2]
    assert any(line.endswith("| fitted |") for line in lines)
    assert lines[-1] == "- because"


def test_other_records_of_the_part_stand_beside_the_virtual_machine():
    other = tomllib.loads((ROOT / "repro/silicon/intel-6-167-1-2026-11-26.toml").read_text())
    assert records.is_same_part(RECORD, other)
    assert not records.is_same_part(RECORD, {"host": {"cpu": {**other["host"]["cpu"], "stepping": 2}}})
    virtual = {what: (1, 2) for what in (records.COSTS, records.OTHER_RATES, records.RATIO, *records.RATES, records.ORDER)}
    lines = records.other_days(RECORD, virtual, {"itself": RECORD, "later": other}, set())
    cells = [[cell.strip() for cell in line.split("|")[2:-1]] for line in lines if not line.startswith("|--")]
    assert cells[1] == ["1 of 2"] * 7
    assert all(met == of for met, of in (cell.split(" of ") for cell in cells[2]))
    assert all(int(met) < int(of) for met, of in (cell.split(" of ") for cell in cells[3]))
