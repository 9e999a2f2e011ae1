# SPDX-License-Identifier: Apache-2.0
"""Each mutant can be made: the text that it replaces is in its file, and there once."""

import tomllib

import pytest
from support import ROOT

MUTANTS = {name: mutant for file in sorted((ROOT / "tests/mutants").glob("*.toml"))
           for name, mutant in tomllib.loads(file.read_text()).items() if isinstance(mutant, dict)}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutants_text_occurs_once(name):
    mutant = MUTANTS[name]
    assert (ROOT / mutant["file"]).read_text().count(mutant["old"]) == 1
