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
    """`settings`: of (name, value). Names with equal settings have equal texts."""
    return "; ".join(f"{name}={value}" for name, value in settings)


def machine_hash(values):
    """Of a machine file as a variation has it. `values`: what `elision machines --format csv` prints. Sources do not count."""
    named = sorted((row["field"], row["value"]) for row in csv.DictReader(io.StringIO(values)))
    return hashlib.sha256(repr(named).encode()).hexdigest()


def measured(metric, result):
    """The value, or None if the run says nothing about it."""
    try:
        return claims.METRICS[metric](result)
    except claims.NotMeasured:
        return None


def _shown(value):
    return "" if value is None else f"{value:.6g}"


def row_of(cell, machine, machine_sha256, words, result):
    """One run. `words`: its command; `result`: what is stored of it."""
    measures = [_shown(measured(metric, result)) for metric in METRICS]
    options, program = words[words.index("--seed") + 2:words.index("--stats")], words[words.index("--") + 1:]
    seed = words[words.index("--seed") + 1]
    return [cell.claim, settings_text(cell.settings), cell.variation, seed, machine, machine_sha256, " ".join(options),
            " ".join([program[0].rpartition("/workloads/")[2], *program[1:]]), *measures, f"{result['seconds']:.2f}",
            result["commit"], "yes" if result["changed"] else "no", result["elision"]]


def summary_rows(results, machine_of):
    """One row for all variations of a run. `results`: {cell: result}; `machine_of`: {claim: name}."""
    groups = {}
    for cell, result in results.items():
        groups.setdefault((cell.claim, cell.settings), []).append(result)
    for (claim, settings), group in groups.items():
        row = [claim, settings_text(settings), machine_of[claim], len(group)]
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
    """{(claim, text of the settings): seconds} of a summary."""
    return {(row["claim"], row["settings"]): float(row["seconds"]) for row in csv.DictReader(io.StringIO(summary))}
