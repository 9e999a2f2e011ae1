# SPDX-License-Identifier: Apache-2.0
"""Holds a record of a real CPU against the virtual machine that describes it: which figures are compared, what is near enough, and the
section of docs/measured/fidelity.md. Pure.
"""

import dataclasses
import itertools
import re
import statistics

import pages
import silicon
from fidelity import LATENCY_SHARE, MEETS, MISSES, RATE_POINTS, RATE_SHARE

TIMED_PART = 50  # a workload that runs for a time runs for this part of it on the virtual machine: a throughput is a rate

# What a figure is, by the first pattern that its "job: name" matches. A figure of none, or of None, is not compared: counts of events and
# rounds, what is next to nothing, what belongs to a single tenth of a run, the clocks, which a description takes from the record as facts, and ratios of glibc's locks to themselves.
QUANTILES, FIRST = (1,), (0,)
KINDS = (
    (r".*(_tenths_|_dropped$|clock_ticks|warm_up|commit_percent_at|: transactions$|xbegin$|store_after_load)", None, ()),
    (r"clock: |lock_costs: ", None, ()),
    (r"loads: |instructions: |loops: |cache_to_cache: |empty_transaction: |branches: |page_walks: |streams: ", "latency", FIRST),
    (r"(shared_lines|transaction_parts): .*_ticks", "latency", FIRST),
    (r"kernel_costs: ", "latency", FIRST),
    (r"false_conflicts: |mutual_aborts: ", "percent", FIRST),
    (r"spurious: ", "rate", FIRST),
    (r"(read_set|write_set)\S*: largest", "latency", FIRST),
    (r"conflict_matrix: |conflicts: .*_(abort|conflict)_percent", "percent", (0, 1)),
    (r"conflicts: .*_ticks_an_attempt", "latency", (0, 1)),
    (r"vulnerable_window: ", "latency", (0, 2)),
    (r"(commit_cost|conflict_cost|aborted_lines|early_loads): ", "latency", QUANTILES),
    (r"store_overlap: ", "latency", (0, 1, 2, 3)),
    (r"handover: ", "latency", FIRST),
    (r"bank_\S*: million", "rate", FIRST),
    (r"bank_\S*: .*percent", "percent", FIRST),
    (r"updates_\S*: throughput", "rate", FIRST),
)


class BadRecord(Exception):
    """A list of records is wrong; the message says how."""


def jobs_of(record):
    """The record's jobs, as silicon.Job, with the same arguments but for the time that timed ones run."""
    found = []
    for name, entry in record["jobs"].items():
        if "not_run" in entry:
            continue
        words = list(entry["arguments"])
        for at, word in enumerate(words):
            if word in ("--seconds", "seconds"):
                words[at + 1] = f"{float(words[at + 1]) / TIMED_PART:g}"
        found.append(silicon.Job(name, entry["program"], tuple(words), tuple(entry.get("compare", ()))))
    return found


def kind_of(job, name):
    """(kind, positions); (None, ()) if the figure is not compared."""
    for pattern, kind, positions in KINDS:
        if re.match(pattern, f"{job}: {name}"):
            return kind, positions
    return None, ()


@dataclasses.dataclass(frozen=True)
class Row:
    """A figure of a probe, or of a workload that is not compared under designs."""

    job: str
    name: str
    kind: str
    low: float  # first quartile of the record
    median: float
    high: float
    virtual: float
    fitted: bool  # a value of the machine was searched on it

    @property
    def verdict(self):
        return MEETS if near(self.kind, self.virtual, self.low, self.median, self.high) else MISSES


def near(kind, virtual, low, median, high):
    """Within the share of the median that the kind allows, or between the quartiles, or within the points of a percentage."""
    share = LATENCY_SHARE if kind == "latency" else RATE_SHARE
    if low <= virtual <= high or abs(virtual - median) <= share * abs(median):
        return True
    return kind == "percent" and abs(virtual - median) <= RATE_POINTS


def rows_of(record, samples, fitted):
    """The rows of all jobs that have no designs. `samples`: {job: what it printed}; `fitted`: {(job, name, position)}."""
    rows = []
    for job, entry in record["jobs"].items():
        if "compare" in entry or job not in samples:
            continue
        for name, quantiles in entry["figures"].items():
            kind, positions = kind_of(job, name)
            columns = quantiles if isinstance(quantiles[0], list) else [quantiles]
            printed = samples[job].get(name, [])
            for position in positions:
                if kind is None or position >= min(len(columns), len(printed)):
                    continue
                shown = name if len(columns) == 1 or positions == QUANTILES else f"{name} [{position}]"
                low, median, high = columns[position][1:4]
                rows.append(Row(job, shown, kind, low, median, high, printed[position], (job, name, position) in fitted))
    return rows


