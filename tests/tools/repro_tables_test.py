# SPDX-License-Identifier: Apache-2.0
"""Tables that no paper has, from made-up results."""

import copy
import csv
import io
import tomllib

import claims
import made_up_claims
import performance
import pytest
import reproducing
import tables
from made_up_claims import result
from ranges import Range
from support import ROOT

ROW = {
    "id": "options", "title": "Options of <hardware>", "says": "Speed over the old lock", "corner": "lock", "over": {"lock": "old", "option": ""},
    "rows": [{"label": "new", "lock": "new"}, {"label": "new, with", "lock": "new", "option": ",with=1"},
             {"label": "newer", "lock": "newer", "over": {"lock": "new"}}],
    "columns": [{"label": "short work", "application": "short"}, {"label": "long work", "application": "long", "part": "--length 4ms"}],
    "runs": {"machine": "m{option}", "options": "--lock {lock} {part}", "program": "{input} --threads 8", "settings": {"option": "", "part": ""}, "quick": 2,
             "inputs": {"short": "work", "long": "work --long"}}}
TABLE = tables.Table(ROW)
SPEED = {"old": 10, "new": 20, "newer": 50}


def results(variations=2):
    """The option makes a run half as fast; a second variation makes locks that are not old faster by a quarter."""
    found = {}
    for cell in claims.cells_of(TABLE.claim, variations):
        own = dict(cell.settings)
        found[cell] = result(SPEED[own["lock"]] * (0.5 if own["option"] else 1) * (1 if own["lock"] == "old" else 1 + cell.variation / 4))
    return found


def changed(**what):
    row = copy.deepcopy(ROW)
    row.update(what)
    return row


def test_the_tables_of_the_tree_are_right():
    rows = tomllib.loads((ROOT / "repro/tables.toml").read_text())["table"]
    ids = [row["id"] for row in tomllib.loads((ROOT / "repro/claims.toml").read_text())["claim"]]
    assert list(tables.problems(rows, ids)) == []
    size = {row["id"]: (len(row["rows"]), len(row["columns"])) for row in rows}
    assert size == {"always-abort-options": (16, 7), "designs-on-a-current-xeon": (14, 6), "held-lock-stamp": (4, 3), "held-lock-map": (4, 4),
                    "speculations-hazard": (4, 2), "stamp-transactional-memory": (6, 8), "stamp-fallbacks": (4, 8)}


@pytest.mark.parametrize("change, named", [
    ({"title": ""}, "no title"), ({"notes": 1}, "unknown 'notes'"), ({"columns": [{"label": "a", "over": {}}]}, "over in a column"), ({"metric": "speed"}, "no metric 'speed'"), ({"runs": {"program": "work"}}, "no machine to run"),
    ({"columns": [{"label": "a", "application": "short", "size": 2}]}, "not those of the program and its options: size"),
    ({"columns": [{"label": "a", "application": "none"}]}, "KeyError: 'none'"), ({"rows": [{"label": "a"}]}, "lock"), ({"rows": [{"lock": "new"}]}, "KeyError: 'label'")])
def test_a_table_that_is_wrong_is_named_in_one_line(change, named):
    found = list(tables.problems([changed(**change)], []))
    assert found and all(problem.startswith("options: ") and "\n" not in problem for problem in found)
    assert any(named in problem for problem in found)


def test_a_table_has_no_other_s_name():
    assert list(tables.problems([ROW, ROW], [])) == list(tables.problems([ROW], ["options"])) == ["options: a second one of this name"]


def test_every_cell_runs_once_and_so_does_what_it_is_divided_by():
    cells = claims.cells_of(TABLE.claim, 1)
    assert len(cells) == len(set(cells)) == 2 * 4  # old, new with and without, newer
    assert len(claims.cells_of(TABLE.claim, TABLE.claim.variations(4))) == 2 * 8


def test_the_machine_of_a_run_may_have_options():
    cell, = [cell for cell in claims.cells_of(TABLE.claim, 1) if dict(cell.settings)["option"] and dict(cell.settings)["application"] == "long"]
    words = claims.command("/b", TABLE.claim, cell, "/s")
    assert words == ["/b/bin/elision", "vm", "--machine", "m,with=1", "--variation", "0", "--seed", "1", "--lock", "new", "--length", "4ms", "--stats", "/s", "--",
                     "/b/workloads/work", "--long", "--threads", "8"]


def test_a_cell_is_a_ratio_by_variation():
    filled = tables.fill(TABLE, results(), 2)
    assert [label for label, _ in filled.rows] == ["new", "new, with", "newer"]
    assert filled.rows[0][1] == {0: Range(2.25, 2, 2.5), 1: Range(2.25, 2, 2.5)}
    assert filled.rows[1][1][0] == Range(1.125, 1, 1.25)  # over the old lock without the option
    assert filled.rows[2][1][1] == Range(2.5, 2.5, 2.5)  # over the new lock


def test_a_cell_that_has_not_run_is_empty():
    some = {cell: value for cell, value in results().items() if dict(cell.settings)["application"] == "short"}
    assert tables.fill(TABLE, some, 2).texts()[0] == ["new", "2.25x [2 - 2.5]", ""]
    assert "long work: not measured" in tables.text([tables.fill(TABLE, some, 2)])


def test_a_table_without_over_shows_its_metric():
    row = changed(metric="abort percent", rows=[{"label": "new", "lock": "new"}])
    del row["over"]
    assert tables.fill(tables.Table(row), results(), 2).texts() == [["new", "25 [25 - 25]", "25 [25 - 25]"]]


def test_a_table_as_csv():
    rows = list(csv.DictReader(io.StringIO(tables.csv_text([tables.fill(TABLE, results(), 2)]))))
    assert len(rows) == 3 * 2
    assert rows[1] == {"table": "options", "row": "new", "column": "long work", "metric": "throughput ratio", "low": "2", "median": "2.25", "high": "2.5",
                       "variations": "2"}


def test_a_table_on_the_page():
    lines = tables.markdown([tables.fill(TABLE, results(), 2)], performance.paragraph)
    assert lines[:3] == ["## Tables that no paper has", "", "### Options of <hardware>"]
    assert "| lock | short work | long work |" in lines
    assert "| newer | 2.5x [2.5 - 2.5] | 2.5x [2.5 - 2.5] |" in lines
    assert tables.markdown([], performance.paragraph) == []


def test_a_table_in_the_report():
    text = made_up_claims.document(filled=[tables.fill(TABLE, results(), 2)])
    assert 'id="options">Options of &lt;hardware&gt;</h3>' in text and '<a href="#options">' in text
    assert '<td data-name="long work" class=number>2.25x [2 - 2.5]</td>' in text
    assert "Tables that no paper has" not in made_up_claims.document()


def test_the_plan_has_every_cell_of_a_table(folder):
    for name in ("bin/elision", "lib/libelision.so", "workloads/work"):
        (folder / name).parent.mkdir()
        (folder / name).touch()
    plan = reproducing.Plan(folder, [TABLE.claim], {"options": 2}, full=False)
    assert len(plan.runs) == 2 * 8
    assert {plan.machine(cell) for cell in plan.needed} == {"m", "m,with=1"}
    assert reproducing.write_tables(folder, []).read_text() == "table,row,column,metric,low,median,high,variations\n"
