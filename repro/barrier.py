# SPDX-License-Identifier: Apache-2.0
"""BackwardSolver on the virtual machine: which cells to run, and what they say about the AAHTM paper's claim on barriers
(IV-B, Table I).

The matrices are small ones with the paper's rows a level and nonzeros a row. Of each: libgomp's own barrier
(design pthread), ours where waiters speculate (tatas-aahtm), and ours where they do not (the same with no tries), so that it
can be told which part of a gain is the speculation's.
"""

import dataclasses
import statistics

MACHINE = "xeon-e5-2697v4"
THREADS = (1, 2, 4, 8, 12, 16)
BASELINE, CONTROL, SPECULATING = "libgomp", "ours, plain", "ours, speculating"
BARRIERS = {BASELINE: ("pthread",), CONTROL: ("tatas-aahtm", "--tries", "0"), SPECULATING: ("tatas-aahtm",)}
CLAIM = "aahtm-barrier"
MOST_GAIN = 1.15   # "up to 15 %"
LEAST_GAIN = 1.05  # what the best cell needs, so that "up to" says something
ONE = 0.99         # as fast, but for noise


@dataclasses.dataclass(frozen=True)
class Matrix:
    name: str      # of the paper's matrix whose shape it has
    rows: int      # a level
    nonzeros: int  # a row beside the diagonal, in the triangle
    levels: int


MATRICES = (Matrix("offshore", 75, 8, 60), Matrix("inline_1", 288, 36, 20), Matrix("thermal2", 991, 3, 20))


@dataclasses.dataclass(frozen=True)
class Cell:
    matrix: Matrix
    threads: int
    barrier: str
    variation: int = 0  # of the machine

    @property
    def seed(self):
        """Of the run and of the matrix: all barriers meet a variation with the same."""
        return self.variation + 1


def plan(variations):
    """Every run, those that take long first."""
    return [Cell(matrix, threads, barrier, variation) for matrix in reversed(MATRICES) for threads in reversed(THREADS)
            for barrier in BARRIERS for variation in range(variations)]


def command(build, cell):
    """The words of one run."""
    design, *options = BARRIERS[cell.barrier]
    matrix = cell.matrix
    return [f"{build}/bin/elision", "vm", "--machine", MACHINE, "--seed", str(cell.seed), "--variation",
            str(cell.variation), "--lock", design, *options, "--start", "marker", "--",
            f"{build}/workloads/backward_solver", "--threads", str(cell.threads), "--rows", str(matrix.rows), "--nonzeros",
            str(matrix.nonzeros), "--levels", str(matrix.levels), "--evict", "50", "--warmup", "0", "--seed", str(cell.seed)]


class Measurement:
    """Throughputs in GB/s by cell; medians over variations."""

    def __init__(self, results):
        self.results = results

    def throughput(self, matrix, threads, barrier):
        return statistics.median(value for cell, value in self.results.items()
                                 if (cell.matrix, cell.threads, cell.barrier) == (matrix, threads, barrier))

    def gain(self, matrix, threads, over=BASELINE):
        return self.throughput(matrix, threads, SPECULATING) / self.throughput(matrix, threads, over)


def table(measurement, matrix):
    lines = [f"{matrix.name}: {matrix.rows} rows a level, {matrix.nonzeros} nonzeros a row, {matrix.levels} levels; GB/s",
             f"  {'threads':>7}" + "".join(f"  {barrier:>17}" for barrier in BARRIERS) + "  speed-up  of speculation alone"]
    for threads in THREADS:
        cells = "".join(f"  {measurement.throughput(matrix, threads, barrier):17.2f}" for barrier in BARRIERS)
        lines.append(f"  {threads:7}{cells}  {100 * measurement.gain(matrix, threads) - 100:+7.1f}%"
                     f"  {100 * measurement.gain(matrix, threads, CONTROL) - 100:+7.1f}%")
    return lines


def judge(measurement):
    """[(statement, holds, what was found)] for the parts of the claim."""
    gains = {(matrix, threads): measurement.gain(matrix, threads) for matrix in MATRICES for threads in THREADS}
    slowest, best = min(gains, key=gains.get), max(gains, key=gains.get)
    alone = measurement.gain(*best, over=CONTROL)

    def found(where):
        return f"{100 * gains[where] - 100:+.1f} % ({where[0].name}, {where[1]} threads)"

    return [("no matrix is slower at any number of threads", gains[slowest] >= ONE, f"the least is {found(slowest)}"),
            ("up to 15 % faster", LEAST_GAIN <= gains[best] <= MOST_GAIN + (1 - ONE), f"the most is {found(best)}"),
            ("by speculation, not by another barrier", gains[best] > 1 and alone - 1 >= (gains[best] - 1) / 2,
             f"there {100 * alone - 100:+.1f} % over the same barrier without")]