@dataclasses.dataclass(frozen=True)
class Cell:
    """One number of a design in a compared job."""

    job: str
    design: str
    what: str
    real: tuple  # (low, median, high)
    virtual: float | None  # None: the design did not run to its end, or of a rate: it began no transaction

    @property
    def met(self):
        if self.virtual is None:
            return False
        low, median, high = self.real
        if self.what == RATIO:
            return near("rate", self.virtual, low, median, high)
        return near("percent", 100 * self.virtual, 100 * low, 100 * median, 100 * high)


RATIO = "throughput to pthread's"
COSTS, OTHER_RATES, ORDER = "costs and latencies", "rates", "pairs in the same order"
COMMITS, SPECULATIONS, FALL_BACKS = RATES = ("commits per begin", "speculations per section", "fall-backs per section")


def cells_of(values):
    """{(design, what): number} of one machine's {figure: number} of a compared job."""
    cells = {}
    for design in dict.fromkeys(name.split(".")[0] for name in values):
        if f"{design}.result" not in values or "pthread.result" not in values:
            continue
        if design != "pthread":
            cells[design, RATIO] = values[f"{design}.result"] / values["pthread.result"]
        cells.update({(design, what): number for what, number in rates_of(values, design).items()})
    return cells


def rates_of(values, design):
    """{what: number} of a design, if it began transactions. One that neither commits nor falls back only speculates."""
    commits, aborts = values[f"{design}.commits"], sum(number for name, number in values.items() if name.startswith(f"{design}.aborts."))
    fallbacks, speculations = values[f"{design}.fallbacks"], values[f"{design}.speculations"]
    sections = commits + values[f"{design}.acquisitions"]
    if commits + aborts and (commits or fallbacks):
        return {COMMITS: commits / (commits + aborts), FALL_BACKS: fallbacks / sections}
    return {SPECULATIONS: speculations / sections} if speculations else {}


def medians_of(entry):
    return {name: row[2] for name, row in entry["figures"].items()}


def compared_cells(record, samples):
    """The Cells of all compared jobs."""
    found = []
    for job, entry in record["jobs"].items():
        if "compare" not in entry or job not in samples:
            continue
        real, virtual = cells_of(medians_of(entry)), cells_of({name: row[0] for name, row in samples[job].items()})
        for (design, what), median in real.items():
            none = 0.0 if what == SPECULATIONS and f"{design}.result" in samples[job] else None
            found.append(Cell(job, design, what, around(entry, design, what, median), virtual.get((design, what), none)))
    return found


def around(entry, design, what, median):
    """(low, median, high) of a cell: of a ratio from the quartiles of both throughputs."""
    if what != RATIO:
        return median, median, median
    ours, theirs = entry["figures"][f"{design}.result"], entry["figures"]["pthread.result"]
    return ours[1] / theirs[3], median, ours[3] / theirs[1]


def order_of(record, samples):
    """(pairs of designs in the same order, pairs whose real quartiles are apart), over all compared jobs, and [what differs]."""
    same, apart, differ = 0, 0, []
    for job, entry in record["jobs"].items():
        if "compare" not in entry or job not in samples:
            continue
        results = {name.removesuffix(".result"): row for name, row in entry["figures"].items() if name.endswith(".result")}
        for one, other in itertools.combinations(results, 2):
            slower, faster = sorted((one, other), key=lambda design, results=results: results[design][2])
            if results[slower][3] >= results[faster][1]:
                continue
            mine = [samples[job].get(f"{design}.result") for design in (slower, faster)]
            if None in mine:
                continue
            apart += 1
            if mine[0][0] < mine[1][0]:
                same += 1
            else:
                differ.append((job, faster, slower))
    return same, apart, differ


def ratio_text(virtual, real):
    return f"{virtual / real:.2f}" if real else "-"


def share_text(met, every):
    return f"{met} of {every}"


TITLE = "# Fidelity"
HEADING, PUBLISHED = "## Real records", "## Published figures"

PREAMBLE = """\
Records of real CPUs ([repro/silicon](../../repro/silicon/README.md)) beside virtual machines that describe them. `tools/describe-machine`
wrote each machine file from the micro-probes of the record; its workloads have never been looked at. The same programs run with the same
arguments; timed ones run for a fiftieth of the time, because a throughput is a rate. A cost or a latency meets within {latency:.0f} % of the record's
median, a rate within {rate:.0f} %, a percentage also within {points:.0f} points, and each between the record's quartiles. *Fitted*: a value of the
machine was searched on this figure, so that a match only shows that the search ended.
"""


def counts(rows, cells, order):
    """{what: (how many meet, how many there are)}, without what was searched on."""
    free = [row for row in rows if not row.fitted]
    found = {COSTS: [row.verdict == MEETS for row in free if row.kind == "latency"],
             OTHER_RATES: [row.verdict == MEETS for row in free if row.kind != "latency"],
             **{what: [cell.met for cell in cells if cell.what == what] for what in (RATIO, *RATES)}}
    return {**{what: (sum(met), len(met)) for what, met in found.items()}, ORDER: order[:2]}


