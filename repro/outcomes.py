# SPDX-License-Identifier: Apache-2.0
"""Runs of the claims as CSV: one row a run, or one row for all variations of a run. Pure."""

import csv
import hashlib
import io

import claims
from ranges import Range

METRICS = tuple(claims.METRICS)
COLUMNS = ("claim", "settings", "variation", "seed", "machine", "machine sha256", "options", "program", *METRICS, "seconds", "commit", "changed", "elision")
SUMMARY = ("claim", "settings", "machine", "variations", *(f"{metric}: {part}" for metric in METRICS for part in ("low", "median", "high")), "seconds")


def settings_text(settings):
    """Returns the settings as text; equal settings have equal texts. `settings`: pairs (name, value)."""
    return "; ".join(f"{name}={value}" for name, value in settings)


def machine_hash(values):
    """Returns the hash of a variation's machine. `values`: the output of `elision machines --format csv`. The hash leaves out sources."""
    named = sorted((row["field"], row["value"]) for row in csv.DictReader(io.StringIO(values)))
    return hashlib.sha256(repr(named).encode()).hexdigest()


def measured(metric, result):
    """Returns the value, or None if the run has no such metric."""
    try:
        return claims.METRICS[metric](result)
    except claims.NotMeasured:
        return None


def _shown(value):
    return "" if value is None else f"{value:.6g}"


def row_of(cell, machine, machine_sha256, words, result):
    """Returns the row of one run. `words`: its command; `result`: its stored result."""
    measures = [_shown(measured(metric, result)) for metric in METRICS]
    options, program = words[words.index("--seed") + 2:words.index("--stats")], words[words.index("--") + 1:]
    seed = words[words.index("--seed") + 1]
    return [cell.claim, settings_text(cell.settings), cell.variation, seed, machine, machine_sha256, " ".join(options),
            " ".join([program[0].rpartition("/workloads/")[2], *program[1:]]), *measures, f"{result['seconds']:.2f}",
            result["commit"], "yes" if result["changed"] else "no", result["elision"]]


def summary_rows(results, machine_of):
    """One row for all variations of a run. `results`: {cell: result}; `machine_of`: {claim: name, which may have settings in it}."""
    groups = {}
    for cell, result in results.items():
        groups.setdefault((cell.claim, cell.settings), []).append(result)
    for (claim, settings), group in groups.items():
        row = [claim, settings_text(settings), claims.machine(machine_of[claim], settings), len(group)]
        for metric in METRICS:
            values = [value for value in (measured(metric, result) for result in group) if value is not None]
            own = Range.of(values) if values else None
            row += [_shown(part) for part in ((own.low, own.median, own.high) if own else (None, None, None))]
        yield [*row, f"{sum(result['seconds'] for result in group) / len(group):.2f}"]


def text(columns, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def seconds_in(summary):
    """Returns {(claim, text of the settings): seconds} for a summary."""
    return {(row["claim"], row["settings"]): float(row["seconds"]) for row in csv.DictReader(io.StringIO(summary))}
