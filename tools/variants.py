# SPDX-License-Identifier: Apache-2.0
"""The experiments of tools/bench-variants (one program in several variants of its synchronisation) and their tables. Pure."""

import dataclasses
import statistics

import performance
from performance import paragraph
from ranges import Range


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    lock: tuple = ()   # options of elision run and elision vm; (): glibc's locks, nothing preloaded
    words: tuple = ()  # of the program
    program: str = ""  # another build of the experiment's program; "": that one


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    what: str
    program: str
    variants: tuple  # the first is what the others are compared with
    forms: dict      # what the columns say -> words of the program
    native: tuple    # words of the program, for its size; None: no native runs
    machine: str
    virtual: tuple   # the same of virtual runs; None: none
    unit: str        # of a throughput
    left_out: str = ""  # which variants were not built

    def places(self):
        return tuple(place for place, words in (("native", self.native), ("virtual", self.virtual)) if words is not None)

    def program_of(self, variant):
        return variant.program or self.program

    def as_far_as_built(self, build):
        """Without the variants whose library the workloads were built without; these are named in what the page says."""
        missing = tuple(variant for variant in self.variants if not (build / "workloads" / self.program_of(variant)).exists())
        if not missing:
            return self
        left_out = f"Left out, since their library is not installed here: {', '.join(variant.name for variant in missing)}."
        return dataclasses.replace(self, variants=tuple(variant for variant in self.variants if variant not in missing),
                                   what=f"{self.what} {left_out}", left_out=left_out)


CONDITIONS = Experiment(
    "conditions", "Condition variables",
    "Eight threads send and receive 64-byte packets over four connections, with at most 32 packets under way in each. *tsx.abort*: "
    "a transaction aborts before it waits or signals; *tsx.cond*: condition variables aware of transactions; *busywait*: waits that "
    "only check again (TSX paper, section 6).",
    "packets",
    (Variant("mutex"),
     Variant("tsx.abort", ("--lock", "htm-10", "--condition", "glibc")),
     Variant("tsx.cond", ("--lock", "htm-10", "--condition", "aware")),
     Variant("mutex.busywait", ("--lock", "pthread", "--condition", "busy")),
     Variant("tsx.busywait", ("--lock", "htm-10", "--condition", "busy"))),
    {"one lock": ("--locks", "one"), "a lock a connection": ("--locks", "each")},
    ("--packets", "10000"), "xeon-e5-2697v4", ("--packets", "500"), "packets/s")

BARRIERS = Experiment(
    "barriers", "OpenMP barriers",
    "A sparse triangular solve with a barrier after each level, on cold caches; two threads natively, 12 virtually. Reference: "
    "libgomp's barrier. *waiting*: the library's barrier without speculation; *speculating*: waiting threads speculate (AAHTM paper, III-D).",
    "backward_solver",
    (Variant("libgomp"),
     Variant("waiting", ("--lock", "tatas-aahtm", "--tries", "0")),
     Variant("speculating", ("--lock", "tatas-aahtm", "--rtm-always-abort"))),
    {f"{rows} rows a level": ("--rows", str(rows)) for rows in (75, 288, 991)},
    ("--threads", "2", "--evict", "50", "--solves", "20"),
    "xeon-e5-2697v4", ("--threads", "12", "--evict", "50", "--warmup", "0", "--levels", "20"), "GB/s")

THREADS = {"1 thread": ("--threads", "1"), **{f"{count} threads": ("--threads", str(count)) for count in (2, 4, 8)}}
COARSENED = tuple(Variant(f"tsx.gran{count or '*'}", words=("--variant", f"coarse1-{count}")) for count in (1, 4, 16, 64, 0))
GRANULARITIES = "*tsx.granN*: N items in a transaction, under one mutex; *tsx.gran\\**: an adaptive number (TSX paper, 5.4 and Fig. 5)."

HISTOGRAM = Experiment(
    "histogram", "A histogram without conflicts, and with them",
    "Threads count 16,384 items into 65,536 bins. *privatised*: a copy for each thread, added up at the end; " + GRANULARITIES,
    "updates", (Variant("atomic", words=("--variant", "atomic")), Variant("privatised", words=("--variant", "privatised")), *COARSENED),
    THREADS, None, "core-i7-4770", ("--kernel", "histogram", "--items", "16384", "--places", "65536"),
    "items/s")

PHYSICS = Experiment(
    "physics", "Pairs of objects without conflicts, and with them",
    "Threads apply 8,192 forces to pairs of 1,024 objects; half of the pairs contain one of four objects. *mutex*: a lock for each "
    "object; *lockset*: both locks in one transaction; *barrier*: groups of independent pairs, one after the other; " + GRANULARITIES,
    "updates", (Variant("mutex", words=("--variant", "lock")), Variant("barrier", words=("--variant", "barrier")),
                Variant("lockset", words=("--variant", "lockset")), *COARSENED),
    THREADS, None, "core-i7-4770", ("--kernel", "physics", "--items", "8192", "--places", "1024"), "items/s")

