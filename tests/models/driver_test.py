#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""models.py itself: what it must refuse, on models of a few states."""

import contextlib
import io
import unittest

import models

GOOD = """
byte x;
active proctype p() {
  x = 1;
  if
  :: LIMIT == 1 -> x = 2
  :: LIMIT == 2 -> x = 3
  fi;
  assert(x != 4)
}
"""
BOTH = {"configurations": ["-DLIMIT=1", "-DLIMIT=2"]}
MUTANT = {"old": "x = 2", "new": "x = 4", "breaks": "assertion violated (x!=4)"}


class Models(unittest.TestCase):
    def model(self, text, model):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            models.check_model("m", {"m.pml": text}, model)
        return said.getvalue()

    def change(self, change, text=GOOD):
        with contextlib.redirect_stdout(io.StringIO()):
            models.check_change("m", "c", {"m.pml": text}, BOTH, change)

    def refuses(self, why, check, *arguments):
        with self.assertRaisesRegex(models.Failure, why):
            check(*arguments)

    def test_passes_what_holds(self):
        self.assertIn("-DLIMIT=2: ", self.model(GOOD, BOTH))
        self.change(MUTANT)
        self.change({"reaches": "x == 2"})
        self.change({"reaches": "x == 3", "with": "-DLIMIT=2"})

    def test_an_error(self):
        self.refuses(r"m -DLIMIT=1 fails", self.model, GOOD.replace("x = 2", "x = 4"), BOTH)

    def test_a_thread_that_waits_for_ever(self):
        self.refuses("invalid end state", self.model, GOOD.replace("x = 2", "x == 2"), BOTH)

    def test_statements_that_no_configuration_reaches(self):
        alone = {"configurations": ["-DLIMIT=1"]}
        self.refuses(r"never reached:\n  m.pml:\d+: x = 3 \(in p\)", self.model, GOOD, alone)
        self.model(GOOD, alone | {"unreached": ["x = 3"]})
        self.refuses("said to be unreached, but reached", self.model, GOOD, BOTH | {"unreached": ["x = 3"]})

    def test_a_search_that_is_cut_short(self):
        long = "byte x; active proctype p() { do :: x < 200 -> x++ :: else -> break od }"
        most, models.MOST_STEPS = models.MOST_STEPS, 100
        try:
            self.refuses("not searched to the end", self.model, long, {"configurations": [""]})
        finally:
            models.MOST_STEPS = most

    def test_what_spin_or_the_compiler_refuse(self):
        self.refuses("undeclared variable", self.model, "active proctype p() { x = 1 }", {"configurations": [""]})

    def test_mutants(self):
        self.refuses("survives", self.change, MUTANT | {"new": "x = 5"})
        self.refuses("breaks something else", self.change, MUTANT | {"breaks": "invalid end state"})
        self.refuses("occurs 0 times", self.change, MUTANT | {"old": "x = 7"})
        self.refuses("occurs 2 times", self.change, MUTANT, GOOD + "/* x = 2 */")

    def test_a_state_that_is_not_reached(self):
        self.refuses("is not reached", self.change, {"reaches": "x == 3"})

    def test_every_table_has_a_model_and_every_model_a_table(self):
        tables = models.tomllib.loads((models.FOLDER / "models.toml").read_text())
        files = {path.stem for path in models.FOLDER.glob("*.pml") if not path.name.endswith(".h.pml")}
        self.assertEqual(set(tables), files)
        for name, model in tables.items():
            changes = [key for key in model if isinstance(model[key], dict)]
            self.assertGreaterEqual(len(changes), 4, name)


if __name__ == "__main__":
    unittest.main()
