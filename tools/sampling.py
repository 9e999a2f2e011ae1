# SPDX-License-Identifier: Apache-2.0
"""`elision compare --sample` held against whole runs: programs, numbers and the page. Pure."""

import dataclasses

import performance

MACHINE = "xeon-gold-5520plus"
DESIGNS = "tatas,ticket,htm-10,tatas-aahtm"
WINDOWS, LENGTH = 10, "300us"
CLOSE = 0.1  # the smallest gain that compare calls one on a virtual machine


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    words: tuple  # the first one is a file of the build
    threads: int = 8


PROGRAMS = (
    Program("std::map", ("workloads/onelock", "--structure", "map", "--threads", "{threads}", "--sections", "200000")),
    Program("hash table, half reads", ("workloads/onelock", "--structure", "hash", "--reads", "50", "--threads", "{threads}", "--sections", "200000")),
    Program("64 counters", ("workloads/onelock", "--structure", "counters", "--size", "64", "--threads", "{threads}", "--sections", "200000")),
    Program("ArrayBench, 10 writes", ("workloads/arraybench", "--writes", "10", "--threads", "{threads}", "--sections", "100000")),
    Program("ArrayBench, 10 writes, 18 threads", ("workloads/arraybench", "--writes", "10", "--threads", "{threads}", "--sections", "100000"), 18),
    Program("histogram, a lock", ("workloads/updates", "--kernel", "histogram", "--variant", "lock", "--threads", "{threads}", "--items", "400000")),
    Program("packets, one lock", ("workloads/packets", "--locks", "one", "--threads", "{threads}", "--packets", "10000")),
    Program("packets, a lock each", ("workloads/packets", "--threads", "{threads}", "--packets", "10000")),
)


@dataclasses.dataclass(frozen=True)
class Cell:
    program: str
    design: str
    whole: float    # speedup over pthread in whole runs
    sampled: float
    low: float      # of its interval
    high: float

    @property
    def is_inside(self):
        return self.low <= self.whole <= self.high

    @property
    def is_close(self):
        return abs(self.sampled / self.whole - 1) <= CLOSE

    @property
    def is_open(self):
        """The interval says that it is not known."""
        return self.high / self.low > (1 + CLOSE) ** 2


def speedups(report):
    """design -> (speedup, its interval or None), of the JSON of a comparison."""
    found = {}
    for row in report["blocks"][0]["rows"]:
        if row["state"] == "good" and row["design"] != "pthread":
            found[row["design"]] = row["speedup"], row.get("interval")
    return found


def cells_of(program, whole, sampled):
    """Of the two reports about a program."""
    of_whole, of_sample = speedups(whole), speedups(sampled)
    return [Cell(program, design, speedup, of_sample[design][0], of_sample[design][1]["low"], of_sample[design][1]["high"])
            for design, (speedup, _) in of_whole.items() if design in of_sample]


def host_seconds(report):
    return sum(run["host_seconds"] for run in report["runs"])


def summary(cells):
    inside, close = sum(cell.is_inside for cell in cells), sum(cell.is_close for cell in cells)
    is_open = sum(cell.is_open and not cell.is_close for cell in cells)
    return (f"Of {len(cells)} speedups, {close} are within {100 * CLOSE:.0f} % of that of whole runs; of the other {len(cells) - close}, "
            f"{is_open} have an interval wider than that to either side. {inside} intervals contain the speedup of the whole runs.")


def table(cells):
    head = ["program", "design", "whole runs", "sampled", "95 % interval", "within 10 %"]
    return performance.markdown([head] + [
        [cell.program, cell.design, f"{cell.whole:.2f}", f"{cell.sampled:.2f}", f"{cell.low:.2f} - {cell.high:.2f}",
         "yes" if cell.is_close else "open" if cell.is_open else "no"] for cell in cells])


def document(origin, cells, command, runs):
    lines = ["# Sampled comparisons against whole runs", "", f"Written by `{command}`.", "", *performance.markdown(performance.origin_cells(origin)), "",
             *performance.paragraph(
                 f"Speedups over pthread on the virtual {MACHINE}: of whole runs, {runs} of each design, from the second thread on, and by "
                 f"`--sample {WINDOWS} --sample-length {LENGTH}`. The programs are short, so that they can be run as a whole. A design whose threads "
                 "sleep now and then in a convoy is one thing or the other in each window, and in each whole run. A whole run also has a beginning and an "
                 "end, in which threads start and touch memory for the first time. The shorter the sections, the more of the time they are: ArrayBench "
                 "under htm-10 gains less as a whole."),
             summary(cells), "", *table(cells)]
    return "\n".join(lines) + "\n"
