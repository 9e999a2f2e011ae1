# SPDX-License-Identifier: Apache-2.0
"""Holds the probes on virtual machines against figures measured on real ones: which runs to make, what the targets are,
and the page that says how it came out. Pure: nothing here starts a program or reads a file.

A figure is what figures_of() makes of a [[figure]] of hardware.toml. A sample is what one run printed, as
{"name": [numbers]}.
"""

import dataclasses
import statistics

import pages
import probes
# The targets. A latency (or the cost of an instruction, or a size) may be off by so much of the real figure; a rate (a
# throughput, commits, aborts) must lie inside the measured range, or within so much of it, or within so many points.
LATENCY_SHARE = 0.15
RATE_SHARE = 0.25
RATE_POINTS = 2.0

KINDS = ("latency", "rate", "information")
UNITS = {
    # name of a unit: how its numbers are shown
    "percent": " %", "cycles": " cycles", "ns": " ns", "per million": " per million", "million a second": " M/s",
    "megabytes": " MB", "kilobytes": " KB",
}
# What parameters without a source may be fitted on; never on anything else.
MAY_BE_FITTED_ON = ("loads", "cache-to-cache", "empty-transaction", "abort-cost", "conflict-matrix")

MEETS, MISSES, SHOWN = "meets", "misses", "-"
UNKNOWN_REASON = "Not known yet."


class BadList(Exception):
    """hardware.toml is wrong; the message names the figure."""


def figures_of(document):
    """The figures of hardware.toml, each with what its published measurement says and the text of its reason."""
    figures = []
    for entry in document["figure"]:
        name = f"{entry.get('of')}: {entry.get('what')}"
        if entry.get("of") not in document["published"]:
            raise BadList(f"{name}: no [published.{entry.get('of')}]")
        if entry.get("why", None) not in (None, *document["reasons"]):
            raise BadList(f"{name}: no reason '{entry['why']}'")
        figure = {**document["published"][entry["of"]], **entry}
        figure["why"] = document["reasons"].get(entry.get("why"), UNKNOWN_REASON)
        check(figure, name)
        figures.append(figure)
    for entry in document.get("fitted", []):
        if entry["on"] not in MAY_BE_FITTED_ON:
            raise BadList(f"{entry['parameter']}: may not be fitted on {entry['on']}")
    return figures


def check(figure, name):
    for field in ("what", "probe", "machine", "measured_on", "measures", "low", "high", "unit", "kind", "does", "source"):
        if field not in figure:
            raise BadList(f"{name}: no {field}")
    for field, known in (("kind", KINDS), ("unit", tuple(UNITS))):
        if figure[field] not in known:
            raise BadList(f"{name}: {field} is '{figure[field]}', not one of: {', '.join(known)}")
    if figure["low"] > figure["high"]:
        raise BadList(f"{name}: low is above high")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a probe."""

    machine: str
    probe: str
    arguments: tuple
    seed: int
    variation: int  # 0: the machine with its best guesses


def runs_of(figure, seeds, variations, quick=False):
    """The runs that a figure is judged by: every seed with the best guesses, and one of each variation."""
    arguments = tuple(figure.get("quick", figure.get("arguments", ())) if quick else figure.get("arguments", ()))
    pairs = [(seed, 0) for seed in seeds] + [(seeds[0], variation) for variation in variations]
    return [Run(figure["machine"], figure["probe"], arguments, seed, variation) for seed, variation in pairs]


def plan(figures, seeds, variations, quick=False):
    """All runs once, in the order of the figures: those of several figures of one probe are shared."""
    return list(dict.fromkeys(run for figure in figures for run in runs_of(figure, seeds, variations, quick)))


def acceptable(figure):
    """The (lowest, highest) value that meets the target; None for a figure that is only shown."""
    low, high = figure["low"], figure["high"]
    if figure["kind"] == "latency":
        return low * (1 - LATENCY_SHARE), high * (1 + LATENCY_SHARE)
    if figure["kind"] == "rate":
        points = RATE_POINTS if figure["unit"] == "percent" else 0
        return min(low * (1 - RATE_SHARE), low - points), max(high * (1 + RATE_SHARE), high + points)
    return None


def verdict(figure, value):
    bounds = acceptable(figure)
    if bounds is None:
        return SHOWN
    return MEETS if bounds[0] <= value <= bounds[1] else MISSES


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a figure came to: the median over seeds with the best guesses, and the ends over all runs."""

    figure: dict
    median: float
    low: float
    high: float

    @property
    def verdict(self):
        return verdict(self.figure, self.median)


class NotMeasured(Exception):
    """A probe printed nothing under the name of a figure."""