SPINNING = tuple(Variant(f"{lock}, ours", ("--lock", lock, "--wait", "spin")) for lock in ("tatas", "ticket")) + tuple(
    Variant(name, program=f"arraybench_{form}_form")
    for name, form in (("tatas, AAHTM authors' form", "tatas"), ("ticket, AAHTM authors' form", "ticket"), ("ck_spinlock", "ck"),
                       ("ck_spinlock_ticket", "ck_ticket"), ("tbb::spin_mutex", "tbb")))
PARKING = tuple(Variant(f"{lock}, ours, parking", ("--lock", lock)) for lock in ("tatas", "ticket")) + (Variant("glibc"),)
SPIN_TEXT = ("ArrayBench under locks whose waiters spin: ours, the AAHTM authors' written again from a description of their code, Concurrency "
             "Kit's and oneTBB's; below them the forms that park. No lock is elided. ")
SECTIONS = {f"{writes} writes, {contention} contention": ("--writes", str(writes), "--contention", contention)
            for writes in (10, 100) for contention in ("low", "high")}

SPIN = Experiment(
    "spin", "Spinning locks of several projects", SPIN_TEXT + "Two threads natively, 18 virtually.",
    "arraybench", SPINNING + PARKING, SECTIONS, ("--threads", "2", "--seconds", "0.1"), "xeon-e5-2697v4",
    ("--threads", "18", "--seconds", "0.002"), "sections/s")

SPIN_THREADS = Experiment(
    "spin-threads", "Spinning locks of several projects over threads", SPIN_TEXT + "10 writes, low contention.",
    "arraybench", SPINNING + PARKING, {f"{count} threads": ("--threads", str(count)) for count in (2, 4, 8)}, None, "xeon-e5-2697v4",
    ("--writes", "10", "--contention", "low", "--seconds", "0.002"), "sections/s")

EXPERIMENTS = {experiment.name: experiment for experiment in (CONDITIONS, BARRIERS, HISTOGRAM, PHYSICS, SPIN, SPIN_THREADS)}


def words_of(build, experiment, variant, form, virtual, variation=0):
    """The command of one run; the program prints its throughput."""
    program = [f"{build}/workloads/{experiment.program_of(variant)}", *(experiment.virtual if virtual else experiment.native),
               *experiment.forms[form], *variant.words]
    if virtual:
        return [f"{build}/bin/elision", "vm", "--machine", experiment.machine, "--variation", str(variation), "--seed",
                str(variation + 1), *variant.lock, "--", *program]
    return [f"{build}/bin/elision", "run", *variant.lock, "--", *program] if variant.lock else program


def ratio_text(values, reference):
    """The ratios of a variant's throughputs to those of the reference in the same rounds."""
    found = Range.of(value / other for value, other in zip(values, reference, strict=True))
    return f"{found.median:.2f} [{found.low:.2f} - {found.high:.2f}]"


def cells(experiment, measured):
    """The table. `measured`: {(variant's name, form): [throughput of each round]}."""
    reference, *others = experiment.variants
    rows = [["", *experiment.forms]]
    rows.append([f"{reference.name}, {experiment.unit}",
                 *(f"{statistics.median(measured[reference.name, form]):.3g}" for form in experiment.forms)])
    for variant in others:
        rows.append([variant.name, *(ratio_text(measured[variant.name, form], measured[reference.name, form])
                                     for form in experiment.forms)])
    return rows


def document(origin, found, command):
    """The text of docs/measured/variants.md. `found`: [(experiment, "natively" or the machine, rounds, measured)]; `command` wrote it."""
    lines = ["# The same program, synchronised in several ways", "", f"Written by `{command}`.", "",
             *performance.markdown(performance.origin_cells(origin)), "",
             *paragraph("Numbers are ratios to the throughput of the first variant in the same round: the median of the rounds, with "
                        "the lowest and the highest. Natively all variants take turns. On a virtual machine a round is a variation of "
                        "it, on which all variants run with the same seed.")]
    for experiment, where, rounds, measured in found:
        lines += [f"## {experiment.title}, {where}", "", *paragraph(f"{experiment.what} Rounds: {rounds}."),
                  *performance.markdown(cells(experiment, measured)), ""]
    return "\n".join([*lines, "## How to repeat", "",
                      "    tools/bench-variants                       all of it, writes this page; also a part of make bench-locks",
                      "    tools/bench-variants --quick conditions    few rounds of one; writes nothing", ""])