def summary(rows, cells, order):
    found = counts(rows, cells, order)
    lines = [f"{share_text(*found[COSTS])} costs and latencies that nothing was searched on meet, "
             f"{share_text(*found[OTHER_RATES])} rates, and of the fitted ones "
             f"{share_text(sum(row.verdict == MEETS for row in rows if row.fitted), sum(row.fitted for row in rows))}."]
    lines += [f"{what[0].upper()}{what[1:]}: {share_text(*found[what])} cells of workloads meet." for what in (RATIO, *RATES) if found[what][1]]
    stopped = [cell for cell in cells if cell.what == RATIO and cell.virtual is None]
    if stopped:
        lines.append(f"{len(stopped)} designs of jobs did not run to their end on the virtual machine, and count as misses.")
    lines.append(f"Of pairs of designs whose real throughputs are apart by more than their quartiles, {share_text(*found[ORDER])} "
                 "are in the same order.")
    return lines


def is_same_part(one, other):
    """Whether two records are of CPUs with the same signature."""
    return all(one["host"]["cpu"][key] == other["host"]["cpu"][key] for key in ("family", "model", "stepping"))


def printed(record):
    """{job: {figure: [numbers by position]}} with the medians of a record, as if a machine had printed them."""
    return {job: {name: [row[2] for row in (rows if isinstance(rows[0], list) else [rows])] for name, rows in entry["figures"].items()}
            for job, entry in record["jobs"].items()}


def other_days(record, virtual, others, fitted):
    """Lines of a table: how near the virtual machine is, and how near other records of the same part are by the same rules. `virtual`: what
    counts() has of the virtual machine; `others`: {name: record}; `fitted`: as for rows_of()."""
    found = {"the virtual machine": virtual}
    for name, other in others.items():
        samples = printed(other)
        found[name] = counts(rows_of(record, samples, fitted), compared_cells(record, samples), order_of(record, samples))
    what = [column for column in virtual if virtual[column][1]]
    return pages.table(("in place of the record", *what),
                       [[name, *(share_text(*one[column]) for column in what)] for name, one in found.items()])


def probe_rows(rows):
    return [[f"{row.job}: {row.name}", pages.number_text(row.median), f"{pages.number_text(row.low)} to {pages.number_text(row.high)}",
             pages.number_text(row.virtual), ratio_text(row.virtual, row.median), "fitted" if row.fitted and row.verdict == MEETS else row.verdict]
            for row in rows]


def cell_text(cell):
    if cell is None:
        return ""
    text = f"{pages.number_text(cell.real[1])} / {'-' if cell.virtual is None else pages.number_text(cell.virtual)}"
    return text if cell.met else f"**{text}**"


def cell_rows(cells):
    by_place = {(cell.job, cell.design, cell.what): cell for cell in cells}
    places = dict.fromkeys((cell.job, cell.design) for cell in cells)
    return [[job, design, *(cell_text(by_place.get((job, design, what))) for what in (RATIO, *RATES))] for job, design in places]


def section(name, machine, rows, cells, order, days, reasons):
    """One record. `days`: other_days(), or nothing; `reasons`: lines on what misses."""
    lines = [f"### {name} on {machine}", "", *summary(rows, cells, order), ""]
    if days:
        lines += ["Other records of the same part, by the same rules: what another host or another day changes, no model can know.", "", *days, ""]
    lines += pages.table(("figure", "record", "quartiles", "virtual", "ratio", "verdict"), probe_rows(rows))
    if cells:
        lines += ["", "Workloads under designs, record / virtual; in bold what misses:", ""]
        lines += pages.table(("job", "design", RATIO, *RATES), cell_rows(cells))
    if order[2]:
        shown = "; ".join(f"{job}: {faster} before {slower}" for job, faster, slower in order[2][:12])
        lines += ["", f"In another order than on the real CPU, where the first of each pair is faster ({len(order[2])}"
                  f"{', the first 12' if len(order[2]) > 12 else ''}): {shown}."]
    if reasons:
        lines += ["", "Why figures miss, as far as known:", "", *(f"- {reason}" for reason in reasons)]
    return lines


def pages_section(sections):
    """All records, as fidelity.md has them."""
    preamble = PREAMBLE.format(latency=100 * LATENCY_SHARE, rate=100 * RATE_SHARE, points=RATE_POINTS).splitlines()
    return [HEADING, "", *preamble, "", *itertools.chain.from_iterable([*lines, ""] for lines in sections)]


def splice(page, records):
    """The page with these lines as its section on real records, before the published figures; a page without that section gets it."""
    title, _, rest = page.partition("\n")
    if title != TITLE:
        raise BadRecord("the page does not begin with its title")
    _, found, published = rest.partition(f"\n{PUBLISHED}\n")
    published = published if found else rest
    return "\n".join([TITLE, "", *records, PUBLISHED, "", published.lstrip("\n")])


def medians(samples):
    """{figure: [medians by position]} of several runs of a job."""
    names = dict.fromkeys(name for sample in samples for name in sample)
    return {name: [statistics.median(numbers) for numbers in zip(*(sample[name] for sample in samples if sample.get(name)))]
            for name in names}
