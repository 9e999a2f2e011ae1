# SPDX-License-Identifier: Apache-2.0
"""Pages against what they describe: every option has a row, and every row an option; what README.md says of a measured page
stands there; every step of a walk-through in ARCHITECTURE.md is a function of the file that it names."""

import re

import pytest
from support import ROOT, printed

GUIDE = ROOT / "docs" / "guide"
MOST_STEPS = 10


def options_of_help(elision, verb):
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", printed([elision.binary, verb, "--help"]), re.M)) - {"--help"}


def options_of_table(verb):
    cells = [line.split(" | ")[0] for line in (GUIDE / f"{verb}.md").read_text().splitlines() if line.startswith("| `--")]
    return set(re.findall(r"(?:`|, )(--[a-z-]+)", "\n".join(cells)))


@pytest.fixture
def options_of_locks(elision):
    return options_of_help(elision, "run") - {"--lock"}


def test_options_of_run_have_rows_and_rows_options(options_of_locks):
    assert options_of_table("run") == options_of_locks


@pytest.mark.parametrize("verb, others", [("vm", []), ("compare", []), ("record", ["report"]), ("annotate", []), ("export", []), ("diff", []), ("merge", []), ("import", [])])
def test_options_have_rows_and_rows_options(elision, verb, others, options_of_locks):
    """Options of the locks have their rows in the table of run. `others` are verbs of the same page."""
    known = set().union(*(options_of_help(elision, each) for each in [verb, *others]))
    assert options_of_table(verb) - options_of_locks == known - options_of_locks


def test_figures_of_the_readme_stand_in_the_measured_pages():
    checked = 0
    for item in re.findall(r"^- .*(?:\n  .*)*", (ROOT / "README.md").read_text(), re.M):
        for name in re.findall(r"\]\((docs/measured/[\w-]+\.md)\)", item):
            page = (ROOT / name).read_text()
            for figure in re.findall(r"\d+ of \d+|\d[\d.]*\d|\d", re.sub(r"\]\([^)]*\)", "", item)):
                checked += 1
                assert re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", page), name
    assert checked > 3


def test_steps_exist_in_the_code():
    tables = re.findall(r"^\| step \|.*\n\|[-|]+\n((?:\|.*\n)+)", (ROOT / "docs" / "ARCHITECTURE.md").read_text(), re.M)
    assert tables
    for table in tables:
        rows = [re.match(r"\| (\d+) \| `([\w:]+)` \| `([\w./]+)` \|", row) for row in table.splitlines()]
        assert all(rows), table
        assert [int(row.group(1)) for row in rows] == list(range(1, len(rows) + 1))
        assert len(rows) <= MOST_STEPS
        for row in rows:
            source = (ROOT / row.group(3)).read_text()
            for word in row.group(2).split("::"):
                assert re.search(rf"\b{word}\b\s*[(:<{{]", source), row.group(0)
