# SPDX-License-Identifier: Apache-2.0
"""ArrayBench on the virtual machine: which cells to run, what they say about the AAHTM paper's claims.

Pure: nothing here starts a program or reads a file. A measurement is a mapping from Cell to Result.
"""

import collections
import dataclasses

import sensitivity
from ranges import Range

MACHINE = "xeon-e5-2697v4"
DESIGNS = ("pthread", "tatas", "ticket", "htm-1", "htm-10", "tatas-aahtm", "ticket-aahtm")
AAHTM = ("tatas-aahtm", "ticket-aahtm")
ELIDED = ("htm-1", "htm-10")
CONFIGURATIONS = tuple((writes, contention) for writes in (10, 100) for contention in ("low", "high"))
THREADS = (1, 4, 8, 18)
MOST_THREADS = THREADS[-1]
VARIATIONS = 4  # of the machine, at the number of threads by which claims are judged; elsewhere the best guesses


@dataclasses.dataclass(frozen=True)
class Form:
    """How locks work and what a section does, where the paper leaves that open or its authors' code differs from it."""

    lock: tuple  # options of elision vm
    workload: tuple = ()  # options of arraybench
    designs: tuple = DESIGNS  # those that it changes; the others are the paper form's


PAPER = "paper"
AUTHORS = "authors"
AUTHORS_INCREMENT = "authors, sections increment"
# htm-N waits inside the transaction, does not count that as a try and backs off between tries; speculation runs on
# past unlock (the authors' code does that too).
PAPERS_LOCKS = ("--busy", "inside", "--retry", "back-off", "--speculation", "run-on")
# As the authors' code (github.com/greenshell/aahtm): a held lock aborts htm-N, which uses up a try; ticket-aahtm
# speculates at MIN_DIST <= distance <= MAX_DIST, reads now_serving inside and pauses after an abort. The numbers are the
# paper's. Their ArrayBench may store where ours increments: the paper says "write".
AUTHORS_LOCKS = ("--busy", "abort", "--retry", "back-off", "--speculation", "run-on", "--subscribe", "--max-dist", "5",
                 "--pauses", "8")
FORMS = {
    PAPER: Form(PAPERS_LOCKS),
    AUTHORS: Form(AUTHORS_LOCKS, ("--update", "store")),
    AUTHORS_INCREMENT: Form(AUTHORS_LOCKS, designs=(*ELIDED, "ticket-aahtm")),
}
JUDGED = (PAPER, AUTHORS)  # claims are judged by these, side by side
DIAGNOSTIC = tuple(form for form in FORMS if form not in JUDGED)

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
    def rules(self):
        return FORMS[self.form]


@dataclasses.dataclass(frozen=True)
class Result:
    """What came out of a cell."""

    throughput: float  # sections a virtual second
    sections: int = 0
    commits: int = 0
    speculations: int = 0
    aborts: dict = dataclasses.field(default_factory=dict)
    drawn: dict = dataclasses.field(default_factory=dict)  # the machine's uncertain values in this variation


def rows(contention, designs=DESIGNS):
    """[(design, opt)]: the designs, and the opt variants where there are any."""
    return [(design, False) for design in designs] + \
        [(design, True) for design in designs if contention == "high" and design in AAHTM]


def cells_of(form, threads, variation):
    """The four configurations of what the form changes, at that number of threads."""
    return [Cell(writes, contention, threads, design, opt, form, variation)
            for writes, contention in CONFIGURATIONS for design, opt in rows(contention, FORMS[form].designs)]


def judged_plan(variations):
    """The cells that claims are judged by."""
    return [cell for variation in range(variations) for form in JUDGED for cell in cells_of(form, MOST_THREADS, variation)]


