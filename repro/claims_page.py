# SPDX-License-Identifier: Apache-2.0
"""The table of the papers' claims (tools/repro). Pure."""

import math

import claims
import native
import pages
import performance
import tables

RULE = (f"A claim holds if each of its parts is true on {100 * claims.MOST:.0f} % of them; "
        f"it does not if one is true on at most {100 * (1 - claims.MOST):.0f} %.")
TOOLS = {"tools/demo": "[claims](claims.md)"}


def unit_of(statement):
    if statement.base is not None:
        return " of the gain"
    if statement.over is not None:
        return "x"
    return " %" if statement.metric.endswith("percent") else ""


def wanted_text(statement):
    """The range that a statement must be in, tolerance included."""
    unit = unit_of(statement)
    if math.isinf(statement.high):
        return f"at least {statement.low:.3g}{unit}"
    if statement.low <= 0:
        return f"at most {statement.high:.3g}{unit}"
    return f"{statement.low:.3g}{unit} to {statement.high:.3g}{unit}"


def found_text(found):
    return found.range.text(unit_of(found.statement))


def verdict_of(row, found):
    """What the table says of a claim."""
    if "ours" in row:
        return claims.verdict(found[row["id"]])
    return f"see {TOOLS.get(row['tool'], row['tool'])}" if "tool" in row else claims.NOT_JUDGED


def statement_rows(row, found):
    for one in found[row["id"]]:
        yield [one.statement.says, wanted_text(one.statement), found_text(one), f"{one.times} of {len(one.values)}"]


def text(rows, found):
    """For a terminal: the judged claims with their statements."""
    lines = []
    for row in rows:
        lines.append(f"{row['id']}: {verdict_of(row, found)}")
        if "ours" in row:
            lines += [f"  {says}: {what}, wanted {wanted} ({times})" for says, wanted, what, times in statement_rows(row, found)]
    return "\n".join(lines)


def count_line(rows, found):
    verdicts = [verdict_of(row, found) for row in rows]
    counts = {name: verdicts.count(name) for name in (claims.HOLDS, claims.DOES_NOT, claims.NOT_SETTLED)}
    parts = [one for row in rows if "ours" in row for one in found[row["id"]]]
    return (f"{len(rows)} claims. Judged here: {sum(counts.values())} ({', '.join(f'{name} {count}' for name, count in counts.items())}), "
            f"with {len(parts)} parts (true on most variations {sum(map(claims.is_true, parts))}). "
            f"Judged elsewhere: {sum('tool' in row for row in rows)}. Not judged yet: {verdicts.count(claims.NOT_JUDGED)}.")


def why(row):
    reasons = [row.get("found"), row.get("left_out"), f"to come: {row['missing']}" if "missing" in row else None]
    return "; ".join(filter(None, reasons))


def claim_section(row, found):
    lines = [f"## {row['id']}", "", *performance.paragraph(f"{row['paper']}, {row['where']}. {row['machine']}. {row['workload']}."),
             *performance.paragraph(f"The paper: {row['says']}."),
             *pages.table(["part", "wanted", "found: median and range", "true on"], statement_rows(row, found)), ""]
    return lines + (performance.paragraph("Why, as far as known: " + row["found"]) if "found" in row else [])


def document(origin, rows, found, variations, filled):
    """The page. `filled`: the tables (tables.py)."""
    lines = ["# The papers' claims", "", "Written by `make repro`.", "", *performance.markdown(performance.origin_cells(origin)), "",
             *performance.paragraph(
                 f"Each claim that is judged here ran on {variations} variations of its machine (claims with long runs: on fewer), on which all designs meet the same "
                 f"values. {RULE} Virtual time: other work on this computer changes nothing."),
             count_line(rows, found), "",
             *pages.table(["claim", "the paper", "verdict", "why"], [[row["id"], row["says"], verdict_of(row, found), why(row)] for row in rows]), ""]
    for row in rows:
        if "ours" in row:
            lines += claim_section(row, found)
    lines += tables.markdown(filled, performance.paragraph)
    return "\n".join(lines).rstrip("\n") + "\n"


def native_document(origin, rows):
    """The page of one CPU. `rows`: of the CSV (native.py)."""
    lines = ["# The papers' comparisons on a real CPU", "", "Written by `make repro NATIVE=1`.", "", *performance.markdown(performance.origin_cells(origin)), "",
             *performance.paragraph(native.cpu_line(rows) + " The papers' numbers are for other numbers of threads. AAHTM locks speculate by ordinary RTM."), ""]
    for claim, parts in native.tables(rows).items():
        lines += [f"## {claim}", "", *pages.table(["part", "threads", "found"], parts), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
