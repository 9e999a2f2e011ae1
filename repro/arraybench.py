# SPDX-License-Identifier: Apache-2.0
"""ArrayBench on the virtual machine: which cells to run, what they say about the AAHTM paper's claims.

Pure: nothing here starts a program or reads a file. A measurement is a mapping from Cell to Result.
"""

import collections
import dataclasses

from ranges import Range

MACHINE = "xeon-e5-2697v4"
LOST_LINES = MACHINE + ",transactions.aborted_lines=lost"
DESIGNS = ("pthread", "tatas", "ticket", "htm-1", "htm-10", "tatas-aahtm", "ticket-aahtm")
AAHTM = ("tatas-aahtm", "ticket-aahtm")
ELIDED = ("htm-1", "htm-10")
CONFIGURATIONS = tuple((writes, contention) for writes in (10, 100) for contention in ("low", "high"))
THREADS = (1, 4, 8, 18)
MOST_THREADS = THREADS[-1]
VARIATIONS = 8  # of the machine, at the number of threads by which claims are judged; elsewhere the best guesses

# The forms of the locks. The first is the paper's, by which claims are judged: htm-N waits inside the
# transaction, does not count that as a try and backs off between tries; speculation runs on past unlock.
PAPER = "paper"
ABORT_AT_UNLOCK = "abort at unlock"
BUSY_COUNTS = "loop aborts count as tries"
LINES_LOST = "lines of an aborted transaction lost"
FORMS = {
    PAPER: ("--busy", "inside", "--retry", "back-off", "--speculation", "run-on"),
    ABORT_AT_UNLOCK: ("--busy", "inside", "--retry", "back-off", "--speculation", "abort-at-unlock"),
    BUSY_COUNTS: ("--busy", "inside", "--busy-counts", "--retry", "back-off", "--speculation", "run-on"),
    LINES_LOST: ("--busy", "inside", "--retry", "back-off", "--speculation", "run-on"),
}
# Which designs a form changes; the others are the paper form's.
CHANGED_BY = {ABORT_AT_UNLOCK: AAHTM, BUSY_COUNTS: ELIDED, LINES_LOST: ELIDED + AAHTM}

# "At least as fast" leaves this much to the spread over seeds.
TOLERANCE = 0.03


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run of ArrayBench. Every design meets a variation of the machine with the same seed."""

    writes: int
    contention: str
    threads: int
    design: str
    opt: bool = False
    form: str = PAPER
    variation: int = 0  # 0: the best guesses

    @property
    def seed(self):
        return 1 + self.variation

    @property
    def machine(self):
        return LOST_LINES if self.form == LINES_LOST else MACHINE


@dataclasses.dataclass(frozen=True)
class Result:
    """What came out of a cell."""

    throughput: float  # sections a virtual second
    sections: int = 0
    commits: int = 0
    speculations: int = 0
    aborts: dict = dataclasses.field(default_factory=dict)


def paper_cells(threads, variation):
    """The four configurations at that number of threads, and the opt variants."""
    cells = []
    for writes, contention in CONFIGURATIONS:
        cells += [Cell(writes, contention, threads, design, variation=variation) for design in DESIGNS]
        if contention == "high":
            cells += [Cell(writes, contention, threads, design, opt=True, variation=variation) for design in AAHTM]
    return cells


def form_cells(variation):
    """The other forms, at the number of threads by which claims are judged."""
    cells = []
    for form, designs in CHANGED_BY.items():
        for writes, contention in CONFIGURATIONS:
            rows = [(design, False) for design in designs]
            if contention == "high":
                rows += [(design, True) for design in designs if design in AAHTM]
            cells += [Cell(writes, contention, MOST_THREADS, design, opt, form, variation) for design, opt in rows]
    return cells


def plan(variations, everything=False):
    """What to run: the cells that claims are judged by on every variation, the rest on the best guesses unless
    `everything` varies."""
    cells = []
    for variation in range(variations):
        rest_too = everything or variation == 0
        for threads in THREADS if rest_too else (MOST_THREADS,):
            cells += paper_cells(threads, variation)
        cells += form_cells(variation) if rest_too else []
    return cells


class Measurement:
    """Results by cell."""

    def __init__(self, results):
        self.results = dict(results)

    def variations(self, threads=MOST_THREADS, form=PAPER):
        """Those that were run, ascending."""
        return sorted({cell.variation for cell in self.results if (cell.threads, cell.form) == (threads, form)})

    def result(self, writes, contention, threads, design, opt=False, form=PAPER, variation=0):
        """Of a design that the form does not change, the paper form's."""
        if design not in CHANGED_BY.get(form, DESIGNS):
            form = PAPER
        return self.results[Cell(writes, contention, threads, design, opt, form, variation)]

    def throughput(self, *cell, **more):
        return self.result(*cell, **more).throughput

    def by_design(self, writes, contention, threads, form, variation):
        return {design: self.throughput(writes, contention, threads, design, form=form, variation=variation)
                for design in DESIGNS}

    def throughputs(self, writes, contention, threads, design, opt=False):
        """The range over the variations, in the paper's form."""
        return Range.of(self.throughput(writes, contention, threads, design, opt, variation=variation)
                        for variation in self.variations(threads))


