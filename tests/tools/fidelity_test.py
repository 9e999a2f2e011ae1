#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the probes print is read, held against the targets and laid out, on made-up samples; and hardware.toml is sound."""

import copy
import pathlib
import re
import sys
import tomllib
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "repro"))

import cells  # noqa: E402
import fidelity  # noqa: E402
import probes  # noqa: E402
import silicon  # noqa: E402
from fidelity import MEETS, MISSES, SHOWN, Run  # noqa: E402

DOCUMENT = {
    "published": {"p": {"probe": "prog", "arguments": ["5"], "quick": ["1"], "machine": "m", "measured_on": "M", "kind": "rate",
                        "unit": "percent", "does": "d", "source": "s"}},
    "reasons": {"r": "Because."},
    "figure": [{"of": "p", "what": "w", "measures": ["x", 1], "low": 10, "high": 20, "why": "r"}],
}


def figure(**changes):
    return {**fidelity.figures_of(DOCUMENT)[0], **changes}


class Parsing(unittest.TestCase):
    def test_numbers_are_read_by_name_and_position(self):
        values = probes.parse("x: 3.5 4.5\nnoise\nname: words\n")
        self.assertEqual(values, {"x": [3.5, 4.5]})
        self.assertEqual(probes.measured(figure(), values), [4.5])
        self.assertEqual(probes.measured(figure(measures=["x"]), values), [3.5, 4.5])
        self.assertIsNone(probes.measured(figure(), {}))

    def test_a_number_that_is_missing_is_named(self):
        with self.assertRaisesRegex(fidelity.NotMeasured, "prog printed no 'x'"):
            fidelity.numbers_of(figure(), {}, 1000)

    def test_ticks_become_nanoseconds_by_the_base_frequency(self):
        self.assertEqual(fidelity.numbers_of(figure(unit="ns", measures=["x"]), {"x": [83.0]}, 2000), [41.5])
        self.assertEqual(fidelity.numbers_of(figure(unit="cycles", measures=["x"]), {"x": [83.0]}, 2000), [83.0])


class Verdicts(unittest.TestCase):
    def ends(self, one, lowest, highest):
        """A little within both ends meets; a little beyond either misses."""
        for value, expected in ((lowest + 0.01, MEETS), (highest - 0.01, MEETS), (lowest - 0.01, MISSES),
                                (highest + 0.01, MISSES)):
            self.assertEqual(fidelity.verdict(one, value), expected, value)

    def test_a_latency_may_be_off_by_15_percent(self):
        self.ends(figure(kind="latency", unit="cycles", low=100, high=200), 85, 230)

    def test_a_throughput_may_be_off_by_25_percent(self):
        self.ends(figure(unit="million a second", low=4, high=8), 3, 10)

    def test_points_count_only_for_percent(self):
        self.ends(figure(low=4, high=4), 2, 6)
        self.ends(figure(low=4, high=4, unit="per million"), 3, 5)
        self.ends(figure(low=0, high=0), -2, 2)

    def test_of_share_and_points_the_wider_counts(self):
        self.ends(figure(low=40, high=60), 30, 75)

    def test_information_is_not_judged(self):
        self.assertEqual(fidelity.verdict(figure(kind="information"), 1e9), SHOWN)


class Runs(unittest.TestCase):
    def test_every_seed_with_best_guesses_and_one_run_of_each_variation(self):
        runs = fidelity.runs_of(figure(), (1, 2), (1, 2, 3))
        self.assertEqual([(run.seed, run.variation) for run in runs], [(1, 0), (2, 0), (1, 1), (1, 2), (1, 3)])
        self.assertEqual(runs[0], Run("m", "prog", ("5",), 1, 0))

    def test_figures_of_one_probe_share_their_runs(self):
        other = figure(measures=["y"])
        self.assertEqual(len(fidelity.plan([figure(), other], (1,), ())), 1)
        self.assertEqual(len(fidelity.plan([figure(), figure(machine="n")], (1,), ())), 2)

    def test_quick_runs_take_the_shorter_words_if_there_are_any(self):
        self.assertEqual(fidelity.plan([figure()], (1,), (), quick=True)[0].arguments, ("1",))
        plain = figure()
        del plain["quick"]
        self.assertEqual(fidelity.plan([plain], (1,), (), quick=True)[0].arguments, ("5",))

    def test_the_command_says_seed_and_variation(self):
        words = " ".join(cells.probe_command("b", Run("m", "prog", ("5", "6"), 2, 3)))
        self.assertEqual(words, "b/bin/elision vm --machine m --seed 2 --variation 3 -- b/workloads/probes/prog 5 6")
        self.assertNotIn("--variation", cells.probe_command("b", Run("m", "prog", (), 2, 0)))


