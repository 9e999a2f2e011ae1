# SPDX-License-Identifier: Apache-2.0
"""The cells of tools/bench-elision, and ratios, verdicts and docs/measured/elision-compared.md from their results. Pure."""

import dataclasses
import math
import statistics

import performance
from performance import paragraph
from ranges import Range

MACHINE = "xeon-e5-2697v4"
THREADS = (1, 2, 4, 8, 12, 18)
WARMUP = 100  # sections a thread, uncounted
CONTENDED_ABOVE = 0.10
MOST_WINDOWS = 30  # virtual time of a run, in lengths of its counted window; most take three
GAVE_UP = 124      # onelock's exit code then

# structure -> (program, its words, what it is).
STRUCTURES = {
    "counters": ("onelock", ["--structure", "counters", "--reads", "0"],
                 "4096 counters on lines of their own; a section increments one"),
    "array": ("arraybench", ["--writes", "10", "--contention", "low"],
              "ArrayBench: a section increments 10 of a million ints"),
    "map": ("onelock", ["--structure", "map", "--reads", "50"],
            "A std::map of about 4096 keys; half of the sections look a key up, the others insert or erase one"),
    "hash": ("onelock", ["--structure", "hash", "--reads", "95"],
             "A std::unordered_map of about 4096 keys; 95 of 100 sections look a key up, the others insert or erase one"),
}

GLIBC, GLIBC_ELISION, TBB, CK = "glibc", "glibc elision", "oneTBB", "CK"
# Contenders that are not ours -> the lock that a program is built with.
LOCKS = {GLIBC: "pthread", GLIBC_ELISION: "pthread", TBB: "tbb", CK: "ck"}
OURS = "htm-10"
EXPLANATION = "Multiples of glibc's throughput; a star marks contention."
GLIBC_TUNABLES = "GLIBC_TUNABLES=glibc.elision.enable="


@dataclasses.dataclass(frozen=True)
class Cell:
    structure: str
    threads: int
    contender: str  # of LOCKS, or a design of ours
    variation: int = 0

    @property
    def seed(self):
        """All contenders run with the same seed on a variation."""
        return self.variation + 1


@dataclasses.dataclass(frozen=True)
class Result:
    throughput: float
    acquisitions: int  # warm-up included, as in the counts of transactions
    begins: int = 0
    commits: int = 0
    aborts: int = 0


def plan(structures, threads, contenders, variations):
    """Every run, long ones first."""
    return [Cell(structure, count, contender, variation) for count in sorted(threads, reverse=True)
            for structure in structures for contender in contenders for variation in range(variations)]


def program_of(build, cell, seconds):
    """The guest's words up to what all share."""
    lock = LOCKS.get(cell.contender, "pthread")
    name, words, _ = STRUCTURES[cell.structure]
    if name == "arraybench":
        return [f"{build}/workloads/arraybench{'' if lock == 'pthread' else '_' + lock}", *words]
    return [f"{build}/workloads/{name}", "--lock", lock, "--limit", f"{MOST_WINDOWS * seconds:g}", *words]


def command(build, cell, statistics_file, seconds):
    """The command of one run. The tunable is set inside the guest, so that the virtual machine runs without it and the
    caller's environment does not matter."""
    ours = [] if cell.contender in LOCKS else ["--lock", cell.contender]
    elided = int(cell.contender == GLIBC_ELISION)
    return [f"{build}/bin/elision", "vm", "--machine", MACHINE, "--seed", str(cell.seed), "--variation",
            str(cell.variation), *ours, "--stats", str(statistics_file), "--", "env", f"{GLIBC_TUNABLES}{elided}",
            *program_of(build, cell, seconds), "--threads", str(cell.threads), "--seconds", str(seconds), "--warmup", str(WARMUP)]


def result_of(cell, throughput, sections, totals):
    """Makes a result of a program's output and the totals of its statistics."""
    return Result(throughput, sections + WARMUP * cell.threads, totals["begins"], totals["commits"],
                  sum(totals["aborts"].values()))


def starved(cell):
    """The result of a run that gave up."""
    return Result(0.0, WARMUP * cell.threads)


def multiple(mine, theirs):
    """The ratio of two throughputs, either of which may be that of a starved run."""
    if theirs == 0:
        return 1.0 if mine == 0 else math.inf
    return mine / theirs


def share(part, whole):
    return part / whole if whole else 0.0


