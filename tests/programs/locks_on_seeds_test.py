# SPDX-License-Identifier: Apache-2.0
"""The suites of the lock designs on the virtual machine, where every transaction is to be had, over many seeds."""

import pytest
from support import waits

SUITE_ROUNDS = 60


@pytest.mark.parametrize("suite", ["locks_locks_test", "locks_barrier_test"])
def test_suites(elision, seed, suite):
    """The typed suites over the algorithms (src/locks)."""
    ending = elision.vm([elision.test_program(suite)], ["--seed", seed], environment={"ELISION_TEST_ROUNDS": str(SUITE_ROUNDS)})
    assert ending.status == 0
    assert "[  PASSED  ]" in ending.stdout


def test_semantics(elision, seed, design):
    """What POSIX promises, through the preload library under a design, waiting both ways in turn (src/preload/semantics_test.cc)."""
    wait = waits(design, seed)
    # The tests ask the environment what to expect.
    settings = {"ELISION_LOCK": design, "ELISION_WAIT": wait[1]}
    ending = elision.vm([elision.test_program("preload_semantics_test")], ["--seed", seed, "--lock", design, *wait], environment=settings)
    assert ending.status == 0
    assert "[  PASSED  ]" in ending.stdout
