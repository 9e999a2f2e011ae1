# SPDX-License-Identifier: Apache-2.0
"""Hidden parts: virtual machines whose uncertain values were drawn, recorded like real parts, and described from the records.
Which jobs are recorded, what counts as recovered, and the page. Pure.
"""

import dataclasses
import random

import describe
import pages
import records
import silicon

MACHINE = "xeon-gold-5520plus"
PARTS = 8
DRAW_SEED = 2026  # of the numbers of the variations
ROUNDS = 2
MOST_PARTS = 9999  # variations to draw from
QUICK_PARAMETERS = ("clock.core_mhz", "instructions.pause_cycles", "core.branch_misprediction_cycles", "coherence.clean_transfer_ns")
VALUE_SHARE = 0.15
CLOCK_JOB = "clock"  # without it describe.facts_of() has no frequency, and no clock of a core
CELL_SHARE, CELL_POINTS = 0.25, 0.02  # of a ratio of throughputs or a rate; a rate may also be that much off

DESIGNS = ("pthread", "tatas", "htm-10", "ticket-aahtm")
SECONDS = "0.005"
HIDDEN_SEEDS, OTHER_SEEDS = (101, 102), (201, 202)


def variations(parts=PARTS):
    """The numbers of the drawn machines, which the description never sees."""
    return random.Random(DRAW_SEED).sample(range(1, MOST_PARTS + 1), parts)


def probes_of(parameters=None):
    """The jobs of a record that determine the parameters, with a tenth of their work, and the clock, in whose cycles most of them count.
    Rare aborts need all of their work."""
    wanted = {"clock.core_mhz": CLOCK_JOB}
    for row in describe.rows():
        if parameters is None or row.parameter in parameters:
            wanted.setdefault(row.parameter, row.figure.job)
    whole = {job.name: job for job in silicon.plan(False)}
    return [whole[job.name] if job.name == "spurious" else job for job in silicon.plan(True) if job.name in wanted.values()]


def workloads():
    """Compared jobs of a record, for a shorter time: a throughput is a rate."""
    chosen = ("arraybench_10_low_park", "arraybench_10_high_park", "arraybench_100_high_park", "onelock_map", "packets")
    found = []
    for job in silicon.plan(False):
        if job.name in chosen:
            words = list(job.arguments)
            if "--seconds" in words:
                words[words.index("--seconds") + 1] = SECONDS
            found.append(dataclasses.replace(job, arguments=tuple(words)))
    return found


def value_met(hidden, recovered):
    if isinstance(hidden, str):
        return hidden == recovered
    return abs(recovered - hidden) <= VALUE_SHARE * abs(hidden)


def cell_met(what, hidden, other):
    near = abs(other - hidden) <= CELL_SHARE * abs(hidden)
    return near or (what != records.RATIO and abs(other - hidden) <= CELL_POINTS)


@dataclasses.dataclass
class Part:
    """One hidden machine and what became of it."""

    number: int  # of the variation
    hidden: dict  # {field: drawn value}
    recovered: dict  # {field: value}, of the same fields
    determined: set
    cells: dict = dataclasses.field(default_factory=dict)  # {(job, design, what): Cell}


@dataclasses.dataclass
class Cell:
    hidden: float
    recovered: float
    started: float  # the machine with the best guesses
    explained: float | None = None  # of a missing cell: recovered, with the hidden values of what no figure determines
    again: float | None = None  # of a missing cell: the hidden machine with the recovered one's seeds


def kept(part):
    """A part as JSON can hold it; restored() reads it."""
    return {**vars(part), "determined": sorted(part.determined), "cells": [[*key, vars(cell)] for key, cell in part.cells.items()]}


def restored(values):
    return Part(**{**values, "determined": set(values["determined"]),
                   "cells": {tuple(key): Cell(**cell) for *key, cell in values["cells"]}})


def explanation(cell, what):
    if cell.again is not None and not cell_met(what, cell.hidden, cell.again):
        return "chance: the hidden machine itself differs as much with other seeds"
    if cell.explained is not None and cell_met(what, cell.hidden, cell.explained):
        return "values that no figure determines: with them as hidden, it meets"
    return "not explained: with the hidden values of what no figure determines, it still misses"


PREAMBLE = """\
# Hidden parts

Written by `tools/hidden-parts`. Variations of `{machine}` ({parts} here, of the {all} that `make hidden-parts` takes) are recorded by `tools/silicon --machine` as if they were real parts: every uncertain
value is drawn anew, and the record does not say which. `tools/describe-machine` starts from the best guesses and describes each part from
its record, by micro-probes alone. Since here the true values are known, the page tells what a record determines, and what a description of a
real part is worth: how near workloads come, which the description has never seen, with other seeds.
"""