class Comparison:
    """`results`: {Cell: Result} of a whole plan."""

    def __init__(self, results):
        self.results = results
        self.structures = list(dict.fromkeys(name for name in STRUCTURES
                                             for cell in results if cell.structure == name))
        self.threads = sorted({cell.threads for cell in results})
        found = {cell.contender for cell in results}
        self.others = [name for name in LOCKS if name in found]
        self.designs = sorted(found - set(LOCKS))
        self.variations = 1 + max(cell.variation for cell in results)

    def runs(self, structure, threads, contender):
        return [self.results[Cell(structure, threads, contender, variation)] for variation in range(self.variations)]

    def throughput(self, structure, threads, contender):
        return Range.of([run.throughput for run in self.runs(structure, threads, contender)])

    def ratio(self, structure, threads, contender, other):
        """Pairs runs on the same variation of the machine."""
        pairs = zip(self.runs(structure, threads, contender), self.runs(structure, threads, other))
        return Range.of([multiple(mine.throughput, theirs.throughput) for mine, theirs in pairs])

    def best(self, structure, threads):
        """Our design with the highest median."""
        return max(self.designs, key=lambda design: self.throughput(structure, threads, design).median)

    def aborted(self, structure, threads):
        """The share of the transactions of glibc's elided run that aborted."""
        runs = self.runs(structure, threads, GLIBC_ELISION)
        return statistics.median(share(run.aborts, run.begins) for run in runs)

    def fell_back(self, structure, threads):
        """The share of the sections of glibc's elided run that took the lock."""
        runs = self.runs(structure, threads, GLIBC_ELISION)
        return statistics.median(max(0.0, share(run.acquisitions - run.commits, run.acquisitions)) for run in runs)

    def is_contended(self, structure, threads):
        return max(self.aborted(structure, threads), self.fell_back(structure, threads)) > CONTENDED_ABOVE

    def contended(self):
        return [(structure, threads) for structure in self.structures for threads in self.threads
                if self.is_contended(structure, threads)]

    def elides(self):
        """Whether this glibc began any transaction when asked to elide."""
        return any(result.begins for cell, result in self.results.items() if cell.contender == GLIBC_ELISION)

    def starved(self):
        """{(structure, threads, contender): runs that gave up}."""
        counts = {}
        for cell, result in sorted(self.results.items(), key=lambda pair: (pair[0].structure, pair[0].threads)):
            if result.throughput == 0:
                key = (cell.structure, cell.threads, cell.contender)
                counts[key] = counts.get(key, 0) + 1
        return counts

    def behind(self, structure, threads, design=OURS):
        """The contenders that beat our design on every variation of the machine."""
        return [other for other in self.others if self.ratio(structure, threads, design, other).high < 1]

    def beyond_range(self, structure, threads, design=OURS):
        """The contenders whose median is above our design's highest throughput."""
        highest = self.throughput(structure, threads, design).high
        return [other for other in self.others if self.throughput(structure, threads, other).median > highest]


# --- tables ---

def ratio_text(found):
    return f"{found.median:.2f} [{found.low:.2f} - {found.high:.2f}]"


def rate(value):
    for limit, scale, unit in ((1e3, 1, ""), (1e6, 1e3, "k")):
        if value < limit:
            return f"{value / scale:.3g}{unit}"
    return f"{value / 1e6:.3g}M"


def percent(value):
    return f"{100 * value:.0f} %"


def structure_cells(comparison, structure):
    """Throughputs as multiples of glibc's without elision."""
    others = [name for name in comparison.others if name != GLIBC]
    cells = [["threads", "glibc, sections/s", *others, OURS, "our best"]]
    for threads in comparison.threads:
        def relative(contender, at=threads):
            return ratio_text(comparison.ratio(structure, at, contender, GLIBC))
        best = comparison.best(structure, threads)
        mark = " *" if comparison.is_contended(structure, threads) else ""
        cells.append([f"{threads}{mark}", rate(comparison.throughput(structure, threads, GLIBC).median),
                      *(relative(name) for name in others), relative(OURS),
                      "the same" if best == OURS else f"{best} {relative(best)}"])
    return cells


