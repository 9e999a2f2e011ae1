# SPDX-License-Identifier: Apache-2.0
"""Claims judged on made-up measurements: each part of each claim can make it fail."""

import dataclasses
import re
import tomllib

import arraybench
import barrier
import cells
import pytest
import sensitivity
from arraybench import AUTHORS, MOST_THREADS, PAPER, Cell, Measurement, Result
from support import ROOT

# Throughputs under which every claim holds.
PAPER_LIKE = {
    (10, "low"): {"pthread": 5, "tatas": 6, "ticket": 4, "htm-1": 3, "htm-10": 20, "tatas-aahtm": 9, "ticket-aahtm": 8},
    (10, "high"): {"pthread": 4, "tatas": 5, "ticket": 3, "htm-1": 2, "htm-10": 4, "tatas-aahtm": 6, "ticket-aahtm": 5},
    (100, "low"): {"pthread": 3, "tatas": 3, "ticket": 2, "htm-1": 1, "htm-10": 3, "tatas-aahtm": 4, "ticket-aahtm": 5},
    (100, "high"): {"pthread": 3, "tatas": 3, "ticket": 2, "htm-1": 1, "htm-10": 2, "tatas-aahtm": 4,
                    "ticket-aahtm": 5},
}


def results(changes=None, opt=1.1, variation=0, form=PAPER, drawn=None):
    """PAPER_LIKE at every number of threads with `changes` {(writes, contention, design): throughput}; opt variants
    are `opt` times their plain form."""
    found = {}
    for (writes, contention), row in PAPER_LIKE.items():
        for design, throughput in row.items():
            throughput = (changes or {}).get((writes, contention, design), throughput)
            for threads in arraybench.THREADS:
                cell = Cell(writes, contention, threads, design, form=form, variation=variation)
                found[cell] = Result(throughput, drawn=drawn or {})
                found[dataclasses.replace(cell, opt=True)] = Result(throughput * opt, drawn=drawn or {})
    return found


def measurement(**how):
    return Measurement(results(**how))


def holds(claim, found, **where):
    """Whether the claim holds in the only variation."""
    judgement = arraybench.judge(found, claim, **where)
    assert judgement.variations == 1
    return judgement.holds_in == 1


LARGE_TICKET = "aahtm-array-large-ticket"
BEST_OF_FOUR = "aahtm-array-best-3-of-4"


@pytest.mark.parametrize("contention", ["low", "high"])
@pytest.mark.parametrize("throughput, expected", [(3.9, False), (4.0, True), (6.0, True), (6.1, False)])
def test_large_ticket_has_two_ends(throughput, expected, contention):
    assert holds(LARGE_TICKET, measurement(changes={(100, contention, "ticket-aahtm"): throughput})) == expected


def test_large_ticket_is_not_about_small_sections():
    assert holds(LARGE_TICKET, measurement(changes={(10, "low", "ticket-aahtm"): 1}))


def test_best_of_four_holds():
    assert holds(BEST_OF_FOUR, measurement())


@pytest.mark.parametrize("cell, throughput", [
    pytest.param((10, "high", "htm-10"), 5.9, id="less than 10 % ahead"),
    pytest.param((10, "high", "tatas-aahtm"), 16, id="more than 200 % ahead"),
    pytest.param((100, "low", "htm-10"), 5.1, id="an elided lock wins"),
    pytest.param((100, "high", "pthread"), 6, id="a plain lock wins"),
    pytest.param((10, "low", "tatas-aahtm"), 21, id="htm-10 does not win its configuration"),
    pytest.param((10, "low", "htm-1"), 4.1, id="htm-1 is not below the plain locks")])
def test_each_part_of_best_of_four_can_fail_alone(cell, throughput):
    judgement = arraybench.judge(measurement(changes={cell: throughput}), BEST_OF_FOUR)
    assert sum(not column[0].holds for column in judgement.columns()) == 1


def test_opt_is_as_fast_as_without():
    claim = "aahtm-array-opt"
    assert holds(claim, measurement(opt=1.0))
    assert holds(claim, measurement(opt=0.975))  # within the spread
    assert not holds(claim, measurement(opt=0.96))


def varied(*throughputs):
    """ticket-aahtm's at 100 writes and low contention, by variation; ticket has 2."""
    found = {}
    for variation, throughput in enumerate(throughputs):
        found |= results({(100, "low", "ticket-aahtm"): throughput}, variation=variation)
    return Measurement(found)


