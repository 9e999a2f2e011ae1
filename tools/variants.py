# SPDX-License-Identifier: Apache-2.0
"""What tools/bench-variants runs and what it makes of the results: one program in several variants of its synchronisation. Nothing
here runs anything."""

import dataclasses
import statistics

import performance
from performance import paragraph


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    lock: tuple = ()   # options of elision run and elision vm; (): glibc's locks, nothing preloaded
    words: tuple = ()  # of the program


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    what: str
    program: str
    variants: tuple  # the first is what the others are compared with
    forms: dict      # what the columns say -> words of the program
    native: tuple    # words of the program, for its size
    machine: str = ""  # of virtual runs; "": none
    virtual: tuple = ()


CONDITIONS = Experiment(
    "conditions", "Condition variables",
    "Eight threads send and receive 64-byte packets over four connections, 32 packets at most on their way in each. *tsx.abort*: a "
    "transaction ends before it waits or signals; *tsx.cond*: condition variables aware of transactions; *busywait*: waits that "
    "only look again (TSX paper, section 6).",
    "packets",
    (Variant("mutex"),
     Variant("tsx.abort", ("--lock", "htm-10", "--condition", "glibc")),
     Variant("tsx.cond", ("--lock", "htm-10", "--condition", "aware")),
     Variant("mutex.busywait", ("--lock", "pthread", "--condition", "busy")),
     Variant("tsx.busywait", ("--lock", "htm-10", "--condition", "busy"))),
    {"one lock": ("--locks", "one"), "a lock a connection": ("--locks", "each")},
    ("--packets", "10000"), "xeon-e5-2697v4", ("--packets", "500"))

EXPERIMENTS = {experiment.name: experiment for experiment in (CONDITIONS,)}


def words_of(build, experiment, variant, form, virtual, variation=0):
    """The command of one run; the program prints its throughput."""
    program = [f"{build}/workloads/{experiment.program}", *(experiment.virtual if virtual else experiment.native),
               *experiment.forms[form], *variant.words]
    if virtual:
        return [f"{build}/bin/elision", "vm", "--machine", experiment.machine, "--variation", str(variation), "--seed",
                str(variation + 1), *variant.lock, "--", *program]
    return [f"{build}/bin/elision", "run", *variant.lock, "--", *program] if variant.lock else program


@dataclasses.dataclass(frozen=True)
class Ratios:
    """Of the throughputs of a variant to those of the reference, run beside it."""
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values, reference):
        found = [value / other for value, other in zip(values, reference, strict=True)]
        return cls(statistics.median(found), min(found), max(found))

    def __str__(self):
        return f"{self.median:.2f} [{self.low:.2f} - {self.high:.2f}]"


def cells(experiment, measured):
    """The table. `measured`: {(variant's name, form): [throughput of each round]}."""
    reference, *others = experiment.variants
    rows = [["", *experiment.forms]]
    rows.append([f"{reference.name}, a second",
                 *(f"{statistics.median(measured[reference.name, form]):.3g}" for form in experiment.forms)])
    for variant in others:
        rows.append([variant.name, *(str(Ratios.of(measured[variant.name, form], measured[reference.name, form]))
                                     for form in experiment.forms)])
    return rows


def document(origin, found):
    """The text of docs/variants.md. `found`: [(experiment, "natively" or the machine, rounds, measured)]."""
    size = "" if origin.scale == 1 else f" at {origin.scale:g} of the full size"
    lines = ["# The same program, synchronised in several ways", "", f"Written by `make bench-locks`{size}.", "",
             *performance.markdown(performance.origin_cells(origin)), "",
             *paragraph("Numbers are throughputs as multiples of the first variant's in the same round, the median of the rounds and "
                        "the lowest and highest. Natively all variants take turns; on a virtual machine a round is a variation of "
                        "it, which all variants meet with the same seed.")]
    for experiment, where, rounds, measured in found:
        lines += [f"## {experiment.title}, {where}", "", *paragraph(f"{experiment.what} {rounds} rounds."),
                  *performance.markdown(cells(experiment, measured)), ""]
    return "\n".join([*lines, "## Again", "",
                      "    make bench-locks                            all of it, after docs/lock-costs.md; writes this page",
                      "    tools/bench-variants --quick conditions     few rounds of one; writes nothing", ""])