def plan(variations, everything=False):
    """The cells that claims are judged by on every variation, and the rest, on the best guesses unless `everything`
    varies: the paper's form at fewer threads, and the diagnostic forms."""
    cells = judged_plan(variations)
    for variation in range(variations if everything else 1):
        for threads in THREADS[:-1]:
            cells += cells_of(PAPER, threads, variation)
        for form in DIAGNOSTIC:
            cells += cells_of(form, MOST_THREADS, variation)
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
        if design not in FORMS[form].designs:
            form = PAPER
        return self.results[Cell(writes, contention, threads, design, opt, form, variation)]

    def throughput(self, *cell, **more):
        return self.result(*cell, **more).throughput

    def drawn(self):
        """What each variation drew, ascending: {field: value}."""
        by_variation = {cell.variation: result.drawn for cell, result in self.results.items() if cell.form == PAPER}
        return [by_variation[variation] for variation in sorted(by_variation)]

    def by_design(self, writes, contention, threads, form, variation):
        return {design: self.throughput(writes, contention, threads, design, form=form, variation=variation)
                for design in DESIGNS}

    def throughputs(self, writes, contention, design, opt=False, threads=MOST_THREADS, form=PAPER):
        """The range over the variations."""
        return Range.of(self.throughput(writes, contention, threads, design, opt, form, variation)
                        for variation in self.variations(threads, form))


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
        parts.append(Part(f"100 writes, {contention}: ticket-aahtm is 2x to 3x ticket", 2.0 <= ratio <= 3.0, ratio))
    return parts


def best_part(speeds, writes, contention):
    """An AAHTM lock is best, by 10 % to 200 % over the nearest other."""
    best = max(AAHTM, key=speeds.get)
    other = max((design for design in DESIGNS if design not in AAHTM), key=speeds.get)
    ratio = speeds[best] / speeds[other]
    return Part(f"{writes} writes, {contention}: an AAHTM lock is best by 10 % to 200 %",
                1.10 <= ratio <= 3.00, ratio, f"{best} to {other}")


def best_of_four(measurement, threads, form, variation):
    """aahtm-array-best-3-of-4."""
    parts = [best_part(measurement.by_design(writes, contention, threads, form, variation), writes, contention)
             for writes, contention in CONFIGURATIONS if (writes, contention) != (10, "low")]
    speeds = measurement.by_design(10, "low", threads, form, variation)
    other = max((design for design in DESIGNS if design != "htm-10"), key=speeds.get)
    parts.append(Part("10 writes, low: htm-10 is best", speeds["htm-10"] > speeds[other],
                      speeds["htm-10"] / speeds[other], f"htm-10 to {other}"))
    plain = min(speeds["tatas"], speeds["ticket"])
    parts.append(Part("10 writes, low: htm-1 is below tatas and ticket", speeds["htm-1"] < plain,
                      speeds["htm-1"] / plain))
    return parts


