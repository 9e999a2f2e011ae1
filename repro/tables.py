# SPDX-License-Identifier: Apache-2.0
"""Tables that no paper has (tables.toml): which runs fill one, and its numbers. Nothing of them is judged. Pure.

A table has

    id, title, says    its name, its heading, and what its numbers are
    runs               machine, options, program, settings, quick and inputs, as in a claim's `ours` (claims.py)
    corner             what the labels of the rows are
    rows, columns      a `label`, and settings; those of both are the run of a cell
    over               settings of the run by which a cell's metric is divided, beside those of the cell. A row may add some
    metric             as in a statement; default: throughput
"""

import dataclasses

import claims
import claims_check
import figures
import outcomes
import pages

KEYS = {"id", "title", "says", "runs", "corner", "rows", "columns", "over", "metric"}
NEEDED = ("id", "title", "says", "runs", "corner", "rows", "columns")
NO_SETTINGS = {"label", "over"}
COLUMNS = ("table", "row", "column", "metric", "low", "median", "high", "variations")


@dataclasses.dataclass(frozen=True)
class Table:
    row: dict

    @property
    def id(self):
        return self.row["id"]

    @property
    def title(self):
        return self.row["title"]

    @property
    def columns(self):
        return [column["label"] for column in self.row["columns"]]

    @property
    def metric(self):
        return self.row.get("metric", "throughput")

    def lines(self):
        """A figures.Line for each row, whose places are the columns."""
        for row in self.row["rows"]:
            runs = tuple({**_settings(row), **_settings(column)} for column in self.row["columns"])
            over = {**self.row.get("over", {}), **row.get("over", {})}
            yield figures.Line(row["label"], self.metric, runs, tuple({**run, **over} for run in runs) if over else None, None)

    @property
    def claim(self):
        """The table's runs as those of a claim without statements."""
        every = [settings for line in self.lines() for settings in line.runs + (line.references or ())]
        return claims.Claim({"id": self.id, "runs": self.row["runs"], "always": every})


@dataclasses.dataclass(frozen=True)
class Filled:
    """A table with its numbers: for each row its label and {index of the column: Range}."""
    table: Table
    rows: list
    variations: int

    def texts(self):
        """The rows as texts: the label and the cells."""
        unit = "x" if any(line.references for line in self.table.lines()) else ""
        return [[label, *(ranges[place].text(unit) if place in ranges else "" for place in range(len(self.table.columns)))] for label, ranges in self.rows]


def _settings(one):
    return {name: value for name, value in one.items() if name not in NO_SETTINGS}


def fill(table, results, variations):
    return Filled(table, [(line.label, figures.ranges_of(table.claim, {}, line, results, variations)) for line in table.lines()], variations)


def problems(rows, others):
    """What is wrong with the tables, a line each. `others`: names that no table may have."""
    names = list(others)
    for row in rows:
        name = row.get("id", "a table without id")
        if name in names:
            yield f"{name}: a second one of this name"
        names.append(name)
        yield from (f"{name}: {problem}" for problem in _problems(row))


def _problems(row):
    for key in sorted(set(row) - KEYS):
        yield f"unknown '{key}'"
    missing = [key for key in NEEDED if not row.get(key)]
    if missing:
        yield f"no {', '.join(missing)}"
        return
    if row.get("metric", "throughput") not in claims.METRICS:
        yield f"no metric '{row['metric']}'"
    if any("over" in column for column in row["columns"]):
        yield "over in a column"
    yield from claims_check.runs_problems(row["runs"])
    try:
        yield from _run_problems(Table(row).claim)
    except claims_check.MALFORMED as error:
        yield f"{type(error).__name__}: {error}"


def _run_problems(claim):
    names = claims_check.names_of(claim.runs)
    for cell in claims.cells_of(claim, 1):
        wrong = names ^ {name for name, _ in cell.settings}
        if wrong:
            yield f"its settings are not those of the program and its options: {', '.join(sorted(wrong))}"
            return
        claims.command("", claim, cell, "")


def explanation(filled):
    return f"{filled.table.row['says'].rstrip('.')}. Median and range of {filled.variations} variations of the machine; nothing is judged."


def csv_rows(every):
    """Returns rows of the CSV for filled tables."""
    for filled in every:
        metric = filled.table.metric
        for line, (label, ranges) in zip(filled.table.lines(), filled.rows):
            for place, own in sorted(ranges.items()):
                numbers = (f"{value:.6g}" for value in (own.low, own.median, own.high))
                yield [filled.table.id, label, filled.table.columns[place], metric + (" ratio" if line.references else ""), *numbers, filled.variations]


def csv_text(every):
    return outcomes.text(COLUMNS, csv_rows(every))


def markdown(every, paragraph):
    """Returns the lines of the page, without any if there is no table. `paragraph`: wraps a text into lines."""
    lines = ["## Tables that no paper has", ""] if every else []
    for filled in every:
        lines += [f"### {filled.table.title}", "", *paragraph(explanation(filled)),
                  *pages.table([filled.table.row["corner"], *filled.table.columns], filled.texts()), ""]
    return lines


def text(every):
    """For a terminal."""
    lines = []
    for filled in every:
        lines += [f"{filled.table.id}: {filled.table.title}"]
        for label, *cells in filled.texts():
            lines += [f"  {label}", *(f"    {column}: {cell or 'not measured'}" for column, cell in zip(filled.table.columns, cells))]
    return "\n".join(lines)
