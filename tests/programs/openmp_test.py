# SPDX-License-Identifier: Apache-2.0
"""OpenMP programs keep what OpenMP promises under every lock design, with libgomp and, where clang is there, with libomp."""

import os
import re

import pytest
from support import run, waits

MACHINE = ["--machine", "xeon-e5-2697v4"]
SPECULATING = ("tatas-aahtm", "tatas-pri-aahtm", "ticket-aahtm", "pthread-aahtm", "htm-10-fb-aahtm")
ELIDED = ("htm-1", "htm-10", "hle-scm", "ttstle", "htm-10-fb-aahtm")
CASES = ("criticals", "atomics", "locks", "nest-locks", "barriers", "nested", "tasks", "captures")
# Threads that spin where there are few CPUs crawl.
NATIVELY = {"OMP_WAIT_POLICY": "passive"}
LEAST_COUNTED = 20  # as it starts, the library commits one transaction


@pytest.fixture(params=["libgomp", "libomp"])
def program(request, elision):
    path = elision.test_program(f"openmp_{request.param}")
    return path if path.exists() else pytest.skip(f"{path.name} was not built")


@pytest.fixture
def speculating(design):
    """The design, if it speculates; others have nothing to show."""
    return design if design in SPECULATING else pytest.skip("the design does not speculate")


def expect_good(ending, cases=CASES):
    assert ending.status == 0
    assert ending.stdout.split("\n")[:-1] == [f"{case} ok" for case in cases]


def solver(elision, threads, seed):
    return [elision.workload("backward_solver"), "--threads", threads, "--levels", 12, "--rows", 20, "--solves", 2, "--seed", seed]


def natively(elision, design, words):
    return elision.run("run", "--lock", design, "--rtm-always-abort", "--", *words, environment=NATIVELY)


def test_native(elision, design, program):
    expect_good(natively(elision, design, [program, 60]))


def test_native_solver(elision, design):
    assert natively(elision, design, solver(elision, 2, 1)).status == 0


def virtually(elision, words, seed, design):
    return elision.totals(words, [*MACHINE, "--seed", seed, "--lock", design, *waits(design, seed)])


def test_virtual(elision, seed, design, program):
    ending, totals = virtually(elision, [program, 8], seed, design)
    expect_good(ending)
    assert design not in ELIDED or totals["commits"] >= LEAST_COUNTED
    assert design not in SPECULATING or totals["always_abort_begins"] >= LEAST_COUNTED


def test_virtual_solver(elision, seed, design):
    """Speculating designs speculate at barriers."""
    ending, totals = virtually(elision, solver(elision, 6, seed), seed, design)
    assert ending.status == 0
    assert design not in SPECULATING or totals["always_abort_begins"] >= LEAST_COUNTED


def test_tasks(elision, seed, speculating, program):
    """The case in which teams move to the runtime's barrier."""
    ending, totals = virtually(elision, [program, 14, "tasks"], seed, speculating)
    expect_good(ending, ["tasks"])
    assert totals["always_abort_begins"] >= LEAST_COUNTED


@pytest.mark.parametrize("case", ["criticals", "locks", "nest-locks"])
def test_loses_without_conflict_detection(elision, seeds, program, case):
    endings = (elision.vm([program, 40, case], [*MACHINE, "--seed", seed, "--lock", "htm-10", "--no-conflict-detection"])
               for seed in seeds)
    assert any(" instead of " in ending.stdout for ending in endings)


@pytest.mark.parametrize("case", ["barriers", "nested", "tasks", "captures"])
def test_loses_where_barriers_let_everybody_pass(elision, seeds, program, case):
    """A barrier is missed only by some orders of threads."""
    settings = {"LD_PRELOAD": str(elision.test_program("libno_barriers.so"))}
    endings = (elision.vm([program, 20, case], [*MACHINE, "--seed", seed], environment=settings)
               for seed in range(1, 4 * len(seeds) + 1))
    assert any(" instead of " in ending.stdout for ending in endings)


each_binding = pytest.mark.parametrize("binding", [
    *({"OMP_PROC_BIND": binding} for binding in ("true", "master", "close", "spread")),
    {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}, {"OMP_PROC_BIND": "close", "OMP_PLACES": "{0},{1}"},
    {"GOMP_CPU_AFFINITY": "0-1"}, {"GOMP_CPU_AFFINITY": "1 0"}, {"KMP_AFFINITY": "scatter"}],
    ids=lambda binding: ",".join(f"{name}={value}" for name, value in binding.items()))


@pytest.mark.parametrize("cpus", [18, 2])
@each_binding
def test_bound(elision, program, binding, cpus):
    """Threads are bound to CPUs, with as many as the machine has, and with fewer than threads."""
    expect_good(elision.vm([program, 4], [*MACHINE, "--cpus", cpus], environment=binding))


@pytest.mark.skipif(len(os.sched_getaffinity(0) & {0, 1}) < 2, reason="needs two CPUs")
@each_binding
def test_bound_natively(program, binding):
    expect_good(run([program, 4], environment={**NATIVELY, **binding}))


@pytest.mark.parametrize("words", [["openmp_mixed_by_gcc"], ["openmp_mixed_by_clang"],
                                   ["openmp_mixed", "libopenmp_part_libgomp.so", "libopenmp_part_libomp.so"],
                                   ["openmp_mixed", "libopenmp_part_libomp.so", "libopenmp_part_libgomp.so"]])
def test_mixed(elision, design, words):
    """A process with both runtimes, from the start or by dlopen: each part means its own."""
    ending = natively(elision, design, [elision.test_program(word) for word in words])
    assert (ending.status, ending.stdout) == (0, "ok\n")


def test_first_solve(elision):
    """With our barriers it takes at most 1.5 times the virtual time it takes with libgomp's: identifying a new caller is cheap."""
    def seconds(*options):
        words = [elision.workload("backward_solver"), "--threads", 12, "--levels", 20, "--rows", 75, "--warmup", 0]
        ending = elision.vm(words, [*MACHINE, *options])
        return float(re.search(r"^seconds: (.*)$", ending.stdout, re.MULTILINE).group(1))

    assert seconds("--lock", "tatas-aahtm", "--tries", "0") <= 1.5 * seconds()
