# SPDX-License-Identifier: Apache-2.0
"""Programs over libelision-api on the virtual machine, over seeds."""

import pytest
from support import waits

ELIDED = ("scoped", "elided", "lockset", "trylock", "region",
          *(f"{kind}-{granularity}" for kind in ("coarse", "coarse1") for granularity in (1, 2, 4, 8, 16, 32, 64, 0)))
THREADS = (3, 8)
SUITE_ROUNDS = 60
each_kernel = pytest.mark.parametrize("kernel", ["histogram", "physics"])


@pytest.mark.parametrize("transactions", "10")
def test_suite(elision, seed, transactions):
    """All that the library promises, with transactions and with every lock really taken."""
    settings = {"ELISION_TEST_ROUNDS": str(SUITE_ROUNDS), "ELISION_TRANSACTIONS": transactions}
    ending = elision.vm([elision.test_program("api_test")], ["--seed", seed], environment=settings)
    assert ending.status == 0
    assert "[  PASSED  ]" in ending.stdout


def updates(elision, kernel, variant, seed, options=()):
    words = [elision.workload("updates"), "--kernel", kernel, "--variant", variant, "--threads", THREADS[seed % 2], "--items", 240,
             "--places", 24, "--window", 10, "--seed", seed]
    return elision.vm(words, ["--seed", seed, *options])


@pytest.mark.parametrize("variant", ["lock", "atomic", "privatised", "barrier", *ELIDED])
@each_kernel
def test_exact(elision, kernel, variant, seed):
    """The workload keeps every update under every variant, and what elides commits."""
    ending = updates(elision, kernel, variant, seed)
    assert ending.status == 0
    assert ("commits: 0\n" in ending.stdout) == (variant not in ELIDED)


@pytest.mark.parametrize("variant, options", [
    ("none", []), *((variant, ["--no-conflict-detection"]) for variant in ("lockset", "trylock", "region", "coarse-8", "coarse1-0"))])
@each_kernel
def test_loses(elision, seeds, kernel, variant, options):
    """Without synchronisation, and with conflict detection off, it loses updates: the check can fail."""
    endings = [updates(elision, kernel, variant, seed, options) for seed in seeds]
    assert {ending.status for ending in endings} <= {0, 1}
    assert any("LOST" in ending.stdout for ending in endings)


def expect_beside(elision, seed, options):
    ending = elision.vm([elision.test_program("beside_pthreads"), 3, 24], ["--seed", seed, *options])
    assert ending.status == 0
    assert "commits 0\n" not in ending.stdout


def test_beside_glibc(elision, seed):
    """Sections of ours and of pthreads in each other."""
    expect_beside(elision, seed, [])


def test_beside(elision, seed, design):
    """The same under a design of the preload library."""
    expect_beside(elision, seed, ["--lock", design, *waits(design, seed)])
