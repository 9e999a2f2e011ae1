#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks one model of this folder with Spin, or one changed copy of it that must fail.

    models.py MODEL            every state of MODEL.pml, in each of its configurations
    models.py MODEL/NAME       the mutant or the probe NAME of models.toml

A model passes if Spin found no error, searched every state, and ran through every statement in one configuration or
another. A mutant passes if Spin finds the error that `breaks` names. A probe says that a state can be reached: it passes
if Spin finds the way there.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib

FOLDER = pathlib.Path(__file__).resolve().parent
MEMORY_MB = 900
MOST_STEPS = 2_000_000
COMPILE = ["cc", "-O1", "-w", "-DSAFETY", "-DNOFAIR", f"-DMEMLIM={MEMORY_MB}"]
# What pan says when it has not seen every state. Its exit code tells nothing of this.
INCOMPLETE = ("max search depth too small", "Search not completed", "search was truncated", "out of memory", "MEMLIM",
              "Bit statespace", "VECTORSZ")
PROBE = "\nactive proctype probe() {{\nend:\n  ({condition}) -> assert(false)\n}}\n"


class Failure(Exception):
    pass


def run_tool(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def run_pan(folder, *options):
    done = subprocess.run(["./pan", *options], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def search(name, files, flags):
    """The report of a search through all states of the model NAME.pml of `files` (file: text), and the way to an error."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for file, text in files.items():
            (folder / file).write_text(text)
        said = run_tool(["spin", "-a", *flags, f"{name}.pml"], folder)
        if "Error" in said or "warning" in said.lower():
            raise Failure(f"spin -a {name}.pml:\n{said}")
        run_tool([*COMPILE, "-o", "pan", "pan.c"], folder)
        report = run_pan(folder, f"-m{MOST_STEPS}", "-w20")
        trail = run_pan(folder, "-r", "-n", "-C") if (folder / f"{name}.pml.trail").exists() else ""
        return report, trail


def errors_of(report):
    """How many errors the search found; it ends at the first."""
    found = re.search(r"errors: (\d+)", report)
    if found is None:
        raise Failure(f"pan did not end:\n{report}")
    return int(found[1])


def unreached_of(report):
    """The statements that the search never ran, as (process, place, statement)."""
    found = set()
    for process, body in re.findall(r"unreached in proctype (\w+)\n((?:\t.*\n)*)", report):
        for place, statement in re.findall(r"\t(\S+:\d+), state \d+, \"(.*)\"", body):
            found.add((process, place, statement))
    return found


def check_model(name, files, model):
    never = None
    for configuration in model["configurations"]:
        start = time.monotonic()
        report, trail = search(name, files, configuration.split())
        if errors_of(report) != 0:
            raise Failure(f"{name} {configuration} fails; the way there:\n{trail}\n{report}")
        if lacking := [word for word in INCOMPLETE if word in report]:
            raise Failure(f"{name} {configuration} was not searched to the end ({lacking[0]}):\n{report}")
        states = float(re.search(r"([\d.e+]+) states, stored", report)[1])
        memory = float(re.search(r"([\d.]+)\s+total actual memory usage", report)[1])
        seconds = time.monotonic() - start
        print(f"{name} {configuration}: {states:.0f} states, no error, {memory:.0f} MB, {seconds:.1f} s", flush=True)
        unreached = unreached_of(report)
        never = unreached if never is None else never & unreached
    expected = set(model.get("unreached", []))
    surprising = {entry for entry in never if entry[2] not in expected}
    if surprising:
        lines = [f"  {place}: {statement} (in {process})" for process, place, statement in sorted(surprising)]
        raise Failure("never reached:\n" + "\n".join(lines))
    if reached := expected - {entry[2] for entry in never}:
        raise Failure(f"said to be unreached, but reached: {sorted(reached)}")


def check_change(name, changed, files, model, change):
    """A mutant or a probe: the search must find what it promises."""
    configuration = change.get("with", model["configurations"][0])
    file = change.get("file", f"{name}.pml")
    if "reaches" in change:
        files[file] += PROBE.format(condition=change["reaches"])
        expected = "assertion violated 0"
    else:
        if (count := files[file].count(change["old"])) != 1:
            raise Failure(f"{name}/{changed}: its text occurs {count} times in {file}, not once")
        files[file] = files[file].replace(change["old"], change["new"])
        expected = change["breaks"]
    report, trail = search(name, files, configuration.split())
    if errors_of(report) == 0:
        lost = "is not reached" if "reaches" in change else "survives"
        raise Failure(f"{name}/{changed} {lost} ({configuration}):\n{report}")
    said = re.search(r"^pan:1: (.*)$", report, re.MULTILINE)[1]
    if expected not in said:
        raise Failure(f"{name}/{changed} breaks something else, not '{expected}': {said}\n{trail}")
    print(f"{name}/{changed}: {said}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    models = tomllib.loads((FOLDER / "models.toml").read_text())
    name, _, changed = sys.argv[1].partition("/")
    if name not in models or (changed and changed not in models[name]):
        print(f"models.toml has no {sys.argv[1]}", file=sys.stderr)
        return 2
    files = {path.name: path.read_text() for path in FOLDER.glob("*.pml")}
    try:
        if changed:
            check_change(name, changed, files, models[name], models[name][changed])
        else:
            check_model(name, files, models[name])
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except FileNotFoundError as missing:
        print(f"{missing.filename} is not installed", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
