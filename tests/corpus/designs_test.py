#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody wrote for this project, whose threads meet at locks, are right under every lock design.

    under_designs.py BUILD NAME...              these programs of locked_programs.toml, natively
    under_designs.py --virtual BUILD NAME...    on the virtual machine
    under_designs.py --soak ...                 as `make soak`: its $SIZE, and all forms
    under_designs.py --size N ...               another $SIZE
    under_designs.py --designs htm-10,tts ...   not all designs
    under_designs.py --form '--wait spin' ...   with these options of `elision run` alone
    under_designs.py --list quick|soak          NAME/native and NAME/virtual of those in `make test`, or in `make soak`

Which designs there are lock_table.cc says, from the library's own table. Every program runs under glibc's locks without the
library first. Under a design it must print the same and end the same way; its locks must have gone through the library, as
many as locked_programs.toml says; elided designs must have tried transactions where there are any; and no lock was let go or
destroyed in a state that POSIX does not allow. On the virtual machine the designs together must have found locks held and
speculated, or the program tests nothing. One line a run; behind a wrong one what repeats it.
"""

import argparse
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib

import corpus

KEYS = {"packages", "run", "prepare", "mask", "locks", "forms", "quick", "soak", "options"}
REQUIRED = {"packages", "run", "locks", "soak"}
PLACES = ("native", "virtual")
# Some ten times what the longest takes: a run that reaches it hangs.
LIMIT_SECONDS = 300


def read_programs():
    programs = tomllib.loads((corpus.HERE / "locked_programs.toml").read_text())
    for name, program in programs.items():
        if wrong := set(program) - KEYS or REQUIRED - set(program):
            sys.exit(f"locked_programs.toml: {name}: unknown or missing {', '.join(sorted(wrong))}")
        for when in ("forms", "quick", "soak"):
            if wrong := set(program.get(when, {})) - set(PLACES):
                sys.exit(f"locked_programs.toml: {name}: {when} knows no {', '.join(sorted(wrong))}")
    return programs


class Run:
    """One run of a program: how it behaved, and what its processes counted."""

    def __init__(self, program, prefix, size, table):
        with tempfile.TemporaryDirectory() as counters:
            variables = {"SIZE": str(size), "ELISION_COUNTERS_DIR": counters}
            text, _, self.seconds = corpus.behaviour(program, prefix, variables, LIMIT_SECONDS)
            self.text = re.sub(r"^elision run: .*\n", "", text, flags=re.MULTILINE)  # the launcher's notes
            lines = output_of([table, "counters", counters]).splitlines()
        self.processes = [json.loads(line) for line in lines]

    def of(self, pattern):
        return [process for process in self.processes if fnmatch.fnmatch(process["program"], pattern)]

    def total(self, key, pattern="*"):
        return sum(process[key] for process in self.of(pattern))


def output_of(words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def missing_evidence(run, program, design):
    """What does not show that the program's locks were those of the design; nothing if all does."""
    for process in run.processes:
        if process["asked"] != design or process["design"] not in (design, "pthread"):
            yield f"{process['program']} ran under {process['design']}, asked for {process['asked']}"
        if process["bad_unlocks"] or process["bad_destroys"]:
            yield f"{process['program']}: {process['bad_unlocks']} bad unlocks, {process['bad_destroys']} bad destroys"
    for pattern, least in program["locks"].items():
        processes = run.of(pattern)
        if not any(process["seen"] for process in processes):
            yield f"no lock of {pattern} was seen by the library"
        elif processes[0]["counts"] and run.total("sections", pattern) < least:
            yield f"{run.total('sections', pattern)} sections of {pattern}, expected at least {least}"
        elif processes[0]["elides"] and run.total("commits", pattern) + run.total("fallbacks", pattern) == 0:
            yield f"no section of {pattern} was tried as a transaction"