def opt_never_costs(measurement, threads, form, variation):
    """aahtm-array-opt: leaving out A[0] while speculating never costs."""
    parts = []
    for writes in (10, 100):
        for design in AAHTM:
            plain, opt = (measurement.throughput(writes, "high", threads, design, opt, form, variation)
                          for opt in (False, True))
            parts.append(Part(f"{writes} writes, high: {design} with opt is as fast as without",
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

    def columns(self):
        """Each part of the claim over the variations."""
        return list(zip(*self.parts))

    def outcome(self):
        if self.variations == 1:
            return "holds" if self.holds_in else "does not hold"
        return f"holds in {self.holds_in} of {self.variations}"


def describe(column):
    """One part over the variations."""
    holds, ratio = sum(part.holds for part in column), Range.of(part.ratio for part in column)
    if len(column) == 1:
        return f"{'yes' if holds else 'no'}, {ratio.median:.2f}x"
    return f"{holds} of {len(column)}, {ratio.median:.2f}x [{ratio.low:.2f} - {ratio.high:.2f}]"


def between(column):
    """Which locks a part compares, if that depends on the variation."""
    names = collections.Counter(part.between for part in column if part.between).most_common()
    return "; ".join(f"{name}{'' if len(names) == 1 else f' in {count}'}" for name, count in names)


def judge(measurement, claim, threads=MOST_THREADS, form=PAPER):
    return Judgement([JUDGES[claim](measurement, threads, form, variation)
                      for variation in measurement.variations(threads, form)])


JUDGES = {
    "aahtm-array-large-ticket": large_ticket,
    "aahtm-array-best-3-of-4": best_of_four,
    "aahtm-array-opt": opt_never_costs,
}


def label_of(threads, form):
    return form if threads == MOST_THREADS else f"{form}, {threads} threads"


def side_by_side(measurement, places):
    """Lines: the claims and their parts down, `places` (threads, form) across."""
    table = [("", *(label_of(*place) for place in places))]
    for claim in JUDGES:
        judgements = [judge(measurement, claim, *place) for place in places]
        table.append((claim, *(judgement.outcome() for judgement in judgements)))
        for columns in zip(*(judgement.columns() for judgement in judgements)):
            table.append((f"  {columns[0][0].asserts}", *map(describe, columns)))
    widths = [max(map(len, column)) for column in zip(*table)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]


def compared(judgement):
    """Lines: which locks decide the parts that compare the best ones."""
    names = [(column[0].asserts, between(column)) for column in judgement.columns()]
    return [f"{asserts}: {locks}" for asserts, locks in names if locks]


def dependences(measurement, claim, form):
    """Lines: of each part that does not hold on every variation, the uncertain values that its ratio follows."""
    drawn = measurement.drawn()
    judgement = judge(measurement, claim, form=form)
    lines = []
    for column in judgement.columns():
        if all(part.holds for part in column):
            continue
        clear = sensitivity.sensitivities(drawn, [part.ratio for part in column])
        words = ", ".join(f"{field} ({correlation:+.2f})" for field, correlation in clear)
        lines.append(f"{column[0].asserts}: {words or 'no value stands out'}")
    return lines


def format_rate(rate):
    """Sections a second: "1.45M", "812k"."""
    return f"{rate / 1e6:.2f}M" if rate >= 1e6 else f"{rate / 1e3:.0f}k"


def format_range(rates):
    return f"[{format_rate(rates.low)} - {format_rate(rates.high)}]" if rates.low < rates.high else ""


def table(measurement, writes, contention):
    """Lines of one configuration: designs down, threads and then the authors' form across, the best of a column marked;
    medians over what variations there are."""
    places = [(threads, PAPER) for threads in THREADS] + [(MOST_THREADS, AUTHORS)]
    rates = {(row, place): measurement.throughputs(writes, contention, *row, *place)
             for row in rows(contention) for place in places}
    lines = [f"{writes} writes, {contention} contention (critical sections a virtual second)",
             "  threads".ljust(20) + "".join(f"{threads:>10}" for threads in THREADS) + f"{AUTHORS:>10}"
             + f"  range at {MOST_THREADS}".ljust(21) + "a section, on the best guesses"]
    for row in rows(contention):
        line = f"  {row[0]}{'-opt' if row[1] else ''}".ljust(20)
        for place in places:
            best = rates[row, place].median == max(rates[other, place].median for other in rows(contention))
            line += f"{format_rate(rates[row, place].median) + ('*' if best else ' '):>10}"
        line += ("  " + format_range(rates[row, (MOST_THREADS, PAPER)])).ljust(21)
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
    for form in DIAGNOSTIC:
        for design in FORMS[form].designs:
            line = f"  {form}: {design}".ljust(60)
            for writes, contention in CONFIGURATIONS:
                cell = (writes, contention, MOST_THREADS, design)
                ratio = Range.of(measurement.throughput(*cell, form=form, variation=variation)
                                 / measurement.throughput(*cell, variation=variation)
                                 for variation in measurement.variations(form=form))
                line += f"{ratio.median:>10.2f}x "
            lines.append(line.rstrip())
    return lines
