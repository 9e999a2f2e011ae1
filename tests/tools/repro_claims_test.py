# SPDX-License-Identifier: Apache-2.0
"""Claims as data: which runs they need, and what made-up results say of them."""

import copy
import tomllib
import types

import claims
import claims_check
import claims_page
import pytest
from support import ROOT

ROW = {
    "id": "faster", "paper": "A paper", "where": "1", "kind": "ratio", "machine": "a machine", "workload": "work", "says": "new is 2x to 3x old",
    "ours": {
        "machine": "m", "options": "--lock {lock}", "program": "work --threads {threads}", "settings": {"threads": 8},
        "statement": [{"says": "new is 2x to 3x old", "of": {"lock": "new"}, "over": {"lock": "old"}, "range": [2, 3]},
                      {"says": "few aborts", "metric": "abort percent", "of": {"lock": "new"}, "range": [0, 5], "tolerance": 10}]}}
CLAIM = claims.Claim(ROW)


def changed(**statement):
    row = copy.deepcopy(ROW)
    row["ours"]["statement"][0].update(statement)
    return claims.Claim(row)


def results(new=(25, 25, 25, 25), commits=(90, 90, 90, 90), claim=CLAIM):
    """Of each variation: what `old` makes is 10."""
    found = {}
    for variation, (throughput, committed) in enumerate(zip(new, commits)):
        totals = {"begins": 100, "commits": committed}
        found[claim.cell({"lock": "old"}, variation)] = {"output": "throughput: 10.0 sections/s\n", "totals": totals}
        found[claim.cell({"lock": "new"}, variation)] = {"output": f"throughput: {throughput} sections/s\n", "totals": totals}
    return found


def verdict(claim=CLAIM, **how):
    return claims.verdict(claims.find(claim, results(claim=claim, **how), 4))


