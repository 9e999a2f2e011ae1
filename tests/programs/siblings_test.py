# SPDX-License-Identifier: Apache-2.0
"""Two hardware threads of a core share what it can issue in a cycle, and two cores do not.

On a machine with two threads a core, whose CPUs 0 and 8 are siblings.
"""

import pytest

SHARE = 60  # per cent of the issue width that a thread has beside its sibling
MACHINE = f"core-i7-5960x,core.sibling_issue_percent={SHARE}"


@pytest.fixture
def ticks(elision):
    def measured(first, second, kind, *options):
        ending = elision.vm([elision.test_program("siblings"), first, second, kind], ["--machine", MACHINE, *options])
        assert ending.status == 0
        return int(ending.stdout)
    return measured


@pytest.mark.parametrize("first, second, kind, ratio, tolerance", [
    pytest.param(0, 8, "wide", 100 / SHARE, 0.03, id="independent additions"),
    pytest.param(8, 0, "wide", 100 / SHARE, 0.03, id="independent additions, the other way round"),
    pytest.param(0, 8, "chain", 1, 0.02, id="a chain of multiplications"),
    pytest.param(0, 8, "short", 1, 0.02, id="after the sibling has gone")])
def test_time_beside_the_sibling(ticks, first, second, kind, ratio, tolerance):
    assert ticks(first, second, kind) / ticks(0, 1, kind) == pytest.approx(ratio, abs=tolerance)


def test_fast_path_changes_nothing(ticks):
    assert ticks(0, 8, "wide", "--no-fast-path") == ticks(0, 8, "wide")
