# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the rows of claims.toml, without their figures (figures.py). Pure."""

import re

import claims

RUNS_KEYS = {"machine", "options", "program", "settings", "full", "quick", "inputs", "native", "native_inputs", "profiler"}
STATEMENT_KEYS = {"says", "metric", "of", "over", "base", "mean", "range", "values", "tolerance", "points", "each"}
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
            yield from (f"{name}: {problem}" for problem in runs_problems(runs))
        if "ours" in row:
            yield from (f"{name}: {problem}" for problem in _statement_problems(claims.Claim(row)))


def runs_problems(runs):
    """What is wrong with the table that says what runs."""
    for key in sorted(set(runs) - RUNS_KEYS - {"statement"}):
        yield f"unknown '{key}' beside machine and program"
    for key in ("machine", "program"):
        if not runs.get(key):
            yield f"no {key} to run"
    if "profiler" in runs and "{" in runs.get("options", ""):
        yield "settings in options, which do not apply to profiled runs"
    for name in sorted(set(runs.get("full", {})) - set(runs.get("settings", {}))):
        yield f"full: unknown setting '{name}'"


def names_of(ours):
    """The settings that a program, its options and its machine name."""
    names = set(re.findall(r"{(\w+)}", ours["machine"] + ours["program"] + ours.get("options", "")))
    if "profiler" in ours:
        names.add("profiled")
    if "inputs" not in ours:
        return names
    sized = any(isinstance(program, dict) for program in ours["inputs"].values())
    return names - {"input"} | {"application"} | ({"size"} if sized else set())


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
        if "points" in statement and ("over" not in statement or "base" in statement):
            yield f"{statement['says']}: points are for a ratio"
        if "base" in statement and "over" not in statement:
            yield f"{statement['says']}: base without over"
    try:
        names, statements = names_of(claim.ours), claim.statements()
        for own in (claim, claim.whole()):
            for cell in claims.cells_of(own, 1):
                claims.command("", own, cell, "")
    except MALFORMED as error:
        yield f"{type(error).__name__}: {error}"
        return
    for statement in statements:
        if not statement.low <= statement.high:
            yield f"{statement.says}: an empty range"
        for settings in statement.runs:
            if set(claim.ours.get("settings", {})) | set(settings) != names:
                yield f"{statement.says}: its settings are not those of the program and its options"
