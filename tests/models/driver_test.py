# SPDX-License-Identifier: Apache-2.0
"""models.py itself: what it must refuse, on models of a few states."""

import models
import pytest

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


def check_model(text, model):
    models.check_model("m", {"m.pml": text}, model)


def check_change(change, text=GOOD):
    models.check_change("m", "c", {"m.pml": text}, BOTH, change)


def expect_refused(why, check, *arguments):
    with pytest.raises(models.Failure, match=why):
        check(*arguments)


def test_model_that_holds(capsys):
    check_model(GOOD, BOTH)
    assert "-DLIMIT=2: " in capsys.readouterr().out, "every configuration is searched"


@pytest.mark.parametrize("change", [MUTANT, {"reaches": "x == 2"}, {"reaches": "x == 3", "with": "-DLIMIT=2"}])
def test_change_that_keeps_its_promise(change):
    check_change(change)


def test_an_error():
    expect_refused(r"m -DLIMIT=1 fails", check_model, GOOD.replace("x = 2", "x = 4"), BOTH)


def test_a_thread_that_waits_for_ever():
    expect_refused("invalid end state", check_model, GOOD.replace("x = 2", "x == 2"), BOTH)


def test_statements_that_no_configuration_reaches():
    alone = {"configurations": ["-DLIMIT=1"]}
    expect_refused(r"never reached:\n  m.pml:\d+: x = 3 \(in p\)", check_model, GOOD, alone)
    check_model(GOOD, alone | {"unreached": ["x = 3"]})
    expect_refused("said to be unreached, but reached", check_model, GOOD, BOTH | {"unreached": ["x = 3"]})


def test_a_search_that_is_cut_short(monkeypatch):
    monkeypatch.setattr(models, "MOST_STEPS", 100)
    long = "byte x; active proctype p() { do :: x < 200 -> x++ :: else -> break od }"
    expect_refused("not searched to the end", check_model, long, {"configurations": [""]})


@pytest.mark.parametrize("soak, taken, left_out", [(False, "-DLIMIT=1: ", "-DLIMIT=0: "), (True, "-DLIMIT=0: ", "-DLIMIT=1: ")])
def test_soak_takes_the_larger_configurations(tmp_path, monkeypatch, capsys, soak, taken, left_out):
    (tmp_path / "m.pml").write_text(GOOD.replace("  fi;", "  :: else\n  fi;"))
    monkeypatch.setattr(models, "FOLDER", tmp_path)
    models.check("m", {"configurations": ["-DLIMIT=1", "-DLIMIT=2", "-DLIMIT=3"], "soak": ["-DLIMIT=0"]}, None, soak)
    out = capsys.readouterr().out
    assert taken in out and left_out not in out


def test_what_spin_or_the_compiler_refuse():
    expect_refused("undeclared variable", check_model, "active proctype p() { x = 1 }", {"configurations": [""]})


@pytest.mark.parametrize("why, change, text", [
    ("survives", {"new": "x = 5"}, GOOD),
    ("breaks something else", {"breaks": "invalid end state"}, GOOD),
    ("occurs 0 times", {"old": "x = 7"}, GOOD),
    ("occurs 2 times", {}, GOOD + "/* x = 2 */")])
def test_mutant_that_breaks_its_promise(why, change, text):
    expect_refused(why, check_change, MUTANT | change, text)


def test_a_state_that_is_not_reached():
    expect_refused("is not reached", check_change, {"reaches": "x == 3"})


def test_every_table_has_a_model_and_every_model_a_table():
    files = {path.stem for path in models.FOLDER.glob("*.pml") if not path.name.endswith(".h.pml")}
    assert {name for name in models.read_tables() if "/" not in name} == files


@pytest.mark.parametrize("name", [name for name in models.read_tables() if "/" not in name])
def test_every_model_has_changes(name):
    assert sum(table.startswith(f"{name}/") for table in models.read_tables()) >= 4
