# SPDX-License-Identifier: Apache-2.0
"""Checks the models of this folder with Spin, and changed copies of them that must fail.

A model passes if Spin found no error, searched every state, and ran through every statement in one configuration or
another. A mutant passes if Spin finds the error that `breaks` names. A probe says that a state can be reached: it passes
if Spin finds the way there.
"""

import pathlib
import re
import tempfile
import time
import tomllib

from support import run

FOLDER = pathlib.Path(__file__).resolve().parent
MOST_STEPS = 2_000_000
COMPILE = ["cc", "-w", "-DSAFETY", "-DNOFAIR"]
QUICK = ["-O1", "-DMEMLIM=900"]
CHANGE = ["-O0", "-DMEMLIM=900"]
SOAK = ["-O2", "-DMEMLIM=4000", "-DCOLLAPSE"]
# What pan says when it has not seen every state. Its exit code tells nothing of this.
INCOMPLETE = ("max search depth too small", "Search not completed", "search was truncated", "out of memory", "MEMLIM",
              "Bit statespace", "VECTORSZ")
PROBE = "\nactive proctype probe() {{\nend:\n  ({condition}) -> assert(false)\n}}\n"


class Failure(Exception):
    """What is wrong with a model."""


def run_tool(command, folder):
    ending = run(command, cwd=folder)
    if ending.status != 0:
        raise Failure(f"{ending.command}:\n{ending.stdout}{ending.stderr}")
    return ending.stdout


def run_pan(folder, *options):
    ending = run(["./pan", *options], cwd=folder)
    return ending.stdout + ending.stderr


def search(name, files, flags, options):
    """The report of a search through all states of the model NAME.pml of `files` (file: text), and the way to an error.

    The compiler takes longer than a short search: `options` say how far it optimises, and how much memory pan may take."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for file, text in files.items():
            (folder / file).write_text(text)
        said = run_tool(["spin", "-a", *flags, f"{name}.pml"], folder)
        if "Error" in said or "warning" in said.lower():
            raise Failure(f"spin -a {name}.pml:\n{said}")
        run_tool([*COMPILE, *options, "-o", "pan", "pan.c"], folder)
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


def check_configuration(name, files, configuration, options):
    """The report of a search that must find no error."""
    start = time.monotonic()
    report, trail = search(name, files, configuration.split(), options)
    if errors_of(report) != 0:
        raise Failure(f"{name} {configuration} fails; the way there:\n{trail}\n{report}")
    if lacking := [word for word in INCOMPLETE if word in report]:
        raise Failure(f"{name} {configuration} was not searched to the end ({lacking[0]}):\n{report}")
    states = float(re.search(r"([\d.e+]+) states, stored", report)[1])
    memory = float(re.search(r"([\d.]+)\s+total actual memory usage", report)[1])
    seconds = time.monotonic() - start
    print(f"{name} {configuration}: {states:.0f} states, no error, {memory:.0f} MB, {seconds:.1f} s", flush=True)
    return report


def check_model(name, files, model):
    never = None
    for configuration in model["configurations"]:
        unreached = unreached_of(check_configuration(name, files, configuration, QUICK))
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
    report, trail = search(name, files, configuration.split(), CHANGE)
    if errors_of(report) == 0:
        lost = "is not reached" if "reaches" in change else "survives"
        raise Failure(f"{name}/{changed} {lost} ({configuration}):\n{report}")
    said = re.search(r"^pan:1: (.*)$", report, re.MULTILINE)[1]
    if expected not in said:
        raise Failure(f"{name}/{changed} breaks something else, not '{expected}': {said}\n{trail}")
    print(f"{name}/{changed}: {said}")


def read_tables():
    """{MODEL or MODEL/NAME: the table of the model, and that of its mutant or probe NAME}."""
    tables = {}
    for name, model in tomllib.loads((FOLDER / "models.toml").read_text()).items():
        tables[name] = model, None
        tables |= {f"{name}/{changed}": (model, change) for changed, change in model.items() if isinstance(change, dict)}
    return tables


def check(table, model, change, soak=False):
    """One of these tables; with `soak`, the larger configurations of a model."""
    name, _, changed = table.partition("/")
    files = {path.name: path.read_text() for path in FOLDER.glob("*.pml")}
    if soak:
        for configuration in model["soak"]:
            check_configuration(name, files, configuration, SOAK)
    elif change is None:
        check_model(name, files, model)
    else:
        check_change(name, changed, files, model, change)
