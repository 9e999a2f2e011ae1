# SPDX-License-Identifier: Apache-2.0
"""Kernels of SPLASH-2 (workloads/splash): threads compute what one thread computes, and the check notices lost updates."""

import re

import pytest
from support import expect_refused, run

MOST_SEEDS = 20
MOST_HOST_SECONDS = 3  # of a run without conflict detection, which may hang; another seed is tried then
SMALL = {"barnes": ("--bodies", 100), "ocean": ("--side", 20), "water": ("--molecules", 40)}
# The sections of water are short, so that few threads run through each other too rarely.
LOSING = {"barnes": ("--threads", 6, "--bodies", 60), "ocean": ("--threads", 6, "--side", 6, "--iterations", 200),
          "water": ("--threads", 32, "--molecules", 32, "--steps", 60)}
each_program = pytest.mark.parametrize("program", SMALL)


def expect_right(ending):
    assert ending.status == 0, ending.stdout
    assert re.search(r"^throughput: [1-9]", ending.stdout, re.MULTILINE)


@each_program
def test_natively(elision, program, seed):
    for threads in (1, 3):
        expect_right(run([elision.workload(program), "--threads", threads, "--seed", seed, *SMALL[program]]))


@each_program
@pytest.mark.parametrize("lock", ["pthread", "htm-5"])
def test_virtually(elision, program, lock, seed):
    words = [elision.workload(program), "--threads", 6, "--seed", seed, *SMALL[program]]
    ending, totals = elision.totals(words, ["--machine", "xeon-e7-4830v4", "--lock", lock, "--seed", seed])
    expect_right(ending)
    # As it starts, the library commits one.
    assert lock == "pthread" or totals["commits"] > 10


@each_program
def test_loses_without_conflict_detection(elision, program):
    """Threads then run through each other: a wrong result, or a crash, or a loop that the limit ends."""
    def outcome(seed, *options):
        limit = ["timeout", MOST_HOST_SECONDS] if options else []
        ending = elision.vm([*limit, elision.workload(program), "--seed", seed, *LOSING[program]],
                            ["--lock", "htm-10", *options, "--seed", seed])
        assert (ending.status == 1) == ("WRONG" in ending.stdout), ending.stdout
        assert ending.status not in (2, 125, 126, 127), ending.stderr  # it did not run
        return ending.status

    assert outcome(1) == 0
    assert any(outcome(seed, "--no-conflict-detection") == 1 for seed in range(1, MOST_SEEDS + 1))


@pytest.mark.parametrize("words, named", [("barnes --bodies 0", "0"), ("ocean --side 2", "2"), ("water --molecules 1", "1"), ("water --threads 0", "0")])
def test_words_that_are_wrong(elision, words, named):
    program, *more = words.split()
    expect_refused(run([elision.workload(program), *more]), named)
