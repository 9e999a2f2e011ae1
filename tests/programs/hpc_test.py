# SPDX-License-Identifier: Apache-2.0
"""The applications of the TSX paper (workloads/hpc): each is right in every variant, and its own check notices lost updates."""

import dataclasses

import pytest
from support import expect_refused, run

THREADS = 8
MOST_SEEDS = 20
MOST_HOST_SECONDS = 20  # of a run without conflict detection, which may hang; another seed is tried then
TSX = ("tsx-init", "tsx-coarsen", "tsx-adapt")


@dataclasses.dataclass(frozen=True)
class Application:
    name: str
    variants: tuple
    words: tuple  # a small input
    losing: tuple  # one that soon loses updates

    def elides(self, variant):
        return variant.startswith("tsx-") or variant in ("elided", "lockset")


APPLICATIONS = (
    Application("graph_cluster", ("baseline", "elided", "lockset", *TSX), ("--vertices", 300), ("--vertices", 512, "--repeats", 4)),
    Application("ua", ("baseline", "tsx-static", *TSX), ("--base", 1), ("--base", 1, "--repeats", 40)),
    Application("physics_solver", ("baseline", "elided", "lockset", "barrier", *TSX), ("--objects", 64, "--contacts", 512),
                ("--objects", 16, "--contacts", 2048)),
    Application("nufft", ("baseline", "elided", *TSX), ("--grid", 16, "--samples", 128), ("--grid", 16, "--samples", 512)),
    Application("histogram", ("baseline", "privatised", *TSX), ("--width", 64, "--height", 16, "--bins", 256), ("--bins", 32)),
    Application("canneal", ("baseline", "baseline --plain-reads", "tsx-init", "tsx-coarsen"), ("--elements", 256, "--moves", 1024),
                ("--elements", 32, "--moves", 2048)),
)
CASES = [(application, variant) for application in APPLICATIONS for variant in application.variants]
each_case = pytest.mark.parametrize("application, variant", CASES, ids=[f"{application.name}-{variant}" for application, variant in CASES])
each_application = pytest.mark.parametrize("application", APPLICATIONS, ids=[application.name for application in APPLICATIONS])


@pytest.fixture
def program(elision):
    def words(application, variant, threads, input_words, seed):
        path = elision.workload(application.name)
        if not path.exists():
            pytest.skip("without OpenMP it is not built")
        return [path, "--variant", *variant.split(), "--threads", threads, "--granularity", 4, "--seed", seed, *input_words]

    return words


def expect_right(ending):
    assert ending.status == 0, ending.stdout
    assert "throughput: " in ending.stdout


@each_case
def test_natively(program, application, variant, seed):
    for threads in (1, 3):
        expect_right(run(program(application, variant, threads, application.words, seed)))


@each_case
def test_virtually(elision, program, application, variant, seed):
    words = program(application, variant, THREADS, application.words, seed)
    ending, totals = elision.totals(words, ["--machine", "core-i7-4770", "--seed", seed])
    expect_right(ending)
    # As it starts, the library commits one.
    assert (totals["commits"] > 10) == application.elides(variant)


@each_application
def test_loses_without_synchronisation(elision, program, application):
    """Threads run through each other in the variant none."""
    endings = (elision.vm(program(application, "none", THREADS, application.losing, seed), ["--seed", seed])
               for seed in range(1, MOST_SEEDS + 1))
    assert any(ending.status == 1 and "WRONG" in ending.stdout for ending in endings)


@each_application
def test_loses_without_conflict_detection(elision, program, application):
    """Transactions do not see each other: a wrong result, or a crash, or a loop that the limit ends."""
    def outcome(seed, *options):
        limit = ["timeout", MOST_HOST_SECONDS] if options else []
        words = program(application, "tsx-coarsen", THREADS, application.losing, seed)
        ending = elision.vm([*limit, *words], [*options, "--seed", seed])
        assert (ending.status == 1) == ("WRONG" in ending.stdout), ending.stdout
        assert ending.status not in (2, 125, 126, 127), ending.stderr  # it did not run
        return ending.status

    assert outcome(1) == 0
    assert any(outcome(seed, "--no-conflict-detection") == 1 for seed in range(1, MOST_SEEDS + 1))


@pytest.mark.parametrize("words, named", [
    ("histogram --variant magic", "magic"), ("histogram --bins 0", "0"), ("histogram --threads 0", "0"), ("histogram --granularity 0", "0"),
    ("ua --base 0", "0"), ("canneal --elements 1", "1"), ("canneal --temperature -1", "-1"), ("canneal --variant barrier", "barrier"),
    ("physics_solver --objects 4 --large 4", "--large"), ("physics_solver --large-percent 101", "101"), ("nufft --grid 4", "4"),
    ("graph_cluster --limit 0", "0"), ("graph_cluster --vertices 16777216 --clique 1024", "--vertices"),
    ("graph_cluster --seed -1", "-1")])
def test_words_that_are_wrong(elision, words, named):
    program, *more = words.split()
    if not elision.workload(program).exists():
        pytest.skip("without OpenMP it is not built")
    expect_refused(run([elision.workload(program), *more]), named)
