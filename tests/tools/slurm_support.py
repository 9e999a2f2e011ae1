# SPDX-License-Identifier: Apache-2.0
"""What tests of the Slurm profile share."""

import pytest
from support import ROOT

PROFILE = ROOT / "repro/workflow/profile/slurm/config.yaml"


def impatient_profile(folder, more=""):
    """Makes `folder` the profile, but one that asks for the states of jobs early and often; returns it. `more`: lines."""
    text = PROFILE.read_text()
    first = "slurm-init-seconds-before-status-checks: 20"
    assert first in text
    folder.mkdir()
    (folder / "config.yaml").write_text(text.replace(first, "slurm-init-seconds-before-status-checks: 1\nseconds-between-status-checks: 1") + more)
    return folder


def build_without_results(folder, build):
    """A folder of a build that holds no results. Skips the test if Snakemake is not installed."""
    if not (build / "repro-tools/bin/snakemake").exists():
        pytest.skip("there is no Snakemake: make repro installs it")
    own = folder / "build"
    own.mkdir()
    for name in ("bin", "lib", "workloads", "repro-tools"):
        (own / name).symlink_to(build / name)
    return own
