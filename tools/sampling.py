# SPDX-License-Identifier: Apache-2.0
"""`elision compare --sample` held against whole runs: programs, numbers and the page. Pure."""

import dataclasses
import math

import performance
from scipy import stats

MACHINE = "xeon-gold-5520plus"
DESIGNS = ("tts", "tatas", "ticket", "ttstle", "htm-5", "htm-10", "hle-scm", "tatas-aahtm", "ticket-aahtm")
ELIDING = ("ttstle", "htm-5", "htm-10", "hle-scm")
WINDOWS, LENGTH = 10, "300us"
RUNS = 3  # of whole programs: other seeds are other interleavings
CONFIDENCE = 0.95
CLOSE = 0.1   # the smallest gain that compare calls one on a virtual machine
EQUAL = 0.01  # of a speedup, or of all attempts or aborts: no interval is narrower to either side
FEWEST_ABORTS = 100  # in all windows, for shares of causes


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    words: tuple  # the first one is a file of the build
    threads: int = 8


def onelock(structure, *more, sections=100000):
    return ("workloads/onelock", "--structure", structure, *more, "--threads", "{threads}", "--warmup", "500", "--sections", str(sections))


def arraybench(writes, *more, sections=100000):
    return ("workloads/arraybench", "--writes", str(writes), *more, "--threads", "{threads}", "--warmup", "500", "--sections", str(sections))


PROGRAMS = (
    Program("std::map", onelock("map")),
    Program("std::map, half reads", onelock("map", "--reads", "50")),
    Program("hash table", onelock("hash")),
    Program("hash table, 90 % reads", onelock("hash", "--reads", "90")),
    Program("4 counters", onelock("counters", "--size", "4")),
    Program("64 counters", onelock("counters", "--size", "64")),
    Program("ArrayBench, 10 writes", arraybench(10)),
    Program("ArrayBench, 10 writes, 18 threads", arraybench(10), 18),
    Program("ArrayBench, 100 writes, A[0] first", arraybench(100, "--contention", "high", sections=20000)),
    Program("histogram, a lock", ("workloads/updates", "--kernel", "histogram", "--variant", "lock", "--threads", "{threads}", "--items", "1000000")),
    Program("packets, one lock", ("workloads/packets", "--locks", "one", "--threads", "{threads}", "--packets", "30000")),
    Program("packets, a lock each", ("workloads/packets", "--threads", "{threads}", "--packets", "30000")),
)

QUANTITIES = ("speedup", "commits an attempt", "share of conflicts", "share of capacity")


@dataclasses.dataclass(frozen=True)
class Interval:
    middle: float
    low: float
    high: float

    def around(self, margin):
        """No narrower than `margin` to either side."""
        return Interval(self.middle, min(self.low, self.middle - margin), max(self.high, self.middle + margin))

    def has(self, value):
        return self.low <= value <= self.high


@dataclasses.dataclass(frozen=True)
class Cell:
    program: str
    design: str
    quantity: str
    whole: float  # in whole runs
    sampled: Interval

    @property
    def is_inside(self):
        return self.sampled.has(self.whole)

    @property
    def is_close(self):
        return abs(self.sampled.middle / self.whole - 1) <= CLOSE

    @property
    def is_open(self):
        """The interval says that it is not known."""
        return self.sampled.high > (1 + CLOSE) ** 2 * self.sampled.low


def ratio(pairs):
    return sum(above for above, _ in pairs) / sum(below for _, below in pairs)


def ratio_of_sums(pairs):
    """The interval of a sum of numerators over a sum of denominators, of one pair for each window (ratio estimator, Cochran, Sampling
    Techniques, 1977, section 6.3, with Student's distribution). `pairs`: at least two."""
    total, count, middle = sum(below for _, below in pairs), len(pairs), ratio(pairs)
    rest = sum((above - middle * below) ** 2 for above, below in pairs)
    error = math.sqrt(rest * count / (count - 1)) / total
    reach = error * stats.t.ppf(0.5 + CONFIDENCE / 2, count - 1)
    return Interval(middle, middle - reach, middle + reach)


def rows_of(report):
    """design -> row, of the designs with a result other than the reference, of the JSON of a comparison."""
    return {row["design"]: row for row in report["blocks"][0]["rows"] if row["state"] == "good" and row["design"] != "pthread"}


def speedup_text(row):
    """With its interval, if there is one."""
    interval = row.get("interval")
    return f"{row['speedup']:.2f}" + (f" [{interval['low']:.2f} - {interval['high']:.2f}]" if interval else "")


def locks_of(report, design):
    """The counts of each run of the design that entered sections. Those that committed take no lock."""
    return [run["locks"] for run in report["runs"] if run["design"] == design and (run["locks"]["acquisitions"] or 0) + (run["locks"]["commits"] or 0) > 0]


def attempts(locks):
    return locks["commits"], locks["commits"] + sum(locks["aborts"].values())


def aborts_by(cause):
    return lambda locks: (locks["aborts"].get(cause, 0), sum(locks["aborts"].values()))


RATIOS = {"commits an attempt": attempts, "share of conflicts": aborts_by("conflict"), "share of capacity": aborts_by("capacity")}


