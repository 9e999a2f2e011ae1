# SPDX-License-Identifier: Apache-2.0
"""The runs that claims need, and the results that earlier calls left."""

import json

import host
import made_up_claims
import pytest
import reproducing
from made_up_claims import CLAIM


@pytest.fixture
def made_up_build(folder):
    """A build whose programs are empty."""
    for name in ("bin/elision", "lib/libelision.so", "workloads/work"):
        (folder / name).parent.mkdir()
        (folder / name).touch()
    return folder


def plan_of(build, *chosen, full=False):
    return reproducing.Plan(build, chosen, {claim.id: 1 for claim in chosen}, full)


def keys_in(plan):
    return list(json.loads(plan.text())["keys"])


def test_a_plan_has_the_runs_without_results(made_up_build):
    plan = plan_of(made_up_build, CLAIM)
    done, *others = plan.runs
    assert others and keys_in(plan) == [done, *others]
    (plan.folder / f"{done}.json").write_text(json.dumps(made_up_claims.result(8)))
    again = plan_of(made_up_build, CLAIM)
    assert keys_in(again) == others
    assert list(again.results()) == [plan.runs[done]]


def test_a_full_plan_has_every_point_of_the_figures(made_up_build):
    some, every = (set(plan_of(made_up_build, CLAIM, full=full).runs) for full in (False, True))
    assert some < every


def test_a_result_that_was_cut_off_runs_again(made_up_build):
    plan = plan_of(made_up_build, CLAIM)
    key = next(iter(plan.runs))
    (plan.folder / f"{key}.json").write_text('{"output": "thr')
    assert len(plan.missing()) == len(plan.runs)
    assert not (plan.folder / f"{key}.json").exists()


def test_other_binaries_have_other_keys(made_up_build):
    before = list(plan_of(made_up_build, CLAIM).runs)
    (made_up_build / "workloads/work").write_text("another")
    assert not set(before) & set(plan_of(made_up_build, CLAIM).runs)


def test_a_missing_program_is_named(made_up_build):
    (made_up_build / "workloads/work").unlink()
    with pytest.raises(host.Failed, match="workloads/work: run make build"):
        plan_of(made_up_build, CLAIM)


def test_no_runs_are_an_empty_table(made_up_build):
    plan = plan_of(made_up_build)
    assert plan.missing() == []
    assert reproducing.write_results(plan).read_text().startswith("claim,settings,variation")
