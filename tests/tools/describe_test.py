# SPDX-License-Identifier: Apache-2.0
"""From a record to a machine file: the search on made-up probes with a known answer, the table of parameters, and the file."""

import re
import subprocess
import sys
import tomllib

import describe
import pytest
import silicon
from describe import Figure, Found, Row
from support import ROOT

LIKE = tomllib.loads((ROOT / "machines/xeon-gold-5520plus.toml").read_text())
RECORD = tomllib.loads((ROOT / "repro/silicon/intel-6-167-1-2026-11-23-3.toml").read_text())


def record_of(**figures):
    """A record with one job "p", whose figures have quartiles 1 % around these medians."""
    rows = {name: [0, median * 0.99, median, median * 1.01, 0] for name, median in figures.items()}
    return {"jobs": {"p": {"figures": rows}}}


def fit(rows, record, start, figures_of):
    runs = []

    def run(_job, _arguments, values):
        runs.append(dict(values))
        return {name: [figure] for name, figure in figures_of(values).items()}

    return describe.fit(rows, record, start, run), runs


def row(parameter, name=None, **how):
    return Row(parameter, Figure("p", name or parameter), "made up", **how)


@pytest.mark.parametrize(("figure_at", "answer"), [
    (lambda value: value + 3, 190),
    (lambda value: 0.5 * value + 40, 31),
    (lambda value: 5 * value, 8),
    (lambda value: 900 - value, 222),
    (lambda value: 4000 / value, 13),
    (lambda value: max(value, 60) ** 1.5, 95),
])
def test_the_search_finds_the_value_of_a_monotone_figure(figure_at, answer):
    found, runs = fit([row("a", least=1)], record_of(a=figure_at(answer)), {"a": 20}, lambda values: {"a": figure_at(values["a"])})
    assert abs(found["a"].value - answer) <= 2  # where the figure is within half a percent
    assert found["a"].agrees
    assert len(runs) < 25


def test_a_first_step_in_the_wrong_direction_ends_no_search():
    def figure_at(value):
        return max(4.0, 66 / value)

    found, _ = fit([row("a", least=1, most=64)], record_of(a=figure_at(12)), {"a": 6}, lambda values: {"a": figure_at(values["a"])})
    assert found["a"].value == 12


def test_figures_that_depend_on_two_values_are_told_apart():
    def figures(values):
        return {"a": values["a"] + 0.3 * values["b"], "b": values["b"] + 0.3 * values["a"]}

    found, _ = fit([row("a"), row("b")], record_of(**figures({"a": 70, "b": 30})), {"a": 20, "b": 90}, figures)
    assert (found["a"].value, found["b"].value) == (70, 30)


def test_a_value_that_its_figure_does_not_show_is_not_determined():
    entries = {"a": {"value": 5, "source": "s"}}
    for shown in (4.0, 9.0):  # what the record has, and what it does not have
        found, _ = fit([row("a", least=1)], record_of(a=4.0), {"a": 5}, lambda values, shown=shown: {"a": shown})
        assert found["a"].slope is None
        assert describe.with_found(entries, [row("a")], found, record_of(a=4.0), "r") == entries


def test_other_searches_run_with_the_first_value_of_one_that_is_not_determined():
    others = Row("b", Figure("q", "b"), "made up")
    record = {"jobs": {"p": record_of(a=9.0)["jobs"]["p"], "q": record_of(b=75.0)["jobs"]["p"]}}
    values_seen = []

    def run(job, _arguments, values):
        if job == "q":
            values_seen.append(values["a"])
        return {"a": [4.0], "b": [values["a"] + values["b"]]}

    found = describe.fit([row("a", least=1), others], record, {"a": 5, "b": 10}, run)
    assert set(values_seen) == {5}
    assert found["b"].value == 70


def test_a_record_out_of_reach_is_said_to_differ():
    found, _ = fit([row("a", most=50)], record_of(a=100.0), {"a": 20}, lambda values: {"a": values["a"]})
    assert found["a"].value == 50
    assert not found["a"].agrees