class Bench:
    """One place (natively or virtually) with its launcher, and what is common to all runs there."""

    def __init__(self, build, virtual, seed):
        self.build, self.virtual = build, virtual
        self.elision, self.table = build / "bin" / "elision", build / "tests" / "lock_table"
        self.place = "virtual" if virtual else "native"
        self.vm = ["vm", "--crash-reports", "none", "--seed", seed]

    def prefix(self, design, form, options):
        verb = [*self.vm, *options] if self.virtual else ["run", "--rtm-always-abort"]
        return [str(self.elision), *verb, "--lock", design, *form, "--"]

    def judged(self, name, program, design, form, size, reference):
        """Runs and prints the line; the run, or None if it was wrong."""
        title = " ".join([name, self.place, design, *form])
        repeat = ["tests/corpus/under_designs.py", *(["--virtual", *self.vm[3:]] if self.virtual else []), "--size", size,
                  "--designs", design, "--form", f"'{' '.join(form)}'", self.build, name]
        start = time.monotonic()
        try:
            run = Run(program, self.prefix(design, form, program.get("options", [])), size, self.table)
            wrong = list(missing_evidence(run, program, design))
            if run.text != reference:
                wrong.append("it behaves otherwise:\n" + corpus.difference(reference, run.text, "glibc", design))
        except subprocess.TimeoutExpired:
            wrong = [f"no end within {LIMIT_SECONDS} s"]
        except corpus.PrepareError as error:
            wrong = [str(error)]
        if wrong:
            print(f"{title}: WRONG after {time.monotonic() - start:.1f} s: " + "; ".join(wrong))
            print("repeat with: " + " ".join(str(word) for word in repeat), flush=True)
            return None
        counts = ", ".join(f"{sum(run.total(key, pattern) for pattern in program['locks'])} {key}"
                           for key in ("sections", "commits", "speculations", "busy"))
        print(f"{title}: right ({counts}; {run.seconds:.1f} s)", flush=True)
        return run

    def all_right(self, name, program, runs, size):
        missing = [package for package in program["packages"] if not corpus.is_installed(package)]
        if missing:
            print(f"{name}: not installed: {' '.join(missing)}")
            return False
        try:
            reference = Run(program, [], size, self.table)
        except (corpus.PrepareError, subprocess.TimeoutExpired) as error:
            print(f"{name}: natively, without the library: {error}")
            return False
        if not reference.text.endswith("--- status 0\n"):
            print(f"{name}: natively, without the library, it is not right:\n{reference.text}")
            return False
        done = [self.judged(name, program, design, form, size, reference.text) for design, form in runs]
        return None not in done and (not self.virtual or self.was_contended(name, done))

    @staticmethod
    def was_contended(name, runs):
        """Whether these runs together show waiting, and speculation where a design has it."""
        speculating = [run for run in runs if any(process["speculates"] for process in run.processes)]
        counting = [run for run in runs if any(process["counts"] for process in run.processes)]
        idle = counting and not any(run.total("busy") for run in counting)
        if idle or (speculating and not any(run.total("speculations") for run in speculating)):
            print(f"{name}: no lock was found held, or nobody speculated: it tests nothing")
            return False
        return True


def listed(programs, when):
    return [f"{name}/{place}" for name, program in programs.items() for place in PLACES if place in program.get(when, {})]


def main():
    corpus.end_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", choices=["quick", "soak"])
    parser.add_argument("--virtual", action="store_true")
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--size", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--designs")
    parser.add_argument("--form")
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("name", nargs="*")
    arguments = parser.parse_args()
    programs = read_programs()
    if corpus.is_answered(parser, arguments, programs, listed):
        return 0
    print(subprocess.run([arguments.build / "tests" / "cpu_kind"], capture_output=True, text=True, check=False).stdout, end="",
          flush=True)
    bench = Bench(arguments.build, arguments.virtual, arguments.seed)
    known = output_of([bench.table, "designs"]).split()
    designs = arguments.designs.split(",") if arguments.designs else known
    if unknown := [design for design in designs if design not in known]:
        parser.error(f"no design {', '.join(unknown)}; there are {', '.join(known)}")
    good = []
    for name in arguments.name:
        program = programs[name]
        size = arguments.size or program.get("soak" if arguments.soak else "quick", {}).get(bench.place)
        if size is None:
            parser.error(f"locked_programs.toml gives {name} no such size here: --soak or --size")
        asked = program.get("forms", {}).get(bench.place, {})
        if arguments.form is not None:
            forms = {arguments.form: asked.get(arguments.form, "*")}
        else:
            forms = {"": "*"} | (asked if arguments.soak else {})
        runs = [(design, form.split()) for form, pattern in forms.items() for design in fnmatch.filter(designs, pattern)]
        good.append(bench.all_right(name, program, runs, size))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