def summary(parts):
    looked_for = [(part, field) for part in parts for field in part.hidden if field in part.determined]
    met = sum(value_met(part.hidden[field], part.recovered[field]) for part, field in looked_for)
    every = sum(len(part.hidden) for part in parts)
    cells = [(key, cell) for part in parts for key, cell in part.cells.items()]
    lines = [f"{met} of {len(looked_for)} values that figures determine are within {VALUE_SHARE:.0%} of the hidden one; {every - len(looked_for)} of "
             f"{every} hidden values are not looked for."]
    if cells:
        near = sum(cell_met(key[2], cell.hidden, cell.recovered) for key, cell in cells)
        before = sum(cell_met(key[2], cell.hidden, cell.started) for key, cell in cells)
        lines.append(f"{near} of {len(cells)} cells of workloads are within {CELL_SHARE:.0%}; with the best guesses instead of the description, {before}.")
    return lines


def fields_of(parts):
    """(those that figures of a part at least determine, the others)."""
    determined = set().union(*(part.determined for part in parts))
    return [field for field in parts[0].hidden if field in determined], [field for field in parts[0].hidden if field not in determined]


def value_text(part, field):
    if field not in part.determined:
        return "-"
    text = f"{part.hidden[field]} → {part.recovered[field]}"
    return text if value_met(part.hidden[field], part.recovered[field]) else f"**{text}**"


def value_rows(parts):
    rows = []
    for field in fields_of(parts)[0]:
        looking = [part for part in parts if field in part.determined]
        met = sum(value_met(part.hidden[field], part.recovered[field]) for part in looking)
        rows.append([f"`{field}`", *(value_text(part, field) for part in parts), f"{met} of {len(looking)}"])
    return rows


def cell_rows(parts):
    rows = []
    for key in dict.fromkeys(key for part in parts for key in part.cells):
        having = [part.cells[key] for part in parts if key in part.cells]
        met = sum(cell_met(key[2], cell.hidden, cell.recovered) for cell in having)
        before = sum(cell_met(key[2], cell.hidden, cell.started) for cell in having)
        worst = max(having, key=lambda cell: abs(cell.recovered - cell.hidden))
        rows.append([*key, f"{met} of {len(having)}", f"{before} of {len(having)}",
                     f"{pages.number_text(worst.hidden)} → {pages.number_text(worst.recovered)}"])
    return rows


def page(parts):
    lines = PREAMBLE.format(parts=len(parts), all=PARTS, machine=MACHINE).splitlines() + ["", *summary(parts), "", "## Values", "",
             "Hidden → recovered; in bold what misses; - where no figure of the part responds.", ""]
    lines += pages.table(["value", *(f"part {index + 1}" for index in range(len(parts))), "met"], value_rows(parts))
    lines += ["", "Not looked for:", ""]
    lines += [f"- `{field}`: {describe.UNDETERMINED.get(field, 'its figure does not respond')}" for field in fields_of(parts)[1]]
    lines += ["", "Few events stand behind `transactions.spurious_aborts_per_million`: a run of a million transactions has a handful of such aborts, and the "
              "timer's among them."]
    if parts[0].cells:
        lines += ["", "## Workloads", "",
                  f"Each {SECONDS} s of virtual time, medians of {len(HIDDEN_SEEDS)} seeds. A rate may also be {100 * CELL_POINTS:.0f} points off. *Best guesses*: the machine that the "
                  "description starts from, in place of the described one. The worst cell is the farthest from the hidden machine, hidden → recovered.", ""]
        lines += pages.table(["job", "design", "figure", "met", "best guesses", "worst"], cell_rows(parts))
        lines += ["", "## Cells that miss", ""]
        lines += missing_cells(parts) or ["None does."]
    return "\n".join(lines) + "\n"


def missing_cells(parts):
    about = {}
    for index, part in enumerate(parts):
        for key, cell in part.cells.items():
            if not cell_met(key[2], cell.hidden, cell.recovered):
                about.setdefault(explanation(cell, key[2]), []).append(
                    f"part {index + 1}, {' '.join(key)}: {pages.number_text(cell.hidden)} → {pages.number_text(cell.recovered)}")
    return [f"- **{why[0].upper()}{why[1:]}.** {'; '.join(cells)}." for why, cells in about.items()]
