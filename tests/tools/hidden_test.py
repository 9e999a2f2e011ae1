# SPDX-License-Identifier: Apache-2.0
"""Hidden parts: what counts as recovered, the page of made-up parts, and one real part in small form."""

import json
import subprocess
import sys

import describe
import hidden
import pytest
import records
from hidden import Cell, Part
from support import ROOT

RATIO = records.RATIO


def test_numbers_may_be_off_by_a_share_and_words_not_at_all():
    assert hidden.value_met(100, 115)
    assert not hidden.value_met(100, 116)
    assert hidden.value_met("kept", "kept")
    assert not hidden.value_met("kept", "lost")


def test_rates_may_also_be_some_points_off():
    assert hidden.cell_met("commits per begin", 0.01, 0.03)
    assert not hidden.cell_met("commits per begin", 0.01, 0.04)
    assert not hidden.cell_met(RATIO, 0.01, 0.03)
    assert hidden.cell_met(RATIO, 2.0, 2.5)


def test_variations_are_the_same_in_every_run_and_differ():
    assert hidden.variations() == hidden.variations()
    assert len(set(hidden.variations())) == hidden.PARTS


def test_recorded_probes_determine_all_that_can_be_determined():
    jobs = {job.name for job in hidden.probes_of()}
    newest = {}
    for row in describe.rows():
        newest.setdefault(row.parameter, row.figure.job)
    assert {*newest.values(), hidden.CLOCK_JOB} == jobs
    assert {job.name for job in hidden.probes_of(("tlb.walk_cycles",))} == {"page_walks", hidden.CLOCK_JOB}


def made_up(cells):
    return Part(7, {"a.b": 100, "core.issue_width": 6}, {"a.b": 130, "core.issue_width": 4}, {"a.b"}, cells)


def test_the_page_counts_and_explains():
    key = ("job", "htm-10", RATIO)
    part = made_up({key: Cell(2.0, 3.0, 2.1, explained=2.1, again=2.0)})
    page = hidden.page([part])
    assert "0 of 1 values that figures determine" in page
    assert "0 of 1 cells of workloads are within 25%; with the best guesses instead of the description, 1." in page
    assert "**100 → 130**" in page
    assert "`core.issue_width`: a size that no probe looks for" in page
    assert "Values that no figure determines" in page


def test_a_value_counts_in_the_parts_that_determine_it():
    values = {"a.b": 100, "c.d": 10}
    parts = [Part(number, values, values, determined) for number, determined in ((1, {"a.b"}), (2, {"a.b", "c.d"}), (3, set()))]
    assert hidden.value_rows(parts) == [["`a.b`", "100 → 100", "100 → 100", "-", "2 of 2"], ["`c.d`", "-", "10 → 10", "-", "1 of 1"]]
    page = hidden.page(parts)
    assert "3 of 3 values that figures determine" in page
    assert "- `c.d`" not in page


@pytest.mark.parametrize("parts", ["0", "10000"])
def test_a_number_of_parts_that_cannot_be_drawn_is_refused(build, parts):
    done = subprocess.run([sys.executable, "-B", ROOT / "tools/hidden-parts", "--build", build, "--parts", parts],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "tools/hidden-parts: --parts: from 1 to 9999\n")


def test_a_part_can_be_kept():
    part = made_up({("job", "htm-10", RATIO): Cell(2.0, 3.0, 2.1)})
    assert hidden.restored(json.loads(json.dumps(hidden.kept(part)))) == part


@pytest.mark.parametrize(("cell", "words"), [
    (Cell(2.0, 3.0, 2.0, explained=2.0, again=3.5), "chance"),
    (Cell(2.0, 3.0, 2.0, explained=2.0, again=2.0), "values that no figure determines"),
    (Cell(2.0, 3.0, 2.0, explained=3.0, again=2.0), "not explained"),
])
def test_a_missing_cell_has_a_reason(cell, words):
    assert hidden.explanation(cell, RATIO).startswith(words)


def test_four_values_of_one_part_are_recovered(build):
    words = [sys.executable, "-B", ROOT / "tools/hidden-parts", "--build", build, "--quick"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 values are recovered." in done.stdout