def test_claim_is_judged_on_each():
    judgement = arraybench.judge(varied(4, 5, 3, 6), LARGE_TICKET)
    assert judgement.outcome() == "holds in 3 of 4"
    assert [arraybench.describe(column) for column in judgement.columns()] == [
        "3 of 4, 2.25x [1.50 - 3.00]", "4 of 4, 2.50x [2.50 - 2.50]"]


def test_ratios_are_paired():
    """Both designs ten times as fast on the second machine: no change of the ratio."""
    found = Measurement(results() | {
        dataclasses.replace(cell, variation=1): Result(10 * result.throughput)
        for cell, result in results().items()})
    assert "2.50x [2.50 - 2.50]" in arraybench.describe(arraybench.judge(found, LARGE_TICKET).columns()[0])


def test_who_wins_may_depend_on_the_machine():
    found = Measurement(results() | results({(10, "high", "ticket-aahtm"): 7}, variation=1))
    assert arraybench.compared(arraybench.judge(found, BEST_OF_FOUR)) == [
        "10 writes, high: an AAHTM lock is best by 10 % to 200 %: tatas-aahtm to tatas in 1; ticket-aahtm to tatas in 1",
        "100 writes, low: an AAHTM lock is best by 10 % to 200 %: ticket-aahtm to pthread",
        "100 writes, high: an AAHTM lock is best by 10 % to 200 %: ticket-aahtm to pthread",
        "10 writes, low: htm-10 is best: htm-10 to tatas-aahtm"]


def test_forms_are_judged_side_by_side():
    """In one form all claims hold; in the other, ticket-aahtm is too slow where contention is low."""
    found = Measurement(results(form=PAPER) | results({(100, "low", "ticket-aahtm"): 3}, form=AUTHORS))
    lines = arraybench.side_by_side(found, [(MOST_THREADS, PAPER), (4, PAPER), (MOST_THREADS, AUTHORS)])
    header, *rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    cells_in = {row[0]: row[1:] for row in rows}
    assert header == ["paper", "paper, 4 threads", "authors"]
    assert cells_in[LARGE_TICKET] == ["holds", "holds", "does not hold"]
    assert cells_in["100 writes, low: ticket-aahtm is 2x to 3x ticket"] == ["yes, 2.50x", "yes, 2.50x", "no, 1.50x"]
    assert cells_in["10 writes, low: htm-10 is best"] == ["yes, 2.22x"] * 3
    parts = {LARGE_TICKET: 2, BEST_OF_FOUR: 5, "aahtm-array-opt": 4}
    assert len(lines) == 1 + sum(1 + count for count in parts.values())


def test_columns_of_the_table_begin_at_one_place():
    lines = arraybench.side_by_side(varied(4, 5, 3), [(MOST_THREADS, PAPER)])
    column = lines[0].index("paper")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines[1:])


def spread(throughputs, drawn):
    found = {}
    for variation, throughput in enumerate(throughputs):
        found |= results({(100, "low", "ticket-aahtm"): throughput}, variation=variation, drawn=drawn(variation))
    return Measurement(found)


def test_values_that_a_ratio_follows_are_named():
    """The ratio falls with one value, and not with the others."""
    found = spread([5 - 0.3 * variation for variation in range(10)], lambda variation: {
        "a.slow": 100 + variation, "a.other": variation * 7 % 10, "a.fixed": 3})
    assert arraybench.dependences(found, LARGE_TICKET, PAPER) == [
        "100 writes, low: ticket-aahtm is 2x to 3x ticket: a.slow (-1.00)"]


def test_a_ratio_that_follows_nothing_says_so():
    found = spread([1, 2, 1, 2, 1, 2, 1, 2, 1, 2], lambda variation: {"a.slow": 100 + variation})
    assert arraybench.dependences(found, LARGE_TICKET, PAPER) == [
        "100 writes, low: ticket-aahtm is 2x to 3x ticket: no value stands out"]


def test_parts_that_hold_everywhere_depend_on_nothing():
    found = spread([4 + 0.1 * variation for variation in range(10)], lambda variation: {"a.slow": variation})
    assert arraybench.dependences(found, LARGE_TICKET, PAPER) == []


@pytest.mark.parametrize("x, y, expected", [
    ([1, 2, 3, 4], [1, 10, 100, 1000], 1), ([1, 2, 3, 4], [4, 3, 2, 1], -1), ([5, 5, 5], [1, 2, 3], 0),
    ([1, 2, 3, 4, 5], [2, 1, 4, 5, 3], 0.6), ([0, 0, 1, 1], [1, 2, 3, 4], 4 / 4.472135955),
    ([0, 0, 0, 1, 2], [1, 2, 3, 4, 5], 8 / 80**0.5)])