def test_every_claim_of_the_papers_has_a_row():
    rows = tomllib.loads((ROOT / "repro/claims.toml").read_text())["claim"]
    listed = [line for line in (ROOT / "repro/claims-of-the-papers.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(listed) == 29
    assert sorted(row["id"] for row in rows) == sorted(listed)
    assert list(claims_check.problems(rows)) == []


@pytest.mark.parametrize("change, named", [
    ({"ours": None}, "one of ours, tool and missing, not none"), ({"missing": "work"}, "not ours, missing"), ({"says": ""}, "no says"), ({"id": None}, "no id"),
    ({"ours": {**ROW["ours"], "quikc": 2}}, "faster: unknown 'quikc'"), ({"ours": {"machine": "m", "program": "work"}}, "faster: no statement"),
    ({"ours": {"statement": ROW["ours"]["statement"]}}, "faster: no machine to run")])
def test_a_row_that_is_wrong(change, named):
    row = {key: value for key, value in {**ROW, **change}.items() if value is not None}
    assert any(named in problem for problem in claims_check.problems([row]))


@pytest.mark.parametrize("change, named", [
    ({"metric": "speed"}, "no metric 'speed'"), ({"range": [3, 2]}, "an empty range"), ({"tolerence": 1}, "unknown 'tolerence'"),
    ({"of": {"lock": "new", "size": 3}}, "not those of the program"), ({"values": "published"}, "one of range and values"),
    ({"range": 2}, "TypeError"), ({"range": [2]}, "ValueError"), ({"each": [1]}, "AttributeError"), ({"says": "of {size}"}, "KeyError: 'size'"),
    ({"of": {"speed": 1}}, "KeyError: 'lock'")])
def test_a_statement_that_is_wrong(change, named):
    assert any(named in problem for problem in claims_check.problems([changed(**change).row]))


def test_cells_are_those_of_statements_each_once():
    cells = claims.cells_of(CLAIM, 2)
    assert {cell.settings for cell in cells} == {(("lock", "new"), ("threads", 8)), (("lock", "old"), ("threads", 8))}
    assert len(cells) == 4


def test_a_claim_with_long_runs_takes_fewer_variations():
    assert CLAIM.variations(4) == 4
    quick = claims.Claim({**ROW, "ours": {**ROW["ours"], "quick": 2}})
    assert (quick.variations(4), quick.variations(1)) == (2, 1)


def test_the_command_of_a_run():
    words = claims.command("/b", CLAIM, CLAIM.cell({"lock": "new"}, 3), "/s")
    assert words == ["/b/bin/elision", "vm", "--machine", "m", "--variation", "3", "--seed", "4", "--lock", "new", "--stats", "/s", "--",
                     "/b/workloads/work", "--threads", "8"]


def test_a_program_that_is_not_ours():
    claim = claims.Claim({**ROW, "ours": {**ROW["ours"], "program": "/usr/bin/work {threads}"}})
    assert claims.command("/b", claim, claim.cell({"lock": "new"}, 0), "/s")[-2:] == ["/usr/bin/work", "8"]


def test_a_claim_that_holds():
    assert verdict() == claims.HOLDS
    assert verdict(new=(25, 25, 25, 35)) == claims.HOLDS  # on three of four


def test_a_claim_that_does_not():
    assert verdict(new=(15, 15, 15, 25)) == claims.DOES_NOT
    assert verdict(new=(35, 35, 35, 35)) == claims.DOES_NOT
    assert verdict(commits=(80, 80, 80, 80)) == claims.DOES_NOT  # 20 % of aborts, with 15 at most


def test_a_claim_that_is_not_settled():
    assert verdict(new=(15, 15, 25, 25)) == claims.NOT_SETTLED


def test_a_bound_may_be_open():
    at_least = changed(range=[2, float("inf")])
    assert verdict(claim=at_least, new=(200, 200, 200, 200)) == claims.HOLDS
    assert verdict(claim=at_least, new=(19, 19, 19, 19)) == claims.DOES_NOT
    assert "wanted at least 2x" in claims_page.text([at_least.row], {"faster": claims.find(at_least, results(), 4)})


def test_a_tolerance_is_of_the_bounds():
    assert verdict(claim=changed(tolerance=0.25), new=(16, 16, 16, 16)) == claims.HOLDS
    assert verdict(claim=changed(tolerance=0.25), new=(14, 14, 14, 14)) == claims.DOES_NOT


@pytest.mark.parametrize("metric, result, named", [
    ("throughput", {"output": ""}, "no 'throughput:'"), ("abort percent", {"totals": {"begins": 0, "commits": 0}}, "began no transaction"),
    ("tries", {"totals": {"begins": 3, "commits": 0}}, "no commit"), ("conflict percent", {"totals": {"aborts": {"conflict": 0}}}, "no abort"),
    ("software abort percent", {"output": "sections: 0\naborts: 0\n"}, "no section"), ("software abort percent", {"output": "sections: 9\n"}, "no 'aborts:'")])
def test_a_run_without_the_metric_is_no_verdict(metric, result, named):
    with pytest.raises(claims.NotMeasured, match=named):
        claims.METRICS[metric](result)


def test_a_verdict_that_cannot_be_names_the_claim_and_the_statement():
    with pytest.raises(claims.NotMeasured, match="^faster: new is 2x to 3x old: a ratio to a run that measured 0"):
        claims.find(CLAIM, {cell: {**result, "output": "throughput: 0\n"} for cell, result in results().items()}, 4)


TABLE = claims.Claim({
    **ROW, "threads": [1, 2], "published": {"kmeans": [0, 26], "ssca2": [0, 1]},
    "ours": {"machine": "m", "options": "--lock {lock}", "program": "{input} --threads {threads}", "inputs": {"kmeans": "kmeans -n 9", "ssca2": "ssca2"},
             "settings": {"lock": "htm-5"},
             "statement": [{"says": "{application}, {threads}: {value} %", "each": {"application": ["kmeans", "ssca2"], "threads": [1, 2]},
                            "metric": "abort percent", "values": "published", "tolerance": 10}]}})


def test_a_table_is_a_statement_a_number():
    assert list(claims_check.problems([TABLE.row])) == []
    found = {statement.says: (statement.low, statement.high) for statement in TABLE.statements()}
    assert found == {"kmeans, 1: 0 %": (-10, 10), "kmeans, 2: 26 %": (16, 36), "ssca2, 1: 0 %": (-10, 10), "ssca2, 2: 1 %": (-9, 11)}


def test_an_application_has_its_input():
    statement = TABLE.statements()[1]
    words = claims.command("/b", TABLE, TABLE.cell(statement.of[0], 0), "/s")
    assert words[words.index("--") + 1:] == ["/b/workloads/kmeans", "-n", "9", "--threads", "2"]
    assert words[words.index("--lock") + 1] == "htm-5"


def test_samples_are_those_of_call_paths():
    assert claims.samples_of({"profile": {"paths": [{"samples": 3}, {"samples": 4}]}}) == 7
    assert claims.samples_of({"profile": {"paths": [{"samples": 3}], "paths_lost": 5}}) == 8
    assert claims.samples_of({"profile": {}}) == 0
    assert claims.METRICS["samples"]({"totals": {"profile_samples": 7}}) == 7
    with pytest.raises(claims.NotMeasured):
        claims.METRICS["samples"]({"totals": {}})


EVENTS = {"missing": "", "samples": 100, "lost": 3, "period": 10, "sampled_aborts": 940, "commits": 501, "cycles": 9000, "counted_cycles": 10000,
          "by_cause": {"conflict": 800, "interrupt": 50, "instruction": 150}}
RECORDED = {"profile": {"abort_events": EVENTS, "locks": [{"commits": 300, "aborts": {"conflict": 700, "other": 200}}, {"commits": 200, "aborts": {"conflict": 100}}]}}


def test_samples_of_aborts_are_held_against_the_librarys_counts():
    result = {"totals": {"abort_events": claims.abort_events_of(RECORDED)}}
    assert claims.METRICS["sampled abort percent"](result) == pytest.approx(97)
    assert claims.METRICS["event commit percent"](result) == pytest.approx(100.2)
    assert claims.METRICS["cause error percent"](result) == pytest.approx(0)
    assert claims.METRICS["weight percent"](result) == pytest.approx(90)
    assert claims.METRICS["abort samples"](result) == 100
    worse = copy.deepcopy(RECORDED)
    worse["profile"]["locks"][1]["aborts"] = {"capacity": 100}
    assert claims.METRICS["cause error percent"]({"totals": {"abort_events": claims.abort_events_of(worse)}}) == pytest.approx(10)


def test_runs_without_samples_of_aborts_say_nothing_of_them():
    assert claims.abort_events_of({"profile": {"locks": []}}) is None
    assert claims.abort_events_of({"profile": {"locks": [], "abort_events": {**EVENTS, "missing": "no event"}}}) is None
    for metric in ("sampled abort percent", "event commit percent", "cause error percent", "weight percent", "abort samples"):
        with pytest.raises(claims.NotMeasured):
            claims.METRICS[metric]({"totals": {}})


def test_a_profiled_program_is_started_by_the_profiler():
    row = copy.deepcopy(TABLE.row)
    row["ours"] |= {"profiler": "-F 50", "options": "--lock htm-5", "settings": {"profiled": "no"}}
    claim = claims.Claim(row)
    assert list(claims_check.problems([row])) == []
    settings = {"application": "kmeans", "threads": 2}
    plain, profiled = (claims.command("/b", claim, claim.cell({**settings, "profiled": one}, 0), "/s") for one in ("no", "yes"))
    assert plain == claims.command("/b", TABLE, TABLE.cell(settings, 0), "/s")
    assert claims.program_of(plain) == claims.program_of(profiled) == "/b/workloads/kmeans"
    options, at = slice(plain.index("--seed") + 2, plain.index("--stats")), plain.index("--") + 1
    assert plain[options]
    assert profiled == [*plain[:options.start], *plain[options.stop:at], "/b/bin/elision", "record", "-F", "50", "-o", "/s.profile", "--", *plain[at:]]
    row["ours"]["settings"]["profiled"] = "maybe"
    assert list(claims_check.problems([row])) == ["faster: KeyError: 'maybe'"]
    row["ours"] |= {"options": "--lock {lock}", "settings": {"lock": "htm-5", "profiled": "no"}}
    assert list(claims_check.problems([row])) == ["faster: settings in options, which do not apply to profiled runs"]


def test_points_are_hundredths_of_a_ratio():
    statement = changed(range=[1.16, 1.16], points=5).statements()[0]
    assert (statement.low, statement.high) == pytest.approx((1.11, 1.21))
    row = copy.deepcopy(ROW)
    row["ours"]["statement"][1]["points"] = 5
    assert any("few aborts: points are for a ratio" in problem for problem in claims_check.problems([row]))


SIZED = claims.Claim({
    **ROW, "ours": {"machine": "m", "program": "{input} --threads {threads}", "settings": {"threads": 8, "size": "small"}, "full": {"size": "whole"},
                    "inputs": {"kmeans": {"small": "kmeans -n 9", "whole": "kmeans -n 99"}},
                    "statement": [{"says": "fast", "each": {"application": ["kmeans"]}, "range": [1, 2]}]}})


@pytest.mark.parametrize("claim, number", [(SIZED, "9"), (SIZED.whole(), "99")])
def test_a_full_run_has_whole_inputs(claim, number):
    cell, = claims.cells_of(claim, 1)
    assert claims.command("/b", claim, cell, "/s")[-5:] == ["/b/workloads/kmeans", "-n", number, "--threads", "8"]


def test_sizes_that_are_wrong():
    assert list(claims_check.problems([SIZED.row])) == []
    assert CLAIM.whole() == CLAIM
    for full, named in (({"siez": "whole"}, "full: unknown setting 'siez'"), ({"size": "huge"}, "KeyError: 'huge'")):
        assert any(named in problem for problem in claims_check.problems([{**SIZED.row, "ours": {**SIZED.ours, "full": full}}]))


def test_settings_of_each_go_to_both_sides():
    statement = changed(says="of {threads}", each={"threads": [4]}).statements()[0]
    assert (statement.says, statement.of, statement.over) == ("of 4", [{"threads": 4, "lock": "new"}], [{"threads": 4, "lock": "old"}])


def test_the_best_of_several_counts():
    better = changed(over=[{"lock": "old"}, {"lock": "new"}], range=[1, 1])
    assert verdict(claim=better) == claims.HOLDS  # new is the best of both
    assert verdict(claim=better, new=(5, 5, 5, 5)) == claims.DOES_NOT


def test_a_mean_is_geometric():
    row = copy.deepcopy(ROW)
    row["ours"]["statement"] = [{"says": "on average", "mean": {"threads": [2, 4]}, "of": {"lock": "new"}, "over": {"lock": "old"}, "range": [2, 3]}]
    claim = claims.Claim(row)
    assert list(claims_check.problems([row])) == []
    throughputs = {("old", 2): 10, ("new", 2): 10, ("old", 4): 10, ("new", 4): 40}
    found = {claim.cell({"lock": lock, "threads": threads}, 0): {"output": f"throughput: {value} sections/s\n"}
             for (lock, threads), value in throughputs.items()}
    assert sorted(claims.cells_of(claim, 1), key=str) == sorted(found, key=str)
    assert claims.find(claim, found, 1)[0].values == (pytest.approx(2),)


def test_software_aborts():
    assert claims.METRICS["software abort percent"]({"output": "sections: 30\naborts: 10\n"}) == 25


@pytest.mark.parametrize("metric, value", [("part speed", 50), ("tries", 4), ("conflict percent", 75)])
def test_what_the_virtual_machine_counts(metric, value):
    totals = {"virtual_ns": 20_000_000, "begins": 8, "commits": 2, "aborts": {"conflict": 3, "capacity": 1}}
    assert claims.METRICS[metric]({"totals": totals}) == value


def test_the_share_of_conflicts_leaves_aborts_at_a_held_lock_out():
    totals = {"aborts": {"conflict": 3, "capacity": 1, "explicit": 40, "instruction": 6}}
    assert claims.METRICS["conflict share"]({"totals": totals}) == 75
    assert claims.METRICS["conflict percent"]({"totals": totals}) == 6
    with pytest.raises(claims.NotMeasured, match="no aborts by conflict or capacity|without aborts"):
        claims.METRICS["conflict share"]({"totals": {"aborts": {"conflict": 0, "capacity": 0, "explicit": 4}}})


@pytest.mark.parametrize("best, value", [(60, 0.5), (10, float("inf")), (5, float("inf"))])
def test_the_share_of_a_gain(best, value):
    row = copy.deepcopy(ROW)
    row["ours"]["statement"] = [{"says": "half", "of": {"lock": "new"}, "over": {"lock": "best"}, "base": {"lock": "old"}, "range": [0, 1]}]
    claim = claims.Claim(row)
    assert list(claims_check.problems([row])) == []
    throughputs = {"old": 10, "new": 35, "best": best}
    found = {claim.cell({"lock": lock}, 0): {"output": f"throughput: {one}\n"} for lock, one in throughputs.items()}
    assert sorted(claims.cells_of(claim, 1), key=str) == sorted(found, key=str)
    assert claims.find(claim, found, 1)[0].values == (value,)


def test_a_share_of_no_gain():
    row = copy.deepcopy(ROW)
    row["ours"]["statement"] = [{"says": "half", "of": {"lock": "new"}, "base": {"lock": "old"}, "range": [0, 1]}]
    assert any("base without over" in problem for problem in claims_check.problems([row]))


def test_the_table_has_a_row_for_each_claim():
    rows = [ROW, {**{key: value for key, value in ROW.items() if key != "ours"}, "id": "later", "missing": "a workload"}]
    found = {"faster": claims.find(CLAIM, results(), 4)}
    text = claims_page.text(rows, found)
    assert "faster: holds\n  new is 2x to 3x old: 2.5x [2.5 - 2.5], wanted 2x to 3x (4 of 4)\n  few aborts: 10 % [10 - 10], wanted at most 15 % (4 of 4)" in text
    assert "later: not judged" in text
    assert claims_page.count_line(rows, found) == (
        "2 claims. Judged here: 1 (holds 1, does not 0, not settled 0), with 2 parts (true on most variations 2). Judged elsewhere: 0. "
        "Not judged yet: 1.")


def timed(outside, inside, commits, aborts, blocked=0):
    states = {"outside": outside, "blocked": blocked, "attempt": inside / 2, "waiting": inside / 2}
    return {"output": "", "totals": {"times_ns": states, "commits": commits, "aborts": {"conflict": aborts, "capacity": 0}}}


@pytest.mark.parametrize("result, kind", [
    (timed(81, 19, 10, 100), 1), (timed(80, 20, 10, 9), 2), (timed(80, 20, 10, 10), 3), (timed(40, 20, 10, 9, blocked=1000), 2)])
def test_a_program_has_a_type(result, kind):
    assert claims.METRICS["program type"](result) == kind


def test_shares_of_time_and_aborts():
    states = {"outside": 50, "blocked": 1000, "overhead": 30, "section": 20}
    result = {"output": "", "totals": {"times_ns": states, "commits": 4, "aborts": {"conflict": 5, "capacity": 1}}}
    assert claims.METRICS["section percent"](result) == 50
    assert claims.METRICS["aborts a commit"](result) == 1.5


@pytest.mark.parametrize("metric, over, unit", [("capacity percent", None, " %"), ("capacity percent", (), "x"), ("throughput", (), "x"), ("throughput", None, "")])
def test_a_ratio_of_percentages_is_a_ratio(metric, over, unit):
    statement = types.SimpleNamespace(metric=metric, over=over, base=None)
    assert claims_page.unit_of(statement) == unit


def test_shares_of_the_time_for_sections():
    states = {"outside": 50, "blocked": 1000, "attempt": 20, "waiting": 15, "speculating": 5, "aborted": 10}
    result = {"output": "", "totals": {"times_ns": states, "aborts": {"conflict": 6, "capacity": 2}}}
    assert claims.METRICS["transaction percent"](result) == 40
    assert claims.METRICS["waiting percent"](result) == 40
    assert claims.METRICS["capacity percent"](result) == 25
    with pytest.raises(claims.NotMeasured, match="aborts"):
        claims.METRICS["capacity percent"]({"output": "", "totals": {"aborts": {"conflict": 0, "capacity": 0}}})


def test_times_of_all_processes_count():
    process = {"lock_times": {"times_ns": {"outside": 30, "blocked": 5, "section": 10}}}
    totals = claims.totals_of({"totals": {"commits": 1}, "processes": [process, {}, process]})
    assert totals == {"commits": 1, "times_ns": {"outside": 60, "blocked": 10, "section": 20}}
    assert claims.METRICS["section percent"]({"output": "", "totals": totals}) == 25
    assert claims.totals_of({"totals": {"commits": 1}, "processes": [{}]}) == {"commits": 1}
    with pytest.raises(claims.NotMeasured, match="times_ns"):
        claims.METRICS["program type"]({"output": "", "totals": {"commits": 1}})
