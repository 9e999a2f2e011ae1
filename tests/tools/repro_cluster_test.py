# SPDX-License-Identifier: Apache-2.0
"""The claims' runs on a Slurm cluster of this machine alone. One job is killed on the way. make test-slurm installs what this needs."""

import os
import shutil
import threading

import claims
import loopback_cluster
import pytest
import reproducing
from slurm_support import build_without_results, impatient_profile

CLAIM = claims.Claim({
    "id": "small", "ours": {"machine": "core-i7-4770", "options": "--lock {lock}", "program": "arraybench --threads {threads} --sections 100",
                            "statement": [{"says": "it runs", "each": {"threads": [1, 2]}, "of": {"lock": "tatas"}, "range": [0, float("inf")]}]}})
VARIATIONS = 2
# The first run of all does not end by itself.
PYTHON = """#!/bin/sh
if mkdir {folder}/first 2>/dev/null; then echo "$SLURM_JOB_ID" > {folder}/new && mv {folder}/new {folder}/job && exec sleep 3600; fi
exec {python} "$@"
"""


@pytest.fixture
def cluster(folder, monkeypatch):
    if any(shutil.which(name, path=loopback_cluster.PATHS) is None for name in ("munged", "slurmctld", "slurmd")):
        pytest.skip("there is no Slurm: make test-slurm installs it")
    (folder / "slurm").mkdir()
    own = loopback_cluster.Cluster(folder / "slurm")
    try:
        own.start()
        for name in ("PATH", "SLURM_CONF"):
            monkeypatch.setenv(name, own.environment[name])
        yield own
    finally:
        own.stop()


@pytest.fixture
def plan(folder, build, monkeypatch):
    own = build_without_results(folder, build)
    python = folder / "python"
    python.write_text(PYTHON.format(folder=folder, python=reproducing.sys.executable))
    python.chmod(0o755)
    monkeypatch.setattr(reproducing.sys, "executable", str(python))
    return reproducing.Plan(own, [CLAIM], {"small": VARIATIONS}, full=False)


def test_a_job_that_is_killed_runs_again_and_costs_no_other(folder, cluster, plan, monkeypatch):
    monkeypatch.setattr(reproducing, "BATCH_RUNS", 1)
    runs = len(plan.missing())
    assert runs == 2 * VARIATIONS
    profile = impatient_profile(folder / "profile", "slurm-status-command: squeue\n")
    killed, has_ended = [], threading.Event()

    def kill_first():
        while not (folder / "job").exists():
            if has_ended.wait(0.1):
                return
        killed.append((folder / "job").read_text().strip())
        cluster.says("scancel", "--full", *killed)

    killer = threading.Thread(target=kill_first, daemon=True)
    killer.start()
    try:
        reproducing.run_workflow(plan, profile)
    finally:
        has_ended.set()
        killer.join()
    assert plan.missing() == []
    states = dict(line.split() for line in cluster.says("squeue", "--noheader", "--states=all", "--format=%i %T").splitlines())
    assert len(states) == runs + 1
    assert states.pop(killed[0]) == "CANCELLED"
    assert set(states.values()) == {"COMPLETED"}


def test_what_does_not_start_is_named(folder, monkeypatch):
    (folder / "slurm").mkdir()
    programs = folder / "programs"
    programs.mkdir()
    for name in ("munged", *loopback_cluster.COMMANDS):
        (programs / name).write_text("#!/bin/sh\necho 'munged: no room'\nexit 1\n")
        (programs / name).chmod(0o755)
    monkeypatch.setattr(loopback_cluster, "PATHS", f"{programs}:{os.environ['PATH']}")
    own = loopback_cluster.Cluster(folder / "slurm")
    with pytest.raises(loopback_cluster.Failed, match="^munged does not start: munged: no room$"):
        own.start()
    own.stop()
