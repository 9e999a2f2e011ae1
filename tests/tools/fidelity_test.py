# SPDX-License-Identifier: Apache-2.0
"""What the probes print is read, held against the targets and laid out, on made-up samples; and hardware.toml is sound."""

import copy
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import tomllib

import cells
import fidelity
import host
import pages
import probes
import pytest
import silicon
from fidelity import MEETS, MISSES, SHOWN, Run
from support import ROOT

DOCUMENT = {
    "published": {"p": {"probe": "prog", "arguments": ["5"], "quick": ["1"], "machine": "m", "measured_on": "M", "kind": "rate",
                        "unit": "percent", "does": "d", "source": "s"}},
    "reasons": {"r": "Because."},
    "figure": [{"of": "p", "what": "w", "measures": ["x", 1], "low": 10, "high": 20, "why": "r"}],
}


def figure(**changes):
    return {**fidelity.figures_of(DOCUMENT)[0], **changes}


def test_numbers_are_read_by_name_and_position():
    values = probes.parse("x: 3.5 4.5\nnoise\nname: words\n")
    assert values == {"x": [3.5, 4.5]}
    assert probes.measured(figure(), values) == [4.5]
    assert probes.measured(figure(measures=["x"]), values) == [3.5, 4.5]
    assert probes.measured(figure(), {}) is None


def test_a_number_that_is_missing_is_named():
    with pytest.raises(fidelity.NotMeasured, match="prog printed no 'x'"):
        fidelity.numbers_of(figure(), {}, 1000)


def test_ticks_become_nanoseconds_by_the_base_frequency():
    assert fidelity.numbers_of(figure(unit="ns", measures=["x"]), {"x": [83.0]}, 2000) == [41.5]
    assert fidelity.numbers_of(figure(unit="cycles", measures=["x"]), {"x": [83.0]}, 2000) == [83.0]


def expect_ends(one, lowest, highest):
    """A little within both ends meets; a little beyond either misses."""
    for value, expected in ((lowest + 0.01, MEETS), (highest - 0.01, MEETS), (lowest - 0.01, MISSES),
                            (highest + 0.01, MISSES)):
        assert fidelity.verdict(one, value) == expected, value


def test_a_latency_may_be_off_by_15_percent():
    expect_ends(figure(kind="latency", unit="cycles", low=100, high=200), 85, 230)


def test_a_throughput_may_be_off_by_25_percent():
    expect_ends(figure(unit="million a second", low=4, high=8), 3, 10)


def test_points_count_only_for_percent():
    expect_ends(figure(low=4, high=4), 2, 6)
    expect_ends(figure(low=4, high=4, unit="per million"), 3, 5)
    expect_ends(figure(low=0, high=0), -2, 2)


def test_of_share_and_points_the_wider_counts():
    expect_ends(figure(low=40, high=60), 30, 75)


def test_information_is_not_judged():
    assert fidelity.verdict(figure(kind="information"), 1e9) == SHOWN


def test_every_seed_with_best_guesses_and_one_run_of_each_variation():
    runs = fidelity.runs_of(figure(), (1, 2), (1, 2, 3))
    assert [(run.seed, run.variation) for run in runs] == [(1, 0), (2, 0), (1, 1), (1, 2), (1, 3)]
    assert runs[0] == Run("m", "prog", ("5",), 1, 0)


def test_figures_of_one_probe_share_their_runs():
    other = figure(measures=["y"])
    assert len(fidelity.plan([figure(), other], (1,), ())) == 1
    assert len(fidelity.plan([figure(), figure(machine="n")], (1,), ())) == 2


def test_quick_runs_take_the_shorter_words_if_there_are_any():
    assert fidelity.plan([figure()], (1,), (), quick=True)[0].arguments == ("1",)
    plain = figure()
    del plain["quick"]
    assert fidelity.plan([plain], (1,), (), quick=True)[0].arguments == ("5",)


def test_the_command_says_seed_and_variation():
    words = " ".join(cells.probe_command("b", Run("m", "prog", ("5", "6"), 2, 3)))
    assert words == "b/bin/elision vm --machine m --seed 2 --variation 3 -- b/workloads/probes/prog 5 6"
    assert "--variation" not in cells.probe_command("b", Run("m", "prog", (), 2, 0))


def outcome(one=None):
    samples = {Run("m", "prog", ("5",), seed, 0): {"x": [0, value]} for seed, value in ((1, 14), (2, 19), (3, 15))}
    samples[Run("m", "prog", ("5",), 1, 1)] = {"x": [0, 99]}
    samples[Run("m", "prog", ("5",), 1, 2)] = {"x": [0, 50]}
    samples[Run("m", "elsewhere", (), 1, 0)] = {"x": [0, 1000]}
    return fidelity.outcome_of(one or figure(), samples, {"m": 1000}, (1, 2, 3), (1, 2))


def test_the_median_is_of_the_seeds_the_range_of_all():
    one = outcome()
    assert (one.median, one.low, one.high, one.verdict) == (15, 14, 99, MEETS)


