# SPDX-License-Identifier: Apache-2.0
"""Random sequences of instructions, natively and in the virtual machine: both must leave the same behind. No sequence depends on a
flag that is undefined, and every form of instruction in real programs occurs in a sequence or is tested elsewhere."""

import difflib
import os
import pathlib
import re
import tomllib

import pytest
from support import run

BATCH = 5000  # sequences a process
FLAGS = {"CF": 0x1, "PF": 0x4, "AF": 0x10, "ZF": 0x40, "SF": 0x80, "OF": 0x800}
# Of all sequences: AF, which has few readers and is most often undefined, is noticed least.
LEAST_NOTICED = 0.05
FORMS_ELSEWHERE = pathlib.Path(__file__).with_name("forms_elsewhere.toml")


class Sequences:
    """The sequences of a seed, as arguments of the program that runs them."""

    def __init__(self, elision, seed, count):
        self.native = [elision.build / "guests" / "differential"]
        self.virtual = [elision.binary, "vm", "--crash-reports", "none", "--", *self.native]
        self.seed, self.count = ["--seed", seed], count

    @staticmethod
    def run(words):
        """Nothing of the caller's environment, so that a run can be repeated from anywhere."""
        return run(words, base={"PATH": os.environ["PATH"]})

    def lines(self, words):
        """A line for each sequence."""
        ending = self.run(words)
        assert ending.status == 0
        assert ending.stdout
        return ending.stdout.splitlines()

    def expect_same(self, *options):
        """Natively and virtually."""
        for begin in range(0, self.count, BATCH):
            arguments = [*self.seed, *options, "--first", begin, "--count", min(BATCH, self.count - begin)]
            native = self.lines([*self.native, *arguments])
            virtual = self.run([*self.virtual, *arguments])
            lines = virtual.stdout.splitlines()
            for one, other in zip(native, lines):
                if one != other:
                    pytest.fail(self.difference([*self.seed, *options, "--first", one.split()[0], "--count", 1]), pytrace=False)
            assert virtual.status == 0
            assert len(lines) == len(native)

    def difference(self, arguments):
        """The sequence, and where both states differ; the last two programs repeat it."""
        native, virtual = (self.run([*words, *arguments, "--show"]).stdout.splitlines() for words in (self.native, self.virtual))
        sequence = [f"    {line}" for line in native if ": " in line or line.startswith(("sequence", "round"))]
        return "\n".join([*sequence, *difflib.unified_diff(native, virtual, "native", "virtual", lineterm="", n=0)])


@pytest.fixture(scope="module")
def sequences(elision, request):
    option = request.config.option
    return Sequences(elision, 5 if option.seed is None else option.seed, option.count)


def test_low(sequences):
    sequences.expect_same()


def test_high(sequences):
    """The code lies above 2 GB."""
    sequences.expect_same("--high")


def words_that_flip(sequences, program, which, *more):
    """The command that changes some flags after every instruction that writes flags, as another kind of CPU might."""
    return [*program, *sequences.seed, "--count", sequences.count, "--flip", which, *more]


@pytest.fixture(scope="module")
def unchanged(sequences):
    return sequences.lines(words_that_flip(sequences, sequences.native, "nothing"))


def differing(one, other):
    return sum(a != b for a, b in zip(one, other)) + abs(len(one) - len(other))


@pytest.mark.parametrize("place, which", [("native", "undefined"), ("virtual", "nothing"), ("virtual", "undefined")])
def test_undefined_flags_change_nothing(sequences, unchanged, place, which):
    assert differing(unchanged, sequences.lines(words_that_flip(sequences, getattr(sequences, place), which))) == 0


@pytest.mark.parametrize("flag", FLAGS)
def test_defined_flags_are_noticed(sequences, unchanged, flag):
    """In many sequences, or a mask covers too much."""
    changed = sequences.lines(words_that_flip(sequences, sequences.native, "defined", "--flags", FLAGS[flag]))
    assert differing(unchanged, changed) >= LEAST_NOTICED * sequences.count


@pytest.fixture(scope="module")
def met(request):
    """form -> bytes of an instruction that has it, of the programs that the corpus ran."""
    folder = request.config.option.forms or pytest.skip("--forms does not say where the corpus left forms")
    forms = {}
    for file in sorted(folder.glob("*.forms")):
        for line in file.read_text().splitlines():
            form, code = line.split("\t")
            forms.setdefault(form, code)
    assert forms, f"{folder} has no forms: run the corpus first"
    return forms


@pytest.fixture
def examples(met, folder):
    file = folder / "examples"
    file.write_text("".join(f"{form}\t{code}\n" for form, code in sorted(met.items())))
    return ["--examples", file]


def test_forms_are_the_same(sequences, examples):
    """Sequences of the instructions in real programs."""
    sequences.expect_same(*examples)


def test_forms_are_all_tested(sequences, met, examples):
    listed = sequences.lines([*sequences.native, *sequences.seed, "--count", sequences.count, *examples, "--list-forms"])
    elsewhere = [re.compile(pattern) for pattern in tomllib.loads(FORMS_ELSEWHERE.read_text())]
    assert [f"{form} ({met[form]})" for form in sorted(met.keys() - set(listed))
            if not any(pattern.fullmatch(form) for pattern in elsewhere)] == []
