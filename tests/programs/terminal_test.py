# SPDX-License-Identifier: Apache-2.0
"""What a person sees at a terminal: lines that fit, colours only where they are wanted, characters that the locale has."""

import os
import re

import pytest
from support import Terminal

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def plain(text):
    return COLOUR.sub("", text)


def assert_fits(text, columns):
    for line in plain(text).splitlines():
        assert len(line) <= columns, line


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("verb", ["compare", "run", "vm", "doctor", "machines"])
def test_help_fits(place, columns, verb):
    shown = Terminal(columns).run([place.elision.binary, verb, "--help"])
    assert "--help" in shown
    assert_fits(shown, columns)
    assert verb != "compare" or max(map(len, shown.splitlines())) > columns - 10


def test_columns_overrides_the_window(place):
    shown = Terminal(120).run([place.elision.binary, "compare", "--help"], COLUMNS="50")
    assert_fits(shown, 50)


@pytest.mark.parametrize("columns", [80, 120])
def test_doctor_fits(place, columns):
    status = place.elision.run("doctor").status
    assert status in (0, 1)  # with transactions, or without
    assert_fits(Terminal(columns).run([place.elision.binary, "doctor"], status), columns)


def test_help_has_lines_without_a_terminal(place):
    assert_fits(place.run("compare", "--help").stdout, 80)
    assert os.linesep in place.run("compare", "--help").stdout
