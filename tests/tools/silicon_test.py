# SPDX-License-Identifier: Apache-2.0
"""What a record of a CPU is made of: quantiles, stolen time, figures of programs and of `elision compare`, on made-up runs."""

import tomllib

import pytest
import silicon
from silicon import Job, Sample
from support import ROOT


def sample(values, stolen=0.0, clock=1.5, load=0.1):
    return Sample(values, clock, stolen, load)


def test_one_number_gets_one_row_of_quantiles():
    found = silicon.figures([sample({"a": [float(n)]}) for n in (5, 1, 3, 2, 4)])
    assert found == ({"a": [1, 2, 3, 4, 5]}, {})


def test_several_numbers_get_a_row_by_position():
    found, _ = silicon.figures([sample({"a": [1.0, 10.0]}), sample({"a": [3.0, 30.0]})])
    assert found["a"] == [[1, 1.5, 2, 2.5, 3], [10, 15, 20, 25, 30]]


def test_a_figure_that_some_runs_lack_counts_its_samples():
    found = silicon.figures([sample({"a": [1.0]}), sample({}), sample({"a": [2.0, 9.0]})])
    assert found == ({"a": [1, 1.25, 1.5, 1.75, 2]}, {"a": 2})


def test_numbers_with_units_are_read():
    values = silicon.printed_values("throughput: 50474459.9 items/s\npair: 1 2\nsentence: of some words\n")
    assert values == {"throughput": [50474459.9], "pair": [1, 2]}


def test_a_design_that_failed_has_no_figures():
    def row(design, state):
        return {"design": design, "state": state, "cpu_seconds": 0.5, "value": {"median": 7.0},
                "locks": {"acquisitions": 1, "commits": 2, "fallbacks": 3, "speculations": 4, "aborts": {"conflict": 5}}}

    values = silicon.compared_values({"blocks": [{"rows": [row("tatas", "good"), row("ticket", "failed")]}]})
    assert values["tatas.result"] == [7.0]
    assert values["tatas.aborts.conflict"] == [5]
    assert not [name for name in values if name.startswith("ticket")]


def test_share_is_of_all_time_of_all_cpus():
    before, after = "cpu 10 0 0 100 0 0 0 5 3 0", "cpu 60 0 0 145 0 0 0 10 40 0"
    assert silicon.stolen_share(before, after) == pytest.approx(0.05)


def test_no_time_passed_is_nothing_stolen():
    assert silicon.stolen_share("cpu 1 1 1 1 1 1 1 1", "cpu 1 1 1 1 1 1 1 1") == 0


JOBS = [Job("alone", "p/a", ("5",), two_cores=False), Job("both", "p/b")]


def test_on_siblings_what_needs_two_cores_is_marked_as_not_run():
    record = silicon.document({}, JOBS, {"alone": [sample({"a": [1.0]})]}, siblings=True)
    assert "not_run" in record["jobs"]["both"]
    assert record["jobs"]["alone"]["figures"]["a"] == [1] * 5


def test_the_worst_of_stolen_time_and_load_is_kept():
    runs = [sample({"a": [1.0]}, stolen=0.02, load=0.5), sample({"a": [2.0]}, stolen=0.001, load=1.5)]
    entry = silicon.job_entry(JOBS[1], runs, siblings=False)
    assert (entry["most_stolen"], entry["most_load"], entry["repetitions"]) == (0.02, 1.5, 2)


def test_a_job_not_asked_for_is_absent():
    record = silicon.document({}, JOBS, {"both": [sample({"a": [1.0]})]}, siblings=False)
    assert list(record["jobs"]) == ["both"]


def test_names_of_jobs_differ_and_quick_ones_are_the_same():
    full, quick = silicon.plan(False), silicon.plan(True)
    assert [job.name for job in full] == [job.name for job in quick]
    assert len({job.name for job in full}) == len(full)
    assert full != quick


def test_arrays_of_numbers_stand_on_one_line_and_say_the_same():
    text = 'words = [\n    "a",\n]\nrow = [\n    1.0,\n    -2e-05,\n]\nrows = [\n    [\n        1.0,\n    ],\n]\n'
    assert "row = [1.0, -2e-05]\n" in silicon.compact(text)
    assert tomllib.loads(silicon.compact(text)) == tomllib.loads(text)


def test_a_run_that_printed_a_name_without_numbers_lacks_the_figure():
    found, fewer = silicon.figures([sample({"a": [1.0], "b": []}), sample({"a": [], "b": []})])
    assert found == {"a": [1.0] * 5}
    assert fewer == {"a": 1}


def test_the_name_is_the_signature_and_the_day(tmp_path):
    cpu = {"vendor": "GenuineIntel", "family": 6, "model": 207, "stepping": 2}
    assert silicon.new_record(tmp_path, cpu, "2026-11-23", False) == tmp_path / "intel-6-207-2-2026-11-23.toml"
    assert silicon.new_record(tmp_path, cpu, "2026-11-23", True) == tmp_path / "intel-6-207-2-2026-11-23-quick.toml"


def test_no_record_takes_the_place_of_another(tmp_path):
    cpu = {"vendor": "GenuineIntel", "family": 6, "model": 207, "stepping": 2}
    for _ in range(3):
        silicon.new_record(tmp_path, cpu, "2026-11-23", False).touch()
    stem = "intel-6-207-2-2026-11-23"
    assert sorted(path.stem for path in tmp_path.iterdir()) == [stem, f"{stem}-2", f"{stem}-3"]


def test_committed_records_are_readable():
    records = sorted((ROOT / "repro/silicon").glob("*.toml"))
    assert records
    for path in records:
        record = tomllib.loads(path.read_text())
        assert record["format"] == 1, path.name
        for name, job in record["jobs"].items():
            if "not_run" in job:
                continue
            for figure, row in job["figures"].items():
                rows = row if isinstance(row[0], list) else [row]
                for quantiles in rows:
                    assert quantiles == sorted(quantiles), (path.name, name, figure)
                    assert len(quantiles) == len(record["quantiles"]), (path.name, name, figure)
