# SPDX-License-Identifier: Apache-2.0
"""ArrayBench on the virtual machine: which cells to run, what they say about the AAHTM paper's claims.

Pure: nothing here starts a program or reads a file. A measurement is a mapping from Cell to Result.
"""

import dataclasses
import statistics

MACHINE = "xeon-e5-2697v4"
LOST_LINES = MACHINE + ",transactions.aborted_lines=lost"
DESIGNS = ("pthread", "tatas", "ticket", "htm-1", "htm-10", "tatas-aahtm", "ticket-aahtm")
AAHTM = ("tatas-aahtm", "ticket-aahtm")
ELIDED = ("htm-1", "htm-10")
CONFIGURATIONS = tuple((writes, contention) for writes in (10, 100) for contention in ("low", "high"))
THREADS = (1, 4, 8, 18)
MOST_THREADS = THREADS[-1]
SEEDS = (1, 2)  # of the cells that claims are judged by; the others take the first

# The forms of the locks. The first is the paper's, by which claims are judged: htm-N waits inside the
# transaction and does not count that as a try, speculation runs on past unlock.
PAPER = "paper"
ABORT_AT_UNLOCK = "abort at unlock"
BUSY_COUNTS = "loop aborts count as tries"
LINES_LOST = "lines of an aborted transaction lost"
FORMS = {
    PAPER: ("--busy", "inside", "--speculation", "run-on"),
    ABORT_AT_UNLOCK: ("--busy", "inside", "--speculation", "abort-at-unlock"),
    BUSY_COUNTS: ("--busy", "inside", "--busy-counts", "--speculation", "run-on"),
    LINES_LOST: ("--busy", "inside", "--speculation", "run-on"),
}
# Which designs a form changes; the others are the paper form's.
CHANGED_BY = {ABORT_AT_UNLOCK: AAHTM, BUSY_COUNTS: ELIDED, LINES_LOST: ELIDED + AAHTM}