class Outcomes(unittest.TestCase):
    def outcome(self, one=None):
        samples = {Run("m", "prog", ("5",), seed, 0): {"x": [0, value]} for seed, value in ((1, 14), (2, 19), (3, 15))}
        samples[Run("m", "prog", ("5",), 1, 1)] = {"x": [0, 99]}
        samples[Run("m", "prog", ("5",), 1, 2)] = {"x": [0, 50]}
        samples[Run("m", "elsewhere", (), 1, 0)] = {"x": [0, 1000]}
        return fidelity.outcome_of(one or figure(), samples, {"m": 1000}, (1, 2, 3), (1, 2))

    def test_the_median_is_of_the_seeds_the_range_of_all(self):
        one = self.outcome()
        self.assertEqual((one.median, one.low, one.high, one.verdict), (15, 14, 99, MEETS))

    def test_the_page_has_the_row_and_counts(self):
        text = fidelity.page([self.outcome()], [], [], 3, 2)
        self.assertIn("| p: w | m | 15 % | 14 to 99 | 10 to 20 % | meets |", text)
        self.assertIn("1 of 1 figures meet their target.", text)
        self.assertIn("None does.", text)
        self.assertNotIn("Because.", text)

    def test_a_miss_brings_its_reason_once(self):
        missing = [self.outcome(figure(low=1, high=2, what=what)) for what in ("one", "two")]
        text = fidelity.page(missing, [], [], 3, 2)
        self.assertIn("- **p: one; p: two.** Because.", text)
        self.assertEqual(text.count("Because."), 1)
        self.assertIn("0 of 2 figures meet their target.", text)

    def test_parameters_are_listed_with_what_they_rest_on(self):
        entry = {"parameter": "a.b", "on": "loads", "how": "so"}
        text = fidelity.page([self.outcome()], [entry], [], 3, 2)
        self.assertIn("- `a.b` from loads: so", text)
        self.assertIn("- none", text)
        self.assertNotIn("- none", fidelity.page([self.outcome()], [], [entry], 3, 2))

    def test_numbers_have_three_digits(self):
        self.assertEqual([fidelity.number_text(value) for value in (0.1234, 12.34, 252.4, 4)], ["0.123", "12.3", "252", "4"])
        self.assertEqual(fidelity.range_text(4, 4.001), "4")


class Lists(unittest.TestCase):
    def wrong(self, message, change):
        document = copy.deepcopy(DOCUMENT)
        change(document)
        with self.assertRaisesRegex(fidelity.BadList, message):
            fidelity.figures_of(document)

    def test_what_is_wrong_is_named(self):
        self.wrong("q: w: no .published.q.", lambda d: d["figure"][0].update(of="q"))
        self.wrong("p: w: no reason 's'", lambda d: d["figure"][0].update(why="s"))
        self.wrong("p: w: no low", lambda d: d["figure"][0].pop("low"))
        self.wrong("p: w: unit is 'miles'", lambda d: d["figure"][0].update(unit="miles"))
        self.wrong("p: w: kind is 'speed'", lambda d: d["figure"][0].update(kind="speed"))
        self.wrong("p: w: low is above high", lambda d: d["figure"][0].update(low=21))

    def test_nothing_is_fitted_on_bank_or_read_set(self):
        for name in ("bank", "read-set", "aahtm-array-opt"):
            self.wrong(f"x.y: may not be fitted on {name}",
                       lambda d, name=name: d.update(fitted=[{"parameter": "x.y", "on": name, "how": ""}]))

    def test_hardware_names_probes_machines_and_measurements_that_exist(self):
        document = tomllib.loads((ROOT / "repro" / "hardware.toml").read_text())
        programs = {path.stem for path in (ROOT / "workloads" / "probes").glob("*.cc")}
        machines = {path.stem for path in (ROOT / "machines").glob("*.toml")}
        figures = fidelity.figures_of(document)
        for one in figures:
            self.assertIn(one["probe"], programs)
            self.assertIn(one["machine"], machines)
            source = (ROOT / "workloads" / "probes" / f"{one['probe']}.cc").read_text()
            # conflict_matrix puts its names together.
            name = re.sub("_abort_percent$", "", one["measures"][0])
            self.assertIn(f'"{name}"', source, fidelity.what(one))
        recorded = {pathlib.Path(job.program).stem for job in silicon.plan(False)}
        # The recorder itself runs these two beside its jobs.
        self.assertEqual(programs, {one["probe"] for one in figures} | recorded & programs | {"clock", "topology"})
        self.assertEqual(set(document["published"]), {one["of"] for one in figures})
        self.assertEqual(set(document["reasons"]), {one["why"] for one in document["figure"] if "why" in one})
        self.assertTrue(any(one.get("demo") for one in figures))


if __name__ == "__main__":
    unittest.main()