def test_rank_correlation(x, y, expected):
    """The table of src/cli/judge/variation_verdict_test.cc, and ties of three, which show that they share a rank."""
    assert sensitivity.rank_correlation(x, y) == pytest.approx(expected)


def test_clear_correlations_only():
    """A perfect one among thirty values is clear from nine outcomes on, a weak one is not; under eight nothing is."""
    names = [f"v.{i}" for i in range(30)]
    drawn = [{name: (variation * (i + 2)) % 11 for i, name in enumerate(names)} | {"v.0": variation} for variation in range(10)]
    assert sensitivity.sensitivities(drawn, list(range(10)))[0] == ("v.0", 1.0)
    assert sensitivity.sensitivities(drawn[:7], list(range(7))) == []
    weak = [3, 1, 0, 4, 2, 9, 5, 8, 6, 7]
    assert 0.5 < sensitivity.rank_correlation(range(10), weak) < 0.9
    assert sensitivity.sensitivities([{"v.0": v} | {f"v.{i}": 0 for i in range(1, 30)} for v in range(10)], weak) == []


@pytest.mark.parametrize(("constant", "ours"), [
    ("kSmallestCorrelation", sensitivity.SMALLEST_CORRELATION), ("kChance", sensitivity.CHANCE),
    ("kFewestOutcomes", sensitivity.FEWEST_OUTCOMES), ("kMostNamed", sensitivity.MOST_NAMED)])
def test_the_rule_is_that_of_compare(constant, ours):
    source = (ROOT / "src/cli/judge/sensitivity.cc").read_text()
    [number] = re.findall(rf"^constexpr \S+ {constant} = ([0-9.]+);", source, re.M)
    assert float(number) == ours


def test_words_rank_behind_the_best_guess():
    assert sensitivity.levels(["kept", "lost", "kept", "half"]) == [0, 2, 0, 1]
    assert sensitivity.levels([True, False]) == [0, 1]
    assert sensitivity.levels([3, 1]) == [3, 1]


def test_every_design_meets_a_variation_with_the_same_seed():
    plan = arraybench.plan(3)
    assert {(cell.variation, cell.seed) for cell in plan} == {(0, 1), (1, 2), (2, 3)}
    assert len(plan) == len(set(plan))
    words = cells.command("b", arraybench.judged_plan(3)[-1], "s", 0.1)
    assert words[words.index("--variation") + 1] == "2"
    assert words[words.index("--seed") + 1] == "3"


def test_forms_change_locks_and_sections():
    words = {form: cells.command("b", Cell(10, "low", 18, "htm-1", form=form), "s", 0.1) for form in (PAPER, AUTHORS)}
    guests = {form: line[line.index("--") + 1:] for form, line in words.items()}
    assert "--update" not in guests[PAPER]
    assert guests[AUTHORS][guests[AUTHORS].index("--update") + 1] == "store"
    assert [line[line.index("--busy") + 1] for line in words.values()] == ["inside", "abort"]
    assert all(line[line.index("--wait") + 1] == "spin" for line in words.values()), "a release is a store"


def test_everything_varies_only_if_asked_for():
    varied = {(cell.threads, cell.form) for cell in arraybench.plan(2) if cell.variation}
    assert varied == {(MOST_THREADS, PAPER), (MOST_THREADS, AUTHORS)}
    whole = arraybench.plan(2, everything=True)
    assert len(whole) == 2 * len(arraybench.plan(1))


def test_claims_alone_are_judged_in_both_forms():
    plan = arraybench.judged_plan(2)
    assert set(plan) < set(arraybench.plan(2))
    found = Measurement({cell: Result(1.0, 1) for cell in plan})
    for claim in arraybench.JUDGES:
        for form in arraybench.JUDGED:
            assert arraybench.judge(found, claim, form=form).variations == 2


def test_median_over_variations():
    found = Measurement({Cell(10, "low", 18, "tatas", variation=v): Result(rate) for v, rate in enumerate((1, 3, 9))})
    assert found.throughputs(10, "low", "tatas") == arraybench.Range(3, 1, 9)


def test_sample_is_spread_and_the_rest_is_the_rest():
    plan = arraybench.plan(2)
    sample, rest = cells.sample_of(plan)
    assert len(sample) == cells.SAMPLE
    assert sorted(map(str, sample + rest)) == sorted(map(str, plan))
    assert cells.sample_of(plan[:3]) == (plan[:3], [])


def test_every_cell_is_run_once():
    announced, done = [], []
    found = cells.run_each(lambda cell: 2 * cell, list(range(40)), announced.append, lambda *counts: done.append(counts))
    assert found == {cell: 2 * cell for cell in range(40)}
    assert (len(announced), done) == (1, [(count, 40) for count in range(1, 41)])


