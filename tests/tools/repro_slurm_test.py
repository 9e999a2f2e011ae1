# SPDX-License-Identifier: Apache-2.0
"""The claims' runs by the Slurm profile, with programs in the place of Slurm's that run a job at once."""

import os

import claims
import pytest
import reproducing
from slurm_support import build_without_results, impatient_profile

# sbatch runs the words of --wrap and prints the job's number; sacct says that every job has ended well.
PROGRAMS = {
    "sbatch": """
echo "$*" >> "$0.log"
number=$(wc -l < "$0.log")
while [ $# -gt 0 ]; do case $1 in --wrap=*) wrapped=${1#--wrap=} ;; --wrap) shift; wrapped=$1 ;; esac; shift; done
SLURM_JOB_ID=$number sh -c "$wrapped" > "$0.$number.out" 2>&1 || exit 1
echo "$number"
""",
    "sacct": """
case "$*" in *JobIdRaw*) seq -f '%g|COMPLETED' "$(wc -l < "${0%/*}/sbatch.log")" ;; esac
""",
    "srun": """
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
""",
    "sinfo": "", "squeue": "", "scontrol": "", "scancel": "", "sacctmgr": "",
}
CLAIM = claims.Claim({
    "id": "small", "ours": {"machine": "core-i7-4770", "options": "--lock {lock}", "program": "arraybench --threads 2 --sections 100",
                            "statement": [{"says": "it runs", "of": {"lock": "tatas"}, "range": [0, float("inf")]}]}})


@pytest.fixture
def cluster(folder, build, monkeypatch):
    """A folder of a build that holds no results, with Slurm's programs first in PATH."""
    own = build_without_results(folder, build)
    programs = folder / "slurm"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return own, programs / "sbatch.log"


@pytest.fixture
def profile(folder):
    return impatient_profile(folder / "profile")


def test_a_batch_is_a_job(cluster, profile):
    build, log = cluster
    plan = reproducing.Plan(build, [CLAIM], {"small": 1}, full=False)
    reproducing.run_workflow(plan, profile)
    assert plan.missing() == []
    job, = log.read_text().splitlines()
    assert "--mem 2000" in job and "snakemake" in job
    assert not list(plan.folder.glob("*.done"))
