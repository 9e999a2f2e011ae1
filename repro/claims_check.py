# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the rows of claims.toml, without their figures (figures.py). Pure."""

import re

import claims

RUNS_KEYS = {"machine", "options", "program", "settings", "quick", "inputs", "native", "native_inputs"}
STATEMENT_KEYS = {"says", "metric", "of", "over", "base", "mean", "range", "values", "tolerance", "each"}
MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)  # what data of another shape ends in


def problems(rows):
    """What is wrong with the rows of claims.toml, a line each."""
    for row in rows:
        name = row.get("id", "a row without id")
        ways = [key for key in ("ours", "tool", "missing") if key in row]
        if len(ways) != 1:
            yield f"{name}: one of ours, tool and missing, not {', '.join(ways) or 'none'}"
        for key in ("id", "paper", "where", "says", "workload", "machine", "kind"):
            if not row.get(key):
                yield f"{name}: no {key}"
        if runs := claims.Claim(row).runs:
            yield from (f"{name}: {problem}" for problem in _runs_problems(runs))
        if "ours" in row:
            yield from (f"{name}: {problem}" for problem in _statement_problems(claims.Claim(row)))


def _runs_problems(runs):
    for key in sorted(set(runs) - RUNS_KEYS - {"statement"}):
        yield f"unknown '{key}' beside machine and program"
    for key in ("machine", "program"):
        if not runs.get(key):
            yield f"no {key} to run"


def names_of(ours):
    """The settings that a program and its options name."""
    names = set(re.findall(r"{(\w+)}", ours["program"] + ours.get("options", "")))
    return names - {"input"} | {"application"} if "inputs" in ours else names


def _statement_problems(claim):
    if not claim.ours.get("statement"):
        yield "no statement"
    for statement in claim.ours.get("statement", []):
        for key in sorted(set(statement) - STATEMENT_KEYS):
            yield f"unknown '{key}' in a statement"
        if statement.get("metric", "throughput") not in claims.METRICS:
            yield f"no metric '{statement['metric']}'"
        if "says" not in statement:
            yield "a statement without says"
            return
        if ("range" in statement) == ("values" in statement):
            yield f"{statement['says']}: one of range and values"
            return
        if "base" in statement and "over" not in statement:
            yield f"{statement['says']}: base without over"
    try:
        names, statements = names_of(claim.ours), claim.statements()
        for cell in claims.cells_of(claim, 1):
            claims.command("", claim, cell, "")
    except MALFORMED as error:
        yield f"{type(error).__name__}: {error}"
        return
    for statement in statements:
        if not statement.low <= statement.high:
            yield f"{statement.says}: an empty range"
        for settings in statement.runs:
            if set(claim.ours.get("settings", {})) | set(settings) != names:
                yield f"{statement.says}: its settings are not those of the program and its options"