def contended_cells(comparison):
    """htm-10's throughput as a multiple of each other contender's, for contended sections."""
    cells = [["cell", "aborted", "fell back", *(f"to {name}" for name in comparison.others), f"{OURS} is behind"]]
    for structure, threads in comparison.contended():
        cells.append([f"{structure}, {threads}", percent(comparison.aborted(structure, threads)),
                      percent(comparison.fell_back(structure, threads)),
                      *(ratio_text(comparison.ratio(structure, threads, OURS, name)) for name in comparison.others),
                      ", ".join(comparison.behind(structure, threads)) or "nobody"])
    return cells


def said_of(cells):
    said = "; ".join(f"{structure} at {threads} threads: {', '.join(names)}" for (structure, threads), names in cells.items())
    return f" ({said})" if said else ""


def verdict(comparison):
    contended = comparison.contended()
    if not contended:
        return "No cell is contended."
    beyond = {cell: names for cell in contended if (names := comparison.beyond_range(*cell))}
    behind = {cell: names for cell in contended if (names := comparison.behind(*cell))}
    text = (f"In {len(beyond) or 'none'} of the {len(contended)} contended cells the median of another lock is above the highest "
            f"throughput of {OURS}{said_of(beyond)}. In {len(behind) or 'no'} contended cells "
            f"another lock is faster on every variation{said_of(behind)}")
    if not behind:
        return text + "."
    least = min(comparison.ratio(*cell, OURS, name).median for cell, names in behind.items() for name in names)
    return f"{text}; by at most {percent(1 - least)} (median)."


def starvation(comparison):
    """A sentence, or an empty text."""
    found = comparison.starved()
    if not found:
        return ""
    said = "; ".join(f"{contender} in {count} of {comparison.variations} ({structure}, {threads} threads)"
                     for (structure, threads, contender), count in found.items())
    return f"Runs that did not end within {MOST_WINDOWS} times their window count as throughput 0: {said}."


def sections(comparison):
    """[(title, caption, cells)] of all tables."""
    found = [(structure, f"{STRUCTURES[structure][2]}. {EXPLANATION}", structure_cells(comparison, structure))
             for structure in comparison.structures]
    return [*found, ("Contended cells", f"How {OURS} does there: its throughput as a multiple of the others'.",
                     contended_cells(comparison))]


@dataclasses.dataclass
class Setting:
    """The origin of the numbers."""
    commit: str
    versions: dict  # name -> version
    seconds: float
    whole: bool


def document(setting, comparison):
    """The text of docs/measured/elision-compared.md."""
    lines = [
        "# Elision compared",
        "",
        f"Written by `make bench-locks-virtual`{'' if setting.whole else ', from a part of its cells'}.",
        "",
        *performance.markdown([["measured with", ""], ["elision", setting.commit], *map(list, setting.versions.items()),
                               ["machine", f"virtual {MACHINE}"], ["variations of it", str(comparison.variations)],
                               ["a run's counted window", f"{1000 * setting.seconds:g} ms of virtual time"]]),
        "",
        *paragraph(
            f"Four structures, each under one lock. The lock is glibc's (*{GLIBC}*: its plain mutex; *{GLIBC_ELISION}*: with "
            f"`{GLIBC_TUNABLES}1`), oneTBB's `speculative_spin_mutex`, Concurrency Kit's spinlock elided with its adaptive "
            "policy and default configuration (Debian builds it without RTM; the workload turns the RTM of its headers on), and "
            "our designs, preloaded. All have their default parameters, the same in every cell. *our best* is our design with "
            f"the highest median in the cell, of {', '.join(comparison.designs)}."),
        *paragraph(
            "Numbers are ratios of throughputs: the median over the variations of the machine, with the lowest and the highest. "
            "Both runs of a ratio have the same variation and the same seed. A cell is contended if over "
            f"{percent(CONTENDED_ABOVE)} of the transactions of glibc's elided run aborted, or as many of its sections took "
            "the lock."),
        *paragraph(verdict(comparison)),
    ]
    if not comparison.elides():
        lines += paragraph("This glibc began no transaction: it has no lock elision. All its sections took the lock, so that every "
                           "cell counts as contended.")
    if comparison.starved():
        lines += paragraph(starvation(comparison))
    for title, what, cells in sections(comparison):
        lines += [f"## {title.capitalize()}", "", *paragraph(what), *performance.markdown(cells), ""]
    return "\n".join([*lines,
                      "## How to repeat",
                      "",
                      "    make bench-locks-virtual               all of it; says first how long it will take; writes this page",
                      "    tools/bench-elision --quick            few cells; writes nothing",
                      "    tools/bench-elision --structures map --threads 8,18 --variations 4",
                      ""])