@dataclasses.dataclass(frozen=True)
class Part:
    """One yes or no about one variation: what is asserted, the ratio that decides it, and between which designs if
    that depends on the variation."""

    asserts: str
    holds: bool
    ratio: float
    between: str = ""


def large_ticket(measurement, threads, form, variation):
    """aahtm-array-large-ticket: ticket-aahtm at 2x to 3x ticket with 100 writes."""
    parts = []
    for contention in ("low", "high"):
        speeds = measurement.by_design(100, contention, threads, form, variation)
        ratio = speeds["ticket-aahtm"] / speeds["ticket"]
        parts.append(Part(f"100 writes, {contention} contention: ticket-aahtm is 2x to 3x ticket", 2.0 <= ratio <= 3.0,
                          ratio))
    return parts


def best_part(speeds, writes, contention):
    """An AAHTM lock is best, by 10 % to 200 % over the nearest other."""
    best = max(AAHTM, key=speeds.get)
    other = max((design for design in DESIGNS if design not in AAHTM), key=speeds.get)
    ratio = speeds[best] / speeds[other]
    return Part(f"{writes} writes, {contention} contention: an AAHTM lock is best by 10 % to 200 %",
                1.10 <= ratio <= 3.00, ratio, f"{best} to {other}")


def best_of_four(measurement, threads, form, variation):
    """aahtm-array-best-3-of-4."""
    parts = [best_part(measurement.by_design(writes, contention, threads, form, variation), writes, contention)
             for writes, contention in CONFIGURATIONS if (writes, contention) != (10, "low")]
    speeds = measurement.by_design(10, "low", threads, form, variation)
    other = max((design for design in DESIGNS if design != "htm-10"), key=speeds.get)
    parts.append(Part("10 writes, low contention: htm-10 is best", speeds["htm-10"] > speeds[other],
                      speeds["htm-10"] / speeds[other], f"htm-10 to {other}"))
    plain = min(speeds["tatas"], speeds["ticket"])
    parts.append(Part("10 writes, low contention: htm-1 is below tatas and ticket", speeds["htm-1"] < plain,
                      speeds["htm-1"] / plain))
    return parts


def opt_never_costs(measurement, threads, form, variation):
    """aahtm-array-opt: leaving out A[0] while speculating never costs."""
    parts = []
    for writes in (10, 100):
        for design in AAHTM:
            plain, opt = (measurement.throughput(writes, "high", threads, design, opt, form, variation)
                          for opt in (False, True))
            parts.append(Part(f"{writes} writes, high contention: {design} with opt is as fast as without",
                              opt >= plain * (1 - TOLERANCE), opt / plain))
    return parts


@dataclasses.dataclass
class Judgement:
    """A claim on every variation that was measured; each has the same parts in the same order."""

    parts: list  # by variation

    @property
    def variations(self):
        return len(self.parts)

    @property
    def holds_in(self):
        """A claim holds on a variation if all its parts do."""
        return sum(all(part.holds for part in parts) for parts in self.parts)

    def lines(self):
        """What was found of each part."""
        return [describe(column) for column in zip(*self.parts)]

    def unsettled(self):
        """(part, in how many variations it holds) of those that hold in some and not in others."""
        counts = ((column[0].asserts, sum(part.holds for part in column)) for column in zip(*self.parts))
        return [(asserts, count) for asserts, count in counts if 0 < count < self.variations]


def describe(column):
    """One part over the variations, in a line."""
    holds = sum(part.holds for part in column)
    if len(column) == 1:
        return f"{'yes' if holds else 'no ':3}  {column[0].asserts}: {column[0].ratio:.2f}x" + \
            (f" ({column[0].between})" if column[0].between else "")
    ratio = Range.of(part.ratio for part in column)
    names = collections.Counter(part.between for part in column if part.between).most_common()
    between = "; ".join(f"{name}{'' if len(names) == 1 else f' in {count}'}" for name, count in names)
    return (f"{holds} of {len(column)}  {column[0].asserts}: {ratio.median:.2f}x [{ratio.low:.2f} - {ratio.high:.2f}]"
            + (f" ({between})" if between else ""))