def test_the_page_has_the_row_and_counts():
    text = fidelity.page([outcome()], [], [], 3, 2)
    assert "| p: w | m | 15 % | 14 to 99 | 10 to 20 % | meets |" in text
    assert "1 of 1 figures meet their target." in text
    assert "None does." in text
    assert "Because." not in text


def test_a_line_between_cells_is_not_one_within_a_cell():
    assert pages.table(["a", "b"], [["x|y", "1"]]) == ["| a | b |", "|---|---|", r"| x\|y | 1 |"]


def test_a_miss_brings_its_reason_once():
    missing = [outcome(figure(low=1, high=2, what=what)) for what in ("one", "two")]
    text = fidelity.page(missing, [], [], 3, 2)
    assert "- **p: one; p: two.** Because." in text
    assert text.count("Because.") == 1
    assert "0 of 2 figures meet their target." in text


def test_parameters_are_listed_with_what_they_rest_on():
    entry = {"parameter": "a.b", "on": "loads", "how": "so"}
    text = fidelity.page([outcome()], [entry], [], 3, 2)
    assert "- `a.b` from loads: so" in text
    assert "- none" in text
    assert "- none" not in fidelity.page([outcome()], [], [entry], 3, 2)


def test_numbers_have_three_digits():
    assert [pages.number_text(value) for value in (0.1234, 12.34, 252.4, 4, 999.7)] == ["0.123", "12.3", "252", "4", "1000"]
    assert fidelity.range_text(4, 4.001) == "4"


def expect_refused(message, change):
    document = copy.deepcopy(DOCUMENT)
    change(document)
    with pytest.raises(fidelity.BadList, match=message):
        fidelity.figures_of(document)


@pytest.mark.parametrize("message, change", [
    ("q: w: no .published.q.", {"of": "q"}),
    ("p: w: no reason 's'", {"why": "s"}),
    ("p: w: unit is 'miles'", {"unit": "miles"}),
    ("p: w: kind is 'speed'", {"kind": "speed"}),
    ("p: w: low is above high", {"low": 21})])
def test_wrong_figure_is_named(message, change):
    expect_refused(message, lambda document: document["figure"][0].update(change))


def test_missing_end_is_named():
    expect_refused("p: w: no low", lambda document: document["figure"][0].pop("low"))


@pytest.mark.parametrize("name", ["bank", "read-set", "aahtm-array-opt"])
def test_nothing_is_fitted_on_what_claims_are_about(name):
    fitted = {"fitted": [{"parameter": "x.y", "on": name, "how": ""}]}
    expect_refused(f"x.y: may not be fitted on {name}", lambda document: document.update(fitted))


def test_hardware_names_probes_machines_and_measurements_that_exist():
    document = tomllib.loads((ROOT / "repro" / "hardware.toml").read_text())
    programs = {path.stem for path in (ROOT / "workloads" / "probes").glob("*.cc")}
    machines = {path.stem for path in (ROOT / "machines").glob("*.toml")}
    figures = fidelity.figures_of(document)
    for one in figures:
        assert one["probe"] in programs
        assert one["machine"] in machines
        source = (ROOT / "workloads" / "probes" / f"{one['probe']}.cc").read_text()
        # conflict_matrix puts its names together.
        name = re.sub("_abort_percent$", "", one["measures"][0])
        assert f'"{name}"' in source, fidelity.what(one)
    recorded = {pathlib.Path(job.program).stem for job in silicon.plan(False)}
    # The recorder itself runs these two beside its jobs.
    assert programs == {one["probe"] for one in figures} | recorded & programs | {"clock", "topology"}
    assert set(document["published"]) == {one["of"] for one in figures}
    assert set(document["reasons"]) == {one["why"] for one in document["figure"] if "why" in one}
    assert any(one.get("demo") for one in figures)


@pytest.mark.parametrize(("text", "said"), [(None, "No such file"), ("# Other\n", "the page does not begin with its title")])
def test_a_page_without_its_section_is_refused_before_any_run(build, tmp_path, text, said):
    page = tmp_path / "new.md"
    if text:
        page.write_text(text)
    words = [sys.executable, "-B", ROOT / "tools/fidelity", "--build", build, "--records-only", "--output", page]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert str(page) in done.stderr
    assert said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == (["new.md"] if text else [])


class Kept:
    """In place of finished runs."""

    cleared = False

    def clear(self):
        self.cleared = True


def test_finished_runs_are_kept_until_the_page_is_written(tmp_path):
    loader = importlib.machinery.SourceFileLoader("tool_fidelity", str(ROOT / "tools/fidelity"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("tool_fidelity", loader))
    loader.exec_module(tool)
    kept = Kept()
    with pytest.raises(host.Failed):
        tool.write(tmp_path / "missing/page.md", "text", [kept])
    assert not kept.cleared
    tool.write(tmp_path / "page.md", "text", [kept])
    assert kept.cleared
    assert (tmp_path / "page.md").read_text() == "text"
