# SPDX-License-Identifier: Apache-2.0
"""Records of virtual machines: the same jobs as on a real CPU, the values of a variation, and nothing that tells them."""

import subprocess
import sys
import tomllib

import host
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
    assert target.compare_options(1) == ["--machine", MACHINE, "--seed", 6, "--whole-run"]


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


SAMPLE = silicon.Sample({"a": [1.0]}, 1.5, 0.0, 0.0)


@pytest.fixture
def tree(monkeypatch):
    """Sets the commit that Progress sees."""
    def at(commit):
        monkeypatch.setattr(host, "commit", lambda: commit)

    at("abc, with changes")
    return at


def test_runs_are_kept_as_long_as_nothing_that_makes_them_changes(tmp_path, tree):
    file, folder, job = tmp_path / "elision", tmp_path / "runs", JOBS["clock"]
    file.write_text("one model")
    recording.Progress(folder, [file]).store(job, 0, SAMPLE)
    assert recording.Progress(folder, [file]).load(job, 0) == SAMPLE
    file.write_text("two model")
    assert recording.Progress(folder, [file]).load(job, 0) is None
    recording.Progress(folder, [file]).store(job, 0, SAMPLE)
    tree("def, with changes")
    assert recording.Progress(folder, [file]).load(job, 0) is None


def test_runs_of_which_it_is_not_known_what_made_them_are_not_taken(tmp_path, tree):
    progress = recording.Progress(tmp_path / "runs", [])
    progress.store(JOBS["clock"], 0, SAMPLE)
    (tmp_path / "runs/key").unlink()
    assert recording.Progress(tmp_path / "runs", []).load(JOBS["clock"], 0) is None


def test_what_makes_a_run_is_the_virtual_machine_the_library_the_programs_and_what_is_read(tmp_path):
    files = recording.files_of(tmp_path, None, tmp_path / "m.toml")
    for name in ("bin/elision", "lib/libelision.so", "workloads/probes/clock", "workloads/packets", "m.toml"):
        assert tmp_path / name in files


def test_contents_differ_by_each_file(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a")
    two.write_text("b")
    assert len({recording.contents_of(files) for files in ([one], [two], [one, two], [two, one], [one, tmp_path / "none"], [])}) == 6


def test_a_machine_is_a_file_if_its_name_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert recording.file_of(MACHINE) is None
    assert recording.file_of(f"{MACHINE},numa.hop_ns=1/2") is None
    assert recording.from_anywhere(MACHINE) == MACHINE
    assert recording.from_anywhere("./m.toml,clock.core_mhz=3000") == f"{tmp_path}/m.toml,clock.core_mhz=3000"


def test_a_machine_file_is_found_from_another_folder(build, tmp_path):
    (tmp_path / "m.toml").write_text((ROOT / f"machines/{MACHINE}.toml").read_text())
    words = [sys.executable, "-B", ROOT / "tools/silicon", "--build", build, "--machine", "./m.toml", "--quick", "--rounds", "1",
             "--output", "record.toml", "instructions"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert tomllib.loads((tmp_path / "record.toml").read_text())["host"]["virtual_machine"] == "m"