def judge(measurement, claim, threads=MOST_THREADS, form=PAPER):
    return Judgement([JUDGES[claim](measurement, threads, form, variation)
                      for variation in measurement.variations(threads, form)])


JUDGES = {
    "aahtm-array-large-ticket": large_ticket,
    "aahtm-array-best-3-of-4": best_of_four,
    "aahtm-array-opt": opt_never_costs,
}


def unsettled(measurement):
    """Lines: every claim and part of one, wherever it was measured on several variations, whose answer is not the same
    on all of them."""
    places = [(threads, PAPER) for threads in reversed(THREADS[1:])] + [(MOST_THREADS, form) for form in CHANGED_BY]
    lines = []
    for claim in JUDGES:
        for threads, form in places:
            judgement = judge(measurement, claim, threads, form)
            where = f"{claim}, {threads} threads" + (f", {form}" if form != PAPER else "")
            if 0 < judgement.holds_in < judgement.variations:
                lines.append(f"{where}: the claim holds in {judgement.holds_in} of {judgement.variations}")
            lines += [f"{where}: {asserts}: yes in {count} of {judgement.variations}"
                      for asserts, count in judgement.unsettled()]
    return lines


def format_rate(rate):
    """Sections a second: "1.45M", "812k"."""
    return f"{rate / 1e6:.2f}M" if rate >= 1e6 else f"{rate / 1e3:.0f}k"


def format_range(rates):
    return f"[{format_rate(rates.low)} - {format_rate(rates.high)}]" if rates.low < rates.high else ""


def table(measurement, writes, contention):
    """Lines of one configuration: designs down, threads across, the best of a column marked; medians over what
    variations there are."""
    rows = [(design, False) for design in DESIGNS]
    if contention == "high":
        rows += [(design, True) for design in AAHTM]
    rates = {(row, threads): measurement.throughputs(writes, contention, threads, *row)
             for row in rows for threads in THREADS}
    lines = [f"{writes} writes, {contention} contention (critical sections a virtual second)",
             "  threads".ljust(20) + "".join(f"{threads:>10}" for threads in THREADS)
             + f"  range at {MOST_THREADS}".ljust(21) + "a section, on the best guesses"]
    for row in rows:
        line = f"  {row[0]}{'-opt' if row[1] else ''}".ljust(20)
        for threads in THREADS:
            best = rates[row, threads].median == max(rates[other, threads].median for other in rows)
            line += f"{format_rate(rates[row, threads].median) + ('*' if best else ' '):>10}"
        line += ("  " + format_range(rates[row, MOST_THREADS])).ljust(21)
        lines.append((line + explain(row[0], measurement.result(writes, contention, MOST_THREADS, *row))).rstrip())
    return lines


def explain(design, result):
    """What a design's transactions came to in a run, a section each."""
    if design not in ELIDED + AAHTM or not result.sections:
        return ""
    number, kind = (result.commits, "commits") if design in ELIDED else (result.speculations, "speculations")
    causes = sorted(result.aborts.items(), key=lambda item: -item[1])
    words = [f"{cause} {count / result.sections:.2f}" for cause, count in causes if count > 0.005 * result.sections]
    return f"{number / result.sections:.2f} {kind}; aborts: {', '.join(words) or 'none'}"


def forms_table(measurement):
    """Lines that show, at the highest number of threads, what each other form does to each design: medians of the
    ratios within a variation."""
    lines = [f"Other forms at {MOST_THREADS} threads, as a multiple of the paper's form"]
    header = "".join(f"{writes:>7}/{contention:<4}" for writes, contention in CONFIGURATIONS)
    lines.append("  " + "form and design".ljust(58) + header)
    for form, designs in CHANGED_BY.items():
        for design in designs:
            line = f"  {form}: {design}".ljust(60)
            for writes, contention in CONFIGURATIONS:
                cell = (writes, contention, MOST_THREADS, design)
                ratio = Range.of(measurement.throughput(*cell, form=form, variation=variation)
                                 / measurement.throughput(*cell, variation=variation)
                                 for variation in measurement.variations(form=form))
                line += f"{ratio.median:>10.2f}x "
            lines.append(line.rstrip())
    return lines
