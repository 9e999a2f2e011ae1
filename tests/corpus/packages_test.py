# SPDX-License-Identifier: Apache-2.0
"""The packages that tests/corpus/packages reads in awk are those that a reader of TOML finds."""

import corpus
import pytest
from support import printed, run

SCRIPT = corpus.HERE / "packages"


@pytest.fixture
def packages():
    """{which: packages}, as TOML has them."""
    programs = [*corpus.read_programs().values(), *corpus.read_locked_programs().values()]
    return {which: sorted({package for program in programs if which == "all" or program.get("quick") for package in program["packages"]})
            for which in ("quick", "all")}


@pytest.mark.parametrize("which", ["quick", "all"])
def test_packages_are_those_of_the_programs(packages, which):
    assert printed([SCRIPT, which]).split() == packages[which]


def test_few_packages_are_quick(packages):
    assert len(packages["quick"]) < len(packages["all"]) // 2


def test_other_word_is_refused():
    ending = run([SCRIPT, "slow"])
    assert (ending.status, ending.stdout, len(ending.stderr.splitlines())) == (2, "", 1)
