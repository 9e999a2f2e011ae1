# SPDX-License-Identifier: Apache-2.0
"""A made-up claim with a figure, results of its runs, and its report: for tests of make repro."""

import copy

import claims
import figures
import reporting
import tables
from report import page
from support import ROOT

FIGURE = {"number": "Fig. 3", "title": "{reads} % reads", "x": "threads", "points": [1, 2, 8], "series": [{"lock": ["old", "new"]}],
          "panels": [{"reads": 80}, {"title": "No reads", "reads": 0, "bands": [{"range": [2, float("inf")], "says": "the paper: twice"}]}],
          "over": {"lock": "old", "threads": 1}, "y": "speedup"}
ROW = {"id": "faster", "paper": "A paper & more", "where": "1", "kind": "ratio", "machine": "a <machine>", "workload": "work", "says": "new is 2x old",
       "threads": [1, 2, 8], "published": {"kmeans": [0, 26, 71]}, "figure": [FIGURE],
       "ours": {"machine": "m", "options": "--lock {lock}", "program": "work --threads {threads} --reads {reads}", "settings": {"threads": 8, "reads": 80},
                "statement": [{"says": "new is 2x old", "of": {"lock": "new"}, "over": {"lock": "old"}, "range": [2, 3]}]}}
CLAIM = claims.Claim(ROW)
VARIATIONS = 2
SPEED = {"old": 10, "new": 25}


def changed(**what):
    row = copy.deepcopy(ROW)
    row["figure"][0].update(what)
    return claims.Claim(row)


def result(throughput, seconds=2.0):
    return {"output": f"throughput: {throughput} sections/s\n", "totals": {"begins": 100, "commits": 75}, "seconds": seconds, "commit": "abc", "changed": True,
            "elision": "elision 1"}


def results(claim=CLAIM, variations=VARIATIONS):
    """A run is as fast as it has threads, and a quarter faster on the second variation."""
    cells = figures.cells_of(claim, variations) + claims.cells_of(claim, variations)
    return {cell: result(SPEED[dict(cell.settings)["lock"]] * dict(cell.settings)["threads"] * (1 + cell.variation / 4)) for cell in cells}


def panels(claim=CLAIM):
    """The drawn panels of a claim."""
    return [panel for _, panel in reporting.drawn_of(claim, results(claim), VARIATIONS)]


def document(claim=CLAIM, native=None, filled=None):
    later = {**{key: value for key, value in ROW.items() if key not in ("ours", "figure")}, "id": "later", "missing": "a workload"}
    found = {claim.id: claims.find(claim, results(claim), VARIATIONS)}
    return page.document([claim.row, later], found, {claim.id: panels(claim)}, native or {}, filled or [], ["origin"], (ROOT / "repro/report/style.css").read_text())


def wide_table():
    """A filled table with many columns and long labels."""
    columns = [{"label": f"a workload with a long name, number {number}", "reads": number} for number in range(8)]
    table = tables.Table({"id": "wide", "title": "A table that is wide", "says": "Speed over the old lock", "corner": "lock", "over": {"lock": "old"},
                          "rows": [{"label": "new, with an option that has a long name", "lock": "new"}], "columns": columns,
                          "runs": {key: value for key, value in ROW["ours"].items() if key != "statement"}})
    cells = claims.cells_of(table.claim, VARIATIONS)
    return tables.fill(table, {cell: result(SPEED[dict(cell.settings)["lock"]] * (1 + cell.variation / 8)) for cell in cells}, VARIATIONS)


def document_of_all_kinds():
    """A report with a panel of every kind, long words, many lines and a wide table."""
    claim = changed(log=True)
    many = [f"design-{number}" for number in range(10)]
    SPEED.update({name: 10 + 3 * number for number, name in enumerate(many)})
    claim.row["figure"] += [
        {**FIGURE, "number": "Fig. 4", "points": [1, 2, 4, 8, 12, 16, 18], "series": [{"lock": many}], "title": "A title that is longer than a line of a panel may be",
         "y": "speedup over the design that the paper begins with"},
        {**FIGURE, "number": "Fig. 5", "x": "reads", "points": ["read-mostly", "write-mostly", "half of each"], "over": {"lock": "old"}},
        {**FIGURE, "number": "Fig. 6", "over": {"lock": "old"}, "series": [{"label": "a label that needs a row of its own", "lock": "new", "paper": [1.5, 2, 3.25]}],
         "points": [8, 72, 200], "from": 0.5, "panels": [{"bands": [{"range": [0.8, 1], "says": "the paper: it loses up to about 20 % of its throughput"},
                                                       {"range": [2.5, 2.5], "says": "the paper: 2.5x"}]}]}]
    return document(claim, {"": "On this CPU: a CPU", "faster": [["lock new over lock old", "2", "1.1x [1.0 - 1.2]"]]}, [wide_table()])