def searched(figure_at, target, start):
    """A Search after its last run."""
    search = describe.Search(row("a", least=1), start, (target, target, target))
    for _ in range(12):
        search.note(figure_at(search.value))
        if not search.step():
            break
    return search


@pytest.mark.parametrize(("start", "answer", "most"), [(40, 55, 60), (60, 95, 100)])
def test_the_search_turns_back_where_a_probe_prints_no_figure(start, answer, most):
    search = searched(lambda value: 0.02 * value**2 if value <= most else None, 0.02 * answer**2, start)
    assert search.silent
    assert search.value == answer


def test_a_search_that_is_cut_off_without_a_figure_ends_at_the_nearest():
    search = describe.Search(row("a"), 20, (90.0, 90.0, 90.0))
    search.note(20.0)
    assert search.step()
    search.note(None)
    assert (search.ended().value, search.ended().figure) == (20, 20.0)


def test_no_figure_for_another_searchs_value_makes_no_value_silent():
    search = describe.Search(row("a"), 20, (20.0, 20.0, 20.0))
    search.note(20.0)
    search.note(None)
    assert not search.silent
    assert search.figure == 20.0


def test_values_without_a_figure_are_left_before_others_are_halved():
    def figures(values):
        return {"a": values["a"], "b": 0.3 * values["b"]} if values["b"] <= 60 else {}

    found, _ = fit([row("a", most=50), row("b", least=1)], record_of(a=100.0, b=0.3 * 95), {"a": 20, "b": 20}, figures)
    assert (found["a"].value, found["b"].value) == (50, 60)


def test_the_start_of_a_search_needs_a_figure():
    with pytest.raises(describe.BadRecord, match="prints no p: a with a = 20"):
        fit([row("a")], record_of(a=5.0), {"a": 20}, lambda values: {})
    with pytest.raises(describe.BadRecord, match="prints no p: a with a = kept"):
        fit([row("a", words=("kept", "lost"))], record_of(a=5.0), {"a": "kept"}, lambda values: {})


def test_halving_stays_where_there_are_figures():
    found = describe.by_halves(lambda value: 2.0 * value if value <= 30 else None, row("a"), 24, (80.0, 80.0, 80.0))
    assert (found.value, found.agrees) == (30, False)
    with pytest.raises(describe.BadRecord):
        describe.by_halves(lambda value: None, row("a"), 24, (80.0, 80.0, 80.0))
    runs = []

    def with_a_gap(value):
        runs.append(value)
        return None if 33 <= value <= 39 else 2.0 * value

    assert describe.by_halves(with_a_gap, row("a"), 24, (80.0, 80.0, 80.0)).value == 48
    assert runs[-1] == 36


def test_a_word_without_a_figure_is_not_chosen():
    found, _ = fit([row("a", words=("kept", "lost"))], record_of(a=75.0), {"a": "kept"},
                   lambda values: {"a": 16.0} if values["a"] == "kept" else {})
    assert found["a"].value == "kept"


def test_the_nearer_word_is_chosen():
    rows = [row("a", words=("kept", "lost"))]
    for figure, word in ((15.0, "kept"), (70.0, "lost")):
        found, _ = fit(rows, record_of(a=figure), {"a": "kept"}, lambda values: {"a": 16.0 if values["a"] == "kept" else 75.0})
        assert found["a"].value == word


def test_levels_of_memory_stay_in_order_during_the_search():
    base = {level: {"best": value} for level, value in zip(describe.LEVELS, (5, 12, 30.5, 100.0))}
    base["clock.core_mhz"] = {"value": 2000}
    assert describe.consistent({"l2.latency_cycles": 90, "other": 1}, base) == {
        "l1d.latency_cycles": 5, "l2.latency_cycles": 90, "l3.latency_ns": 45, "memory.latency_ns": 100.0, "other": 1}
    assert describe.consistent({"l3.latency_ns": 120.5}, base)["memory.latency_ns"] == 120.5


