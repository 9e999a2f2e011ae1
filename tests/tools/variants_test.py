# SPDX-License-Identifier: Apache-2.0
"""Commands and tables of tools/bench-variants, on made-up throughputs whose ratios are known."""

import dataclasses

import pytest
import variants
from performance import Origin
from variants import Experiment, Variant

BOTH = Experiment("both", "Both", "What.", "program", (Variant("plain"), Variant("fast", ("--lock", "tatas"), ("--fast",))),
                  {"few": ("-n", "1"), "many": ("-n", "9")}, ("--long",), "a-machine", ("--short",), "turns/s")


def test_natively_the_reference_is_run_without_us():
    assert variants.words_of("/b", BOTH, BOTH.variants[0], "few", False) == ["/b/workloads/program", "--long", "-n", "1"]
    assert variants.words_of("/b", BOTH, BOTH.variants[1], "many", False) == [
        "/b/bin/elision", "run", "--lock", "tatas", "--", "/b/workloads/program", "--long", "-n", "9", "--fast"]


def test_virtually_all_meet_a_variation_with_the_same_seed():
    for variant in BOTH.variants:
        words = variants.words_of("/b", BOTH, variant, "few", True, 3)
        assert words[:8] == ["/b/bin/elision", "vm", "--machine", "a-machine", "--variation", "3", "--seed", "4"]
        assert "--short" in words


def test_ratios_are_those_of_a_round():
    measured = {("plain", "few"): [100.0, 200.0, 400.0], ("fast", "few"): [200.0, 200.0, 1600.0],
                ("plain", "many"): [10.0, 10.0, 10.0], ("fast", "many"): [5.0, 6.0, 7.0]}
    assert variants.cells(BOTH, measured) == [
        ["", "few", "many"],
        ["plain, turns/s", "200", "10"],
        ["fast", "2.00 [1.00 - 4.00]", "0.60 [0.50 - 0.70]"]]


def test_variants_that_are_not_built_are_named_on_the_page(tmp_path):
    workloads = tmp_path / "workloads"
    workloads.mkdir()
    (workloads / "program").touch()
    experiment = dataclasses.replace(BOTH, variants=(*BOTH.variants, Variant("theirs", program="other")))
    built = experiment.as_far_as_built(tmp_path)
    assert [variant.name for variant in built.variants] == ["plain", "fast"]
    measured = {(name, form): [1.0] for name in ("plain", "fast") for form in ("few", "many")}
    origin = Origin(commit="1", cpu="c", cpus=2, kernel="k", compiler="g", load=0.0, scale=1)
    page = " ".join(variants.document(origin, [(built, "natively", 1, measured)], "make it").split())
    assert "What. Left out, since their library is not installed here: theirs." in page
    (workloads / "other").touch()
    assert experiment.as_far_as_built(tmp_path) == experiment


def test_rounds_that_do_not_match_are_refused():
    with pytest.raises(ValueError):
        variants.ratio_text([1.0], [1.0, 2.0])


def test_all_experiments_have_what_they_need():
    for experiment in variants.EXPERIMENTS.values():
        assert len(experiment.variants) > 1
        assert len({variant.name for variant in experiment.variants}) == len(experiment.variants)
        assert ("native" in experiment.places()) == (experiment.native is not None)