def numbers_of(figure, sample, megahertz):
    """The numbers of a run that a figure is about, in its unit: probes print ticks of the machine's base frequency."""
    numbers = probes.measured(figure, sample)
    if numbers is None:
        raise NotMeasured(f"{figure['probe']} printed no '{figure['measures'][0]}'")
    return [number / megahertz * 1000 if figure["unit"] == "ns" else number for number in numbers]


def outcome(figure, samples, megahertz):
    """The Outcome of a figure; `samples` is {Run: sample}, of its machine and arguments at least."""
    numbers = {run: numbers_of(figure, sample, megahertz) for run, sample in samples.items()}
    best = [number for run, found in numbers.items() if run.variation == 0 for number in found]
    every = [number for found in numbers.values() for number in found]
    return Outcome(figure, statistics.median(best), min(every), max(every))


def outcome_of(figure, samples, megahertz, seeds, variations, quick=False):
    """As outcome(), of all samples of a plan; megahertz is {machine: base frequency}."""
    runs = runs_of(figure, seeds, variations, quick)
    return outcome(figure, {run: samples[run] for run in runs}, megahertz[figure["machine"]])


def range_text(low, high):
    low, high = pages.number_text(low), pages.number_text(high)
    return low if low == high else f"{low} to {high}"


def what(figure):
    """The figure's name for people: the probe and what of it."""
    return f"{figure['of']}: {figure['what']}"


COLUMNS = ("probe", "virtual machine", "ours", "over all runs", "real", "verdict")


def row(one):
    unit = UNITS[one.figure["unit"]]
    return (what(one.figure), one.figure["machine"], pages.number_text(one.median) + unit, range_text(one.low, one.high),
            range_text(one.figure["low"], one.figure["high"]) + unit, one.verdict)


def table(outcomes):
    """Lines for a terminal."""
    rows = [COLUMNS, *map(row, outcomes)]
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() for cells in rows]


def summary(outcomes):
    judged = [one for one in outcomes if one.verdict != SHOWN]
    met = sum(one.verdict == MEETS for one in judged)
    return f"{met} of {len(judged)} figures meet their target."


PREAMBLE = """\
# Fidelity

Written by `make fidelity`: the probes on virtual machines, beside figures that others measured on real CPUs. The
figures with their sources, and the reasons for those that miss, are in [hardware.toml](../../repro/hardware.toml), the targets
in `repro/fidelity.py`.

*Ours* is the median of {seeds} seeds on the machine with its best guesses; *over all runs* adds {variations}
variations, in which the uncertain values are drawn anew ([machines](../guide/machines.md#variations)). A latency, the cost of an
instruction or a size meets its target within {latency:.0f} % of the real figure. A throughput or a share of commits or
aborts meets it inside the measured range, within {rate:.0f} % of it, or within {points:.0f} points. Figures without a target are
for information.
"""


def page(outcomes, taken, fitted, seeds, variations):
    """docs/measured/fidelity.md. `taken` and `fitted` are hardware.toml's lists of parameters and where they come from."""
    counted = f"{variations}" if variations else "no"
    lines = PREAMBLE.format(seeds=seeds, variations=counted, latency=100 * LATENCY_SHARE, rate=100 * RATE_SHARE,
                            points=RATE_POINTS).splitlines()
    lines += ["", summary(outcomes), "", *pages.table(COLUMNS, map(row, outcomes))]
    lines += ["", "## Why a figure misses", ""]
    missing = [one for one in outcomes if one.verdict == MISSES]
    lines += reasons(missing) or ["None does."]
    lines += ["", "## Which parameters rest on these probes", "",
              "These are a probe's published figure itself, so a match only shows that the model charges what the file "
              "says:", ""]
    lines += [f"- {parameter_text(entry)}" for entry in taken]
    lines += ["", "These have no source and were fitted on a probe. Only " + ", ".join(MAY_BE_FITTED_ON) + " may be used for "
              "that, never the bank, the read set or a paper's claim:", ""]
    lines += [f"- {parameter_text(entry)}" for entry in fitted] or ["- none"]
    lines += ["", "## Where the figures were measured", ""]
    lines += sources(outcomes)
    return "\n".join(lines) + "\n"


def reasons(missing):
    """A paragraph for each reason, naming the figures that it is about."""
    about = {}
    for one in missing:
        about.setdefault(one.figure["why"], []).append(what(one.figure))
    return [f"- **{'; '.join(names)}.** {why}" for why, names in about.items()]


def parameter_text(entry):
    return f"`{entry['parameter']}` from {entry['on']}: {entry['how']}"


def sources(outcomes):
    about = {}
    for one in outcomes:
        about.setdefault((one.figure["of"], one.figure["does"], one.figure["source"]), {})[one.figure["measured_on"]] = None
    return [f"- **{name}**, {', '.join(machines)}: {does}. Source: {source}."
            for (name, does, source), machines in about.items()]
