# SPDX-License-Identifier: Apache-2.0
"""The runs that claims need, and the results that earlier calls left."""

import json

import cells
import forecast
import host
import made_up_claims
import pytest
import reproducing
from made_up_claims import CLAIM


@pytest.fixture
def made_up_build(folder, monkeypatch):
    """A build whose programs are empty. How long runs take is not known."""
    monkeypatch.setattr(reproducing, "SUMMARY", folder / "none.csv")
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


def test_batches_have_each_run_once(made_up_build, monkeypatch):
    monkeypatch.setattr(reproducing, "BATCH_RUNS", 2)
    document = json.loads(plan_of(made_up_build, CLAIM).text())
    assert [key for batch in document["batches"].values() for key in batch] == list(document["keys"])
    assert len(document["keys"]) > 2 and max(map(len, document["batches"].values())) == 2


@pytest.mark.parametrize("seconds, most_runs, batches", [
    ([8, 8, 8, 8], 9, ["ab", "cd"]),
    ([30, 1, 30, 30], 9, ["a", "b", "c", "d"]),
    ([1, 1, 1, 1], 3, ["abc", "d"]),
    ([None, None, None, None], 9, ["abcd"]),
    ([None, 16, 1, 1], 9, ["a", "bcd"]),
    ([], 9, []),
])
def test_batches_are_short(seconds, most_runs, batches):
    assert forecast.batches(list(zip("abcd", seconds)), 20, most_runs) == [list(batch) for batch in batches]


def test_a_batch_goes_on_behind_a_failure_and_without_what_has_run(made_up_build, monkeypatch):
    document = json.loads(plan_of(made_up_build, CLAIM).text())
    (name, keys), = document["batches"].items()
    ran = []

    def run_cell(plan, key):
        ran.append(key)
        if key == keys[0]:
            raise cells.CellFailed("it fails")

    monkeypatch.setattr(reproducing, "run_cell", run_cell)
    (made_up_build / "repro" / f"{keys[1]}.json").touch()
    with pytest.raises(cells.CellFailed, match="1 of the batch's runs failed; the first: it fails"):
        reproducing.run_batch(document, name)
    assert len(keys) > 2 and ran == [keys[0], *keys[2:]]


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