def ratio_cell(program, design, quantity, whole, sampled):
    """Nothing if there is too little to count."""
    pairs, in_whole = ([RATIOS[quantity](locks) for locks in locks_of(report, design)] for report in (sampled, whole))
    fewest = 1 if quantity == "commits an attempt" else FEWEST_ABORTS
    if len(pairs) < 2 or sum(below for _, below in pairs) < fewest or sum(below for _, below in in_whole) < fewest:
        return None
    return Cell(program, design, quantity, ratio(in_whole), ratio_of_sums(pairs).around(EQUAL))


def cells_of(program, whole, sampled):
    """Of the two reports about a program."""
    cells = []
    of_whole, of_sample = rows_of(whole), rows_of(sampled)
    for design in of_whole:
        if design not in of_sample or "interval" not in of_sample[design]:
            continue
        row = of_sample[design]
        interval = Interval(row["speedup"], row["interval"]["low"], row["interval"]["high"]).around(EQUAL * row["speedup"])
        cells.append(Cell(program, design, "speedup", of_whole[design]["speedup"], interval))
        if design in ELIDING:
            cells += filter(None, (ratio_cell(program, design, quantity, whole, sampled) for quantity in RATIOS))
    return cells


def host_seconds(report):
    return sum(run["host_seconds"] for run in report["runs"])


def order_is_the_same(whole, sampled):
    """(pairs of designs whose order whole runs settle, those in the same order in windows). An order is settled where one design is faster in
    every whole run than the other in all of them."""
    of_whole, of_sample = rows_of(whole), rows_of(sampled)
    settled = same = 0
    for one in of_whole:
        for other in of_whole:
            if not {one, other} <= of_sample.keys():
                continue
            if min(of_whole[one]["ratios"]) > max(of_whole[other]["ratios"]):
                settled += 1
                same += of_sample[one]["speedup"] > of_sample[other]["speedup"]
    return settled, same


def coverage(cells):
    """(inside, all, the lower and upper end of the binomial interval), Clopper and Pearson's."""
    inside = sum(cell.is_inside for cell in cells)
    found = stats.binomtest(inside, len(cells)).proportion_ci(CONFIDENCE)
    return inside, len(cells), found.low, found.high


def coverage_table(cells):
    head = ["", "cells", "whole runs within the interval", "95 % interval of that share"]
    rows = []
    for quantity in QUANTITIES:
        own = [cell for cell in cells if cell.quantity == quantity]
        if own:
            inside, count, low, high = coverage(own)
            rows.append([quantity, str(count), f"{inside} ({100 * inside / count:.0f} %)", f"{100 * low:.0f} % - {100 * high:.0f} %"])
    return performance.markdown([head, *rows])


def summary(cells, orders):
    """`orders`: one result of order_is_the_same() for each program."""
    own = [cell for cell in cells if cell.quantity == "speedup"]
    close = sum(cell.is_close for cell in own)
    is_open = sum(cell.is_open and not cell.is_close for cell in own)
    settled, same = (sum(each) for each in zip(*orders))
    return (f"Of {len(own)} speedups, {close} are within {100 * CLOSE:.0f} % of that of whole runs; of the other {len(own) - close}, "
            f"{is_open} have an interval wider than that to either side. Of {settled} orders of two designs that all whole runs agree on, "
            f"{same} are the same in windows.")


def table(cells):
    head = ["program", "design", "", "whole runs", "sampled", "95 % interval", "within it"]
    return performance.markdown([head] + [
        [cell.program, cell.design, cell.quantity, f"{cell.whole:.3f}", f"{cell.sampled.middle:.3f}", f"{cell.sampled.low:.3f} - {cell.sampled.high:.3f}",
         "yes" if cell.is_inside else "**no**"] for cell in cells])


def document(origin, cells, orders, seconds, command):
    """`seconds`: of the host, for all whole runs and for all sampled ones."""
    lines = ["# Sampled comparisons against whole runs", "", f"Written by `{command}`.", "", *performance.markdown(performance.origin_cells(origin)), "",
             *performance.paragraph(
                 f"Speedups over pthread on the virtual {MACHINE}: {RUNS} whole runs of each design, and `--sample {WINDOWS} --sample-length {LENGTH}`. "
                 "The result of a whole run is the program's own throughput, in virtual time. It leaves out the start of the threads, when they first touch "
                 "their memory. Commits and aborts are those of all that the program does with several threads. The programs are short, so that they can be "
                 "run as a whole. A design whose threads sleep now and then in a convoy is one thing or the other in each window, and in each whole run."),
             *performance.paragraph(
                 f"Intervals of speedups are compare's own. Those of commits an attempt, and of the shares of causes in aborts, are of a ratio of sums over "
                 f"windows. None is narrower than {100 * EQUAL:.0f} % to either side: of a speedup, of all attempts, or of all aborts. compare makes those of speedups 4 % wider. Causes have a share where "
                 f"there are {FEWEST_ABORTS} aborts. Cells of one program share its windows under pthread, so they are not independent, and the intervals of the "
                 "last column are somewhat too narrow."),
             *coverage_table(cells), "", summary(cells, orders), "",
             f"The whole runs took {seconds[0] / 60:.0f} minutes of one CPU of this host, the windows {seconds[1] / 60:.0f}.", "", *table(cells)]
    return "\n".join(lines) + "\n"