def test_form_changes_only_its_designs():
    plain = Cell(10, "low", 18, "tatas")
    changed = Cell(10, "low", 18, "htm-1", form=arraybench.AUTHORS_INCREMENT)
    found = Measurement({plain: Result(1), changed: Result(2)})
    assert found.throughput(10, "low", 18, "tatas", form=arraybench.AUTHORS_INCREMENT) == 1
    assert found.throughput(10, "low", 18, "htm-1", form=arraybench.AUTHORS_INCREMENT) == 2


def test_every_cell_that_is_judged_is_run():
    found = Measurement({cell: Result(1.0, 1) for cell in arraybench.plan(2)})
    for claim in arraybench.JUDGES:
        assert arraybench.judge(found, claim).variations == 2
        for threads in arraybench.THREADS[1:-1]:
            assert arraybench.judge(found, claim, threads).variations == 1
        assert arraybench.judge(found, claim, form=AUTHORS).variations == 2
        for form in arraybench.DIAGNOSTIC:
            assert arraybench.judge(found, claim, form=form).variations == 1
    for configuration in arraybench.CONFIGURATIONS:
        arraybench.table(found, *configuration)
    arraybench.forms_table(found)


def test_best_of_a_column_is_marked():
    found = Measurement(results() | results({(10, "low", "tatas-aahtm"): 30}, form=AUTHORS))
    lines = arraybench.table(found, 10, "low")
    marked = {line.split()[0]: line.count("*") for line in lines if "*" in line}
    assert marked == {"htm-10": len(arraybench.THREADS), "tatas-aahtm": 1}


def judge_barriers(changes=(), most=1.10):
    """Of a measurement in which speculation gains nothing but in one cell, and there as much as `most`; `changes`: other
    throughputs, {(threads, barrier): GB/s} of the first matrix."""
    best = (barrier.MATRICES[0], barrier.THREADS[-1], barrier.SPECULATING)
    results = {}
    for cell in barrier.plan(3):
        results[cell] = most if (cell.matrix, cell.threads, cell.barrier) == best else 1.0
        if cell.matrix == barrier.MATRICES[0]:
            results[cell] = dict(changes).get((cell.threads, cell.barrier), results[cell])
    measurement = barrier.Measurement(results)
    for matrix in barrier.MATRICES:
        assert len(barrier.table(measurement, matrix)) == 2 + len(barrier.THREADS)
    return [holds for _, holds, _ in barrier.judge(measurement)]


def test_all_of_it_holds_where_speculation_alone_gains():
    assert judge_barriers() == [True, True, True]


def test_one_slower_cell_is_enough():
    assert judge_barriers({(2, barrier.SPECULATING): 0.97}) == [False, True, True]


def test_a_gain_too_small_or_too_large_is_not_the_papers():
    assert judge_barriers(most=1.02) == [True, False, True]
    assert judge_barriers(most=1.30) == [True, False, True]


def test_no_gain_is_none_by_speculation():
    assert judge_barriers(most=1.0) == [True, False, False]


def test_a_better_barrier_is_not_speculation():
    assert judge_barriers({(16, barrier.CONTROL): 1.08}) == [True, True, False]


def test_barriers_of_a_variation_meet_the_same():
    cells = [cell for cell in barrier.plan(2) if cell.threads == 8 and cell.matrix == barrier.MATRICES[1]]
    assert {(cell.barrier, cell.variation, cell.seed) for cell in cells} == {
        (name, variation, variation + 1) for name in barrier.BARRIERS for variation in (0, 1)}
    words = barrier.command("/b", cells[1])
    assert words[words.index("--variation") + 1] == "1"
    assert words[-1] == "2"


def test_every_claim_of_make_demo_has_a_judge_and_the_other_way_round():
    rows = tomllib.loads((ROOT / "repro" / "claims.toml").read_text())["claim"]
    assert [row["id"] for row in rows if row.get("tool") == "tools/demo"] == list(arraybench.JUDGES)


def test_the_matrices_of_make_demo_barrier_are_those_of_the_claim():
    rows = tomllib.loads((ROOT / "repro" / "claims.toml").read_text())["claim"]
    inputs, = [row["ours"]["inputs"] for row in rows if row["id"] == barrier.CLAIM]
    assert list(inputs) == [matrix.name for matrix in barrier.MATRICES]
    for matrix in barrier.MATRICES:
        for program in inputs[matrix.name].values():
            assert program.startswith(f"backward_solver --rows {matrix.rows} --nonzeros {matrix.nonzeros} --levels ")