def test_nanoseconds_are_searched_in_tenths():
    assert describe.units_of("l3.latency_ns", 24.3) == 243
    assert describe.value_in_units("l3.latency_ns", 243) == 24.3
    assert describe.units_of("l2.latency_cycles", 12) == describe.value_in_units("l2.latency_cycles", 12) == 12
    assert describe.units_of("transactions.aborted_lines", "l1") == "l1"
    assert describe.toml_value(24.3) == "24.3"


def test_the_interval_reaches_from_quartile_to_quartile():
    one = Found(50, 100.0, 2.0, True)
    assert describe.interval(row("a"), one, (80.0, 100.0, 130.0)) == (40, 65)
    assert describe.interval(row("a"), Found(50, 100.0, -2.0, True), (80.0, 100.0, 130.0)) == (35, 60)
    assert describe.interval(row("a"), one, (100.0, 100.0, 100.0)) == (49, 51)  # as near as figures agree
    assert describe.interval(row("a", least=45, most=60), one, (80.0, 100.0, 130.0)) == (45, 60)


def test_every_field_of_a_description_has_one_place_in_the_tables():
    determined, fields = {one.parameter for one in describe.rows()}, set(describe.entries_of(LIKE))
    places = [determined, set(describe.FACTS), set(describe.UNDETERMINED)]
    assert set().union(*places) == fields
    assert sum(map(len, places)) == len(fields)


def test_only_probes_determine_anything():
    programs = {job.name: job.program for job in silicon.plan(False)}
    used = {programs[one.figure.job] for one in describe.rows()}
    assert all(program.startswith("workloads/probes/") for program in used)
    assert "workloads/probes/bank" not in used


def test_a_row_counts_if_the_record_has_its_figure_and_none_before_it():
    chosen = {one.parameter: str(one.figure) for one in describe.chosen_rows(RECORD)}
    assert chosen["coherence.upgrade_ns"] == "conflict_cost: plain [1]"
    assert chosen["transactions.commit_cycles"] == "vulnerable_window: read_0_window_percent_length"
    assert chosen["transactions.begin_cycles"] == "empty_transaction: commit_cycles"
    assert "tlb.walk_cycles" not in chosen
    newer = {"jobs": {**RECORD["jobs"], "transaction_parts": {"figures": {"begin_ticks": [9, 9, 9, 9, 9]}}}}
    chosen = {one.parameter: str(one.figure) for one in describe.chosen_rows(newer)}
    assert chosen["transactions.begin_cycles"] == "transaction_parts: begin_ticks"
    assert chosen["transactions.commit_cycles"] == "empty_transaction: commit_cycles"


def test_a_spread_is_the_distance_of_the_outer_quantiles():
    figure = Figure("p", "a", spread=True)
    assert figure.of_sample({"a": [90.0, 100.0, 130.0]}) == 40
    record = {"jobs": {"p": {"figures": {"a": [[0, 80, 90, 95, 0], [0, 100, 100, 100, 0], [0, 120, 130, 140, 0]]}}}}
    assert figure.of_record(record) == (40, 40, 45)


def test_there_is_no_spread_around_0():
    figure = Figure("p", "a", spread=True)
    assert figure.of_sample({"a": [0.0, 0.0, 5.0]}) is None
    assert figure.of_record({"jobs": {"p": {"figures": {"a": [[0] * 5, [0] * 5, [0, 1, 2, 3, 4]]}}}}) is None


def without(record, **host):
    return {**record, "host": {**record["host"], **host}}


@pytest.mark.parametrize(("record", "said"), [
    ({}, "not a record"), ({**RECORD, "format": 2}, "not a record"), ({**RECORD, "jobs": {}}, "not a record"),
    (without(RECORD, caches_by_cpuid=[]), "no host.caches_by_cpuid"),
    (without(RECORD, caches_by_cpuid=RECORD["host"]["caches_by_cpuid"][1:]), "no cache of level 1, data"),
    (without(RECORD, topology_by_cpuid=[]), "no host.topology_by_cpuid"), (without(RECORD, cpu={"brand": "b"}), "no host.cpu.family")])
def test_what_a_record_lacks_is_named(record, said):
    with pytest.raises(describe.BadRecord, match=said):
        describe.check_record(record)


