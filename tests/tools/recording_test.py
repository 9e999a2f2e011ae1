# SPDX-License-Identifier: Apache-2.0
"""Records of virtual machines: the same jobs as on a real CPU, the values of a variation, and nothing that tells them."""

import tomllib

import pytest
import recording
import silicon
from support import ROOT

MACHINE = "xeon-gold-5520plus"
REAL_RECORD = ROOT / "repro/silicon/intel-6-167-1-2026-11-23-3.toml"
JOBS = {job.name: job for job in silicon.plan(True)}


@pytest.fixture
def target(elision):
    return recording.variation_on_two_cores(elision.binary.parents[1], MACHINE, 3)


def test_both_kinds_of_target_run_the_same_program_with_the_same_arguments(tmp_path):
    real, virtual = recording.RealCpu(tmp_path), recording.VirtualMachine(tmp_path, MACHINE)
    for job in silicon.plan(False):
        words = real.words(0, job.program, *job.arguments)
        assert virtual.words(0, job.program, *job.arguments)[-len(words):] == words


def test_rounds_of_a_virtual_machine_differ_by_their_seed(tmp_path):
    target = recording.VirtualMachine(tmp_path, MACHINE, seed=5)
    assert target.words(0, "p") != target.words(1, "p")
    assert target.compare_options(1) == ["--machine", MACHINE, "--seed", 6]


# The committed record is older than some probes and figures: those that it has must be there.
@pytest.mark.parametrize("name", ["instructions", "empty_transaction", "write_set"])
def test_a_probe_has_the_figures_that_it_has_on_a_real_cpu(target, name):
    real = tomllib.loads(REAL_RECORD.read_text())["jobs"][name]["figures"]
    sample = recording.sample_of(target, JOBS[name])
    assert set(real) <= set(sample.values)
    assert (sample.stolen, sample.load) == (0, 0)


def test_a_compared_job_has_the_figures_that_it_has_on_a_real_cpu(target):
    designs = ("pthread", "htm-10")
    real = tomllib.loads(REAL_RECORD.read_text())["jobs"]["packets"]["figures"]
    values = recording.values_of(target, JOBS["packets"], designs=designs)
    without_causes = {name for name in real if name.split(".")[0] in designs and ".aborts." not in name}
    assert without_causes <= set(values)


def test_a_variation_becomes_its_values(elision):
    build = elision.binary.parents[1]
    values = recording.machine_values(build, MACHINE, 3)
    set_one_by_one = recording.machine_values(build, recording.drawn(build, MACHINE, 3))
    assert values == set_one_by_one
    assert values != recording.machine_values(build, MACHINE)


def test_facts_of_a_virtual_machine_tell_no_drawn_value(target):
    build = target.build
    facts = recording.facts_of_virtual_machine(target)
    assert facts == recording.facts_of_virtual_machine(recording.variation_on_two_cores(build, MACHINE, 0))
    assert facts["virtual_machine"] == MACHINE
    assert facts["cpus"] == len(facts["topology_by_cpuid"]) == 2
    assert [cache["size"] for cache in facts["caches_by_cpuid"]] == ["48K", "32K", "2048K", "53760K"]
