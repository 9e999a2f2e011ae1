# SPDX-License-Identifier: Apache-2.0
"""Long programs that `elision compare` answers for within its default budget: the programs, what an answer consists of, and the page. Pure."""

import dataclasses

import performance
import sampling

MACHINE, THREADS = "xeon-e5-2697v4", 18
LEADING = 2  # designs that are run whole


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    words: tuple  # {build} and {data} stand for the folders of the build and of what `prepare` makes
    prepare: tuple = ()


PROGRAMS = (
    Program("kcgrasstest, a million operations", ("kcgrasstest", "wicked", "-th", "{threads}", str(1_000_000 // THREADS))),
    Program("RocksDB, a million reads",
            ("db_bench", "--benchmarks=readrandom", "--use_existing_db=1", "--readonly=1", "--cache_numshardbits=0", "--cache_size=8388608", "--num=20000",
             f"--reads={1_000_000 // THREADS}", "--threads={threads}", "--seed=1", "--db={data}/db"),
            ("db_bench", "--benchmarks=fillseq,compact", "--num=20000", "--seed=1", "--db={data}/db")),
    Program("ArrayBench, five seconds", ("{build}/workloads/arraybench", "--threads", "{threads}", "--seconds", "5")),
)


def filled(words, build, data):
    """Words without {build} and {data}; compare fills in {threads}."""
    return [word.replace("{build}", str(build)).replace("{data}", str(data)) for word in words]


def command(build, program, data, more=()):
    """The words of a comparison with its default budget, or with other options. What the programs print depends on time."""
    return [f"{build}/bin/elision", "compare", "--machine", MACHINE, "--threads", str(THREADS), "--format", "json", "--ignore-output", *more, "--",
            *filled(program.words, build, data)]


def whole_options(design):
    """Of the comparison that runs a design once, whole and in full detail, and pthread, too."""
    return ["--locks", design, "--runs", "1", "--timeout", "1000000", "--no-why"]


def leading(report):
    """The best designs other than pthread, the best first."""
    rows = sampling.rows_of(report)
    return sorted(rows, key=lambda design: -rows[design]["speedup"])[:LEADING]


def intervals(report):
    """(designs other than pthread that have an interval, all of them)"""
    rows = [row for row in report["blocks"][0]["rows"] if row["design"] != "pthread"]
    return sum("interval" in row for row in rows), len(rows)


@dataclasses.dataclass(frozen=True)
class Answer:
    program: Program
    report: dict | None  # None: compare had no answer
    seconds: float  # of the host, from the start of the command to its end
    load: float  # of the host before it
    whole: dict = dataclasses.field(default_factory=dict)  # design -> report of its whole run


def checked_rows(answer):
    """Cells of the leading designs that were run whole."""
    found, rows = [], sampling.rows_of(answer.report)
    for design in leading(answer.report):
        if design not in answer.whole:
            continue
        whole, row = sampling.rows_of(answer.whole[design]).get(design), rows[design]
        inside = "-"
        if whole is not None and "interval" in row:
            inside = "yes" if row["interval"]["low"] <= whole["speedup"] <= row["interval"]["high"] else "**no**"
        found.append([answer.program.name, design, sampling.speedup_text(row), "no result" if whole is None else f"{whole['speedup']:.2f}", inside])
    return found


def answer_row(answer):
    if answer.report is None:
        return [answer.program.name, f"{answer.seconds / 60:.1f}", f"{answer.load:.1f}", "none", "no answer"]
    rows = sampling.rows_of(answer.report)
    having, every = intervals(answer.report)
    return [answer.program.name, f"{answer.seconds / 60:.1f}", f"{answer.load:.1f}", f"{having} of {every}",
            ", ".join(f"{design} {sampling.speedup_text(rows[design])}" for design in leading(answer.report))]


def document(origin, answers):
    lines = ["# Answers for long programs", "", "Written by `make bench-answers`.", "", *performance.markdown(performance.origin_cells(origin)), "",
             *performance.paragraph(
                 f"`elision compare --machine {MACHINE} --threads {THREADS} --ignore-output -- PROGRAM`, with its default budget of five minutes. Minutes run from "
                 "the start of the command to its end. They include the runs that say why a design is best, which the budget does not. The load is that of the "
                 "host before the command."),
             *performance.markdown([["program", "minutes", "load", "designs with an interval", "leading designs, speedup [95 % interval]"],
                                    *(answer_row(answer) for answer in answers)]), ""]
    checked = [row for answer in answers if answer.report is not None for row in checked_rows(answer)]
    if checked:
        lines += [*performance.paragraph("Leading designs run once as a whole in full detail (`make bench-answers WHOLE=1`):"),
                  *performance.markdown([["program", "design", "answer", "whole run", "within the interval"], *checked]), ""]
    missing = [f"{answer.program.name} under {design}" for answer in answers if answer.report is not None
               for design in leading(answer.report) if design not in answer.whole]
    if missing:
        lines += performance.paragraph(f"Not run as a whole: {'; '.join(missing)}.")
    return "\n".join(lines).rstrip("\n") + "\n"