# "At least as fast" and "best" leave this much to the spread over seeds.
TOLERANCE = 0.03


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run of ArrayBench."""

    writes: int
    contention: str
    threads: int
    design: str
    opt: bool = False
    form: str = PAPER
    seed: int = 1

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


def paper_cells():
    """The four configurations at every number of threads, and the opt variants."""
    cells = []
    for writes, contention in CONFIGURATIONS:
        for threads in THREADS:
            for seed in SEEDS if threads == MOST_THREADS else SEEDS[:1]:
                cells += [Cell(writes, contention, threads, design, seed=seed) for design in DESIGNS]
                if contention == "high":
                    cells += [Cell(writes, contention, threads, design, opt=True, seed=seed) for design in AAHTM]
    return cells


def form_cells():
    """The other forms, at the number of threads by which claims are judged."""
    cells = []
    for form, designs in CHANGED_BY.items():
        for writes, contention in CONFIGURATIONS:
            cells += [Cell(writes, contention, MOST_THREADS, design, form=form) for design in designs]
            if contention == "high":
                opt = [design for design in designs if design in AAHTM]
                cells += [Cell(writes, contention, MOST_THREADS, design, opt=True, form=form) for design in opt]
    return cells


class Measurement:
    """Results by cell; throughput as the median over seeds."""

    def __init__(self, results):
        self.results = dict(results)

    def results_of(self, writes, contention, threads, design, opt=False, form=PAPER):
        if design not in CHANGED_BY.get(form, DESIGNS):
            form = PAPER
        return [self.results[cell] for seed in SEEDS
                if (cell := Cell(writes, contention, threads, design, opt, form, seed)) in self.results]

    def throughput(self, writes, contention, threads, design, opt=False, form=PAPER):
        found = self.results_of(writes, contention, threads, design, opt, form)
        return statistics.median(result.throughput for result in found)

    def by_design(self, writes, contention, threads, form=PAPER):
        return {design: self.throughput(writes, contention, threads, design, form=form) for design in DESIGNS}


@dataclasses.dataclass
class Judgement:
    """Whether a claim holds, and the sentences that say why."""

    holds: bool
    measured: list


def all_of(parts):
    """A claim of several parts holds if every part does; each part is (holds, sentence)."""
    return Judgement(all(holds for holds, _ in parts),
                     [f"{'yes' if holds else 'no ':3}  {sentence}" for holds, sentence in parts])


def judge_large_ticket(measurement, threads=MOST_THREADS, form=PAPER):
    """aahtm-array-large-ticket: ticket-aahtm at 2x to 3x ticket with 100 writes."""
    parts = []
    for contention in ("low", "high"):
        speeds = measurement.by_design(100, contention, threads, form)
        ratio = speeds["ticket-aahtm"] / speeds["ticket"]
        parts.append((2.0 <= ratio <= 3.0, f"100 writes, {contention} contention: ticket-aahtm is {ratio:.2f}x ticket"))
    return all_of(parts)


def best_part(measurement, writes, contention, threads, form):
    """An AAHTM lock is best, by 10 % to 200 % over the nearest other."""
    speeds = measurement.by_design(writes, contention, threads, form)
    best = max(AAHTM, key=speeds.get)
    other = max((design for design in DESIGNS if design not in AAHTM), key=speeds.get)
    gain = speeds[best] / speeds[other] - 1
    return 0.10 <= gain <= 2.00, (
        f"{writes} writes, {contention} contention: {best} is {100 * gain:+.0f} % to the nearest other, {other}")


def judge_best_of_four(measurement, threads=MOST_THREADS, form=PAPER):
    """aahtm-array-best-3-of-4."""
    parts = [best_part(measurement, writes, contention, threads, form)
             for writes, contention in CONFIGURATIONS if (writes, contention) != (10, "low")]
    speeds = measurement.by_design(10, "low", threads, form)
    best = max(speeds, key=speeds.get)
    parts.append((best == "htm-10", f"10 writes, low contention: {best} is best"))
    plain = min(speeds["tatas"], speeds["ticket"])
    parts.append((speeds["htm-1"] < plain,
                  f"there htm-1 is {speeds['htm-1'] / plain:.2f}x the slower of tatas and ticket"))
    return all_of(parts)


def judge_opt(measurement, threads=MOST_THREADS, form=PAPER):
    """aahtm-array-opt: leaving out A[0] while speculating never costs."""
    parts = []
    for writes in (10, 100):
        for design in AAHTM:
            plain = measurement.throughput(writes, "high", threads, design, form=form)
            opt = measurement.throughput(writes, "high", threads, design, opt=True, form=form)
            parts.append((opt >= plain * (1 - TOLERANCE),
                          f"{writes} writes, high contention: {design} with opt is {opt / plain:.2f}x without"))
    return all_of(parts)


JUDGES = {
    "aahtm-array-large-ticket": judge_large_ticket,
    "aahtm-array-best-3-of-4": judge_best_of_four,
    "aahtm-array-opt": judge_opt,
}


def format_rate(rate):
    """Sections a second: "1.45M", "812k"."""
    return f"{rate / 1e6:.2f}M" if rate >= 1e6 else f"{rate / 1e3:.0f}k"


def table(measurement, writes, contention):
    """Lines of one configuration: designs down, threads across, the best of a column marked."""
    rows = [(design, False) for design in DESIGNS]
    if contention == "high":
        rows += [(design, True) for design in AAHTM]
    rates = {(row, threads): measurement.throughput(writes, contention, threads, row[0], row[1])
             for row in rows for threads in THREADS}
    lines = [f"{writes} writes, {contention} contention (critical sections a virtual second)",
             "  threads".ljust(20) + "".join(f"{threads:>10}" for threads in THREADS) + f"    at {MOST_THREADS} threads, a section"]
    for row in rows:
        line = f"  {row[0]}{'-opt' if row[1] else ''}".ljust(20)
        for threads in THREADS:
            best = rates[row, threads] == max(rates[other, threads] for other in rows)
            line += f"{format_rate(rates[row, threads]) + ('*' if best else ' '):>10}"
        lines.append((line + "    " + explain(row[0], measurement.results_of(writes, contention, MOST_THREADS, *row)[0]))
                     .rstrip())
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
    """Lines that show, at the highest number of threads, what each other form does to each design."""
    lines = [f"Other forms at {MOST_THREADS} threads, as a multiple of the paper's form"]
    header = "".join(f"{writes:>7}/{contention:<4}" for writes, contention in CONFIGURATIONS)
    lines.append("  " + "form and design".ljust(58) + header)
    for form, designs in CHANGED_BY.items():
        for design in designs:
            line = f"  {form}: {design}".ljust(60)
            for writes, contention in CONFIGURATIONS:
                ratio = (measurement.results_of(writes, contention, MOST_THREADS, design, form=form)[0].throughput
                         / measurement.results_of(writes, contention, MOST_THREADS, design)[0].throughput)
                line += f"{ratio:>10.2f}x "
            lines.append(line.rstrip())
    return lines
