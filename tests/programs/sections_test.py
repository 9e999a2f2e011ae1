# SPDX-License-Identifier: Apache-2.0
"""Programs over sections (workloads/sections): each is right under every back end, and its own check notices lost updates.

A program's words are a small input. `results` are lines of its output that do not depend on the order of sections: with threads they are
those of the sequential form. `alone` are lines that do: only with one thread they are those. Beyond that such programs only check themselves.
"""

import dataclasses
import re

import pytest
from support import expect_refused, printed, run

MOST_SEEDS = 100  # bayes loses visibly in one of ten runs, and crashes in two
THREADS = 8
MOST_HOST_SECONDS = 20  # of a run without conflict detection, which may hang; another seed is tried then


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    words: tuple
    losing: tuple  # the input of the test without conflict detection
    results: tuple = ()
    alone: tuple = ()


PROGRAMS = (
    Program("bayes", ("-v", 16, "-r", 128), ("-v", 12, "-r", 64, "--threads", 3), alone=("edges", "score")),
    Program("genome", ("-g", 64, "-s", 12, "-n", 256), ("-g", 64, "-s", 12, "-n", 256, "--threads", 4), ("segments", "sequence")),
    Program("intruder", ("-n", 150), ("-n", 20, "--threads", 2), ("flows", "attacks")),
    Program("kmeans", ("--points", 1024), ("--points", 1024, "--threads", 8), ("rounds", "distance")),
    Program("labyrinth", ("-x", 8, "-y", 8, "-z", 2, "-n", 16), ("-x", 12, "-y", 12, "-z", 1, "-n", 24, "--threads", 8), alone=("paths",)),
    Program("lee", ("--width", 16, "--height", 16, "--pairs", 12, "--reach", 8), ("--threads", 4), alone=("tracks", "without a track")),
    Program("ssca2", ("-s", 5), ("-s", 7, "--threads", 4), ("edges", "out-edges", "implied edges", "digest")),
    Program("vacation", ("-r", 256, "-t", 300), ("-r", 512, "-t", 400, "--threads", 4), ("reserving", "deleting", "updating")),
    Program("yada", ("-n", 80), ("-n", 10, "-a", 10, "--threads", 2), alone=("elements",)),
)
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
each_back_end = pytest.mark.parametrize("back_end", ("lock", "api", "tl2", "gcc-tm"))


def words_of(elision, program, back_end, threads, seed):
    return [elision.workload(program.name), "--back-end", back_end, "--threads", threads, "--seed", seed, *program.words]


def known_back_ends(elision, name):
    return re.search(r"--back-end \S*\{([a-z0-9,-]+)\}", printed([elision.workload(name), "--help"])).group(1).split(",")


def need(elision, program, back_end):
    if back_end not in known_back_ends(elision, program.name):
        pytest.skip(f"this compiler has no {back_end}")


def results_of(program, threads, text):
    lines = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    assert float(lines["throughput"].split()[0]) > 0
    return [(name, lines[name]) for name in (*program.results, *(program.alone if threads == 1 else ()))]


def expected(elision, program, threads, seed):
    ending = run(words_of(elision, program, "sequential", 1, seed))
    assert ending.status == 0, ending.stdout
    return results_of(program, threads, ending.stdout)


@each_program
@each_back_end
def test_natively(elision, program, back_end, seed):
    need(elision, program, back_end)
    for threads in (1, 3):
        ending = run(words_of(elision, program, back_end, threads, seed))
        assert ending.status == 0, ending.stdout
        assert results_of(program, threads, ending.stdout) == expected(elision, program, threads, seed)


@each_program
@each_back_end
def test_virtually(elision, program, back_end, seed):
    need(elision, program, back_end)
    options = ["--seed", seed, *(("--lock", "htm-5") if back_end == "lock" else ())]
    ending, totals = elision.totals(words_of(elision, program, back_end, THREADS, seed), options)
    assert ending.status == 0, ending.stdout
    assert results_of(program, THREADS, ending.stdout) == expected(elision, program, THREADS, seed)
    # As it starts, the library commits one.
    assert back_end not in ("lock", "api") or totals["commits"] > 10


@each_program
def test_loses_without_conflict_detection(elision, program):
    """Threads then run through each other: a wrong result, or a crash, or a loop that the limit ends."""
    def outcome(seed, *options):
        limit = ["timeout", MOST_HOST_SECONDS] if options else []
        ending = elision.vm([*limit, elision.workload(program.name), "--seed", seed, *program.losing], ["--lock", "htm-10", *options, "--seed", seed])
        assert (ending.status == 1) == ("WRONG" in ending.stdout), ending.stdout
        assert ending.status not in (2, 125, 126, 127), ending.stderr  # it did not run
        return ending.status

    assert outcome(1) == 0
    assert any(outcome(seed, "--no-conflict-detection") == 1 for seed in range(1, MOST_SEEDS + 1))


@pytest.mark.parametrize("words, named", [
    ("kmeans --back-end magic", "magic"), ("kmeans --back-end sequential --threads 2", "sequential"), ("kmeans -n 9 -m 8", "--most-clusters"),
    ("kmeans --threads 0", "0"), ("kmeans -t 2", "2"), ("kmeans --points 4", "--points"), ("genome -s 0", "0"), ("intruder -n 0", "0"), ("vacation -q 101", "101"), ("ssca2 -s 0", "0"),
    ("labyrinth -n 0", "0"), ("lee --pairs 2000", "--pairs"), ("bayes -v 1", "1"), ("yada -a 21", "21"), ("yada -n 3", "3"),
    ("kmeans --seed -1", "-1"), ("kmeans -t nan", "nan")])
def test_words_that_are_wrong(elision, words, named):
    program, *more = words.split()
    expect_refused(run([elision.workload(program), *more]), named)
