# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody wrote for this project, whose threads meet at locks, are right under every lock design.

Which designs there are lock_table.cc says, from the library's own table. Every program runs under glibc's locks without the
library first. Under a design it must print the same and end the same way; its locks must have gone through the library, as
many as locked_programs.toml says; elided designs must have tried transactions where there are any; and no lock was let go or
destroyed in a state that POSIX does not allow. On the virtual machine the designs together must have found locks held and
speculated, or the program tests nothing.

--soak takes the program's $SIZE of `make soak`, and all forms; --size N another $SIZE; --designs not all designs; --form='--wait spin'
these options of `elision run` alone.
"""

import fnmatch
import json
import re
import tempfile

import corpus
import pytest
from support import printed

PROGRAMS = corpus.read_locked_programs()
# Some ten times what the longest takes: a run that reaches it hangs.
LIMIT_SECONDS = 300


class Run:
    """One run of a program: how it behaved, and what its processes counted."""

    def __init__(self, program, prefix, size, table):
        with tempfile.TemporaryDirectory() as counters:
            variables = {"SIZE": str(size), "ELISION_COUNTERS_DIR": counters}
            text = corpus.behaviour(program, prefix, variables, LIMIT_SECONDS)
            self.text = re.sub(r"^elision run: .*\n", "", text, flags=re.MULTILINE)  # the launcher's notes
            self.processes = [json.loads(line) for line in printed([table, "counters", counters]).splitlines()]

    def of(self, pattern):
        return [process for process in self.processes if fnmatch.fnmatch(process["program"], pattern)]

    def total(self, key, pattern="*"):
        return sum(process[key] for process in self.of(pattern))


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


def wrong_in(run, program, design, reference):
    if run.text != reference:
        yield "it behaves otherwise:\n" + corpus.difference(reference, run.text, "glibc", design)
    yield from missing_evidence(run, program, design)


def size_of(program, place, option):
    size = option.size or program.get("soak" if option.soak else "quick", {}).get(place)
    return size or pytest.skip("locked_programs.toml gives it no such size here: --soak or --size")


def runs_of(program, place, option, known):
    """(design, form) of every run."""
    designs = option.designs.split(",") if option.designs else known
    assert set(designs) <= set(known), f"there are {', '.join(known)}"
    asked = program.get("forms", {}).get(place, {})
    if option.form is not None:
        forms = {option.form: asked.get(option.form, "*")}
    else:
        forms = {"": "*"} | (asked if option.soak else {})
    return [(design, form) for form, pattern in forms.items() for design in fnmatch.filter(designs, pattern)]


@pytest.mark.parametrize("place", corpus.PLACES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(elision, request, name, place):
    program, option, table = PROGRAMS[name], request.config.option, elision.test_program("lock_table")
    size = size_of(program, place, option)
    assert corpus.missing_packages(program) == []
    reference = Run(program, [], size, table)
    assert reference.text.endswith("--- status 0\n"), reference.text
    verb = ["run", "--rtm-always-abort"]
    if place == "virtual":
        seed = 1 if option.seed is None else option.seed
        verb = ["vm", "--crash-reports", "none", "--seed", str(seed), *program.get("options", [])]
    done, wrong = [], []
    for design, form in runs_of(program, place, option, printed([table, "designs"]).split()):
        done.append(Run(program, [str(elision.binary), *verb, "--lock", design, *form.split(), "--"], size, table))
        wrong += [f"--designs={design} --form='{form}': {what}" for what in wrong_in(done[-1], program, design, reference.text)]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
    if place == "virtual":
        expect_contention(done)


def expect_contention(runs):
    """These runs together show waiting, and speculation where a design has it: otherwise they test nothing."""
    speculating = [run for run in runs if any(process["speculates"] for process in run.processes)]
    counting = [run for run in runs if any(process["counts"] for process in run.processes)]
    assert not counting or any(run.total("busy") for run in counting)
    assert not speculating or any(run.total("speculations") for run in speculating)