def test_committed_records_and_machines_lack_nothing():
    describe.check_record(RECORD)
    for path in sorted((ROOT / "machines").glob("*.toml")):
        describe.check_like(tomllib.loads(path.read_text()))


@pytest.mark.parametrize("machine", sorted((ROOT / "machines").glob("*.toml")), ids=lambda path: path.stem)
def test_a_source_can_be_taken_over_into_another_file(machine):
    """A described machine has the sources of the one that it starts from, but other values around them."""
    sources = [entry.get("source") or "" for entry in describe.entries_of(tomllib.loads(machine.read_text())).values()]
    assert [source for source in sources if re.search(r"\babove\b", source)] == []


def test_a_field_that_a_machine_lacks_is_named():
    with pytest.raises(describe.BadRecord, match="no clock.core_mhz"):
        describe.check_like({**LIKE, "clock": {"frequency_mhz": 2000}})


def test_a_machine_of_another_format_is_refused_in_one_line(build, tmp_path):
    old = tmp_path / "old.toml"
    old.write_text('name = "old"\n[l3]\nsize_mb = 30\n')
    words = [sys.executable, "-B", ROOT / "tools/describe-machine", "--build", build, "--like", old, "--output", tmp_path / "new.toml"]
    done = subprocess.run([*words, ROOT / "repro/silicon/intel-6-167-1-2026-11-23-3.toml"], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "old.toml: the machine file has no " in done.stderr


def test_the_counters_frequency_follows_from_the_steps_of_the_clock():
    assert describe.megahertz_of(RECORD)[0] == 2600
    still = {"jobs": {"a": {"clock_cycles_a_tick": [0.9] * 5}}}
    assert describe.megahertz_of(still) is None
    told = {"jobs": {**RECORD["jobs"], "clock": {"figures": {"ticks_a_microsecond": [2199.8] * 5}}}}
    assert describe.megahertz_of(told)[0] == 2200


def test_an_l3_that_loads_miss_is_not_what_cpuid_says():
    l3 = next(cache for cache in RECORD["host"]["caches_by_cpuid"] if cache["level"] == 3)
    assert l3["size"] == "491520K"
    assert describe.l3_of(RECORD, l3)[0] == 16384
    assert describe.l3_of(RECORD, {**l3, "size": "53760K"})[0] == 53760


def test_slices_have_a_power_of_two_of_sets():
    assert describe.slices_of(53760, 15, 2048) == 28
    assert describe.slices_of(491520, 16, 4096) == 120
    assert describe.slices_of(16384, 16, 4096) == 4
    assert describe.slices_of(8192, 16, 64) == 8  # fewer sets would be too few
    with pytest.raises(describe.BadRecord):
        describe.slices_of(53761, 15, 2048)


def test_the_file_says_what_the_entries_say():
    entries = describe.with_facts(describe.entries_of(LIKE), describe.facts_of(RECORD, describe.entries_of(LIKE)), "r")
    text = describe.render(entries, ["a comment with a \"quote\""])
    assert describe.entries_of(tomllib.loads(text)) == entries
    assert tomllib.loads(text)["topology"]["cores"]["value"] == 2
    quoted = {"a.b": {"value": 'with "quotes" and \\', "source": "s"}}
    assert describe.entries_of(tomllib.loads(describe.render(quoted, []))) == quoted


def test_what_is_not_determined_is_listed_with_a_reason():
    chosen = describe.chosen_rows(RECORD)
    found = {one.parameter: Found(1, 1.0, None if one.parameter == "l1d.latency_cycles" else 1.0, True) for one in chosen}
    entries = describe.entries_of(LIKE)
    left = dict(describe.undetermined(entries, chosen, found, describe.facts_of(RECORD, entries)))
    assert left["l1d.latency_cycles"] == "loads: l1_cycles does not respond to it"
    assert left["tlb.walk_cycles"] == "the record has no page_walks: walk_ticks"
    assert left["numa.hop_ns"] == "needs two sockets"
    assert "memory.latency_ns" not in left
    assert "l2.size_kb" not in left
