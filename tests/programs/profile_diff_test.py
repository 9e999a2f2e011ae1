# SPDX-License-Identifier: Apache-2.0
"""`elision diff` as a user sees it."""

import csv
import io
import json

import profiles_for_test as made
import pytest
from markdown_it import MarkdownIt
from support import expect_refused


def diff(place, a, b, *words):
    """Its output; `a` and `b` are contents of profiles."""
    names = [made.write(place.root, name, content) for name, content in (("a.profile", a), ("b.profile", b))]
    ending = place.run("diff", *names, *words)
    assert ending.status == 0, ending.stderr
    return ending


def json_of(place, a, b):
    return json.loads(diff(place, a, b, "--format", "json").stdout)


def markdown_cells(text):
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return ["".join(child.content for child in token.children) for token in tokens if token.type == "inline"]


def test_first_lines_say_what_is_compared_and_what_differs(place):
    lines = diff(place, made.profile(0.41), made.profile(0.12)).stdout.splitlines()
    assert lines[0] == "A: a.profile, ./server on this CPU under pthread, 1.00 s, 1000 samples"
    assert lines[2].startswith("B loses 12 % of its threads' time at locks, A 41 %: ")
    assert lines[2].endswith("points less, most of it for queue_lock.")


def test_a_profile_does_not_differ_from_itself(place):
    same = made.profile(0.41)
    lines = diff(place, same, same).stdout.splitlines()
    assert lines[2] == "No difference beyond the uncertainty: at locks A loses 41 % of its threads' time, B 41 %."
    assert lines[-1] == "No function changed beyond the uncertainty."
    report = json_of(place, same, same)
    assert {change["difference"] for change in report["states"].values()} == {0}


def test_every_format_has_the_same_numbers(place):
    a, b = made.profile(0.41), made.profile(0.12, locks=[made.lock("new_lock", waits_ns=1e8)])
    report = json_of(place, a, b)
    waiting = report["states"]["waiting"]
    assert (waiting["a"], waiting["b"]) == (pytest.approx(0.41), pytest.approx(0.12))
    assert waiting["low"] < waiting["difference"] < waiting["high"] < 0
    assert [(each["name"], each["in"]) for each in report["locks"]] == [("queue_lock", "both"), ("new_lock", "b")]
    push = report["functions"][0]
    assert (push["name"], push["inclusive"]["states"]["waiting"]["a"]) == ("push", pytest.approx(0.41))

    rows = list(csv.DictReader(io.StringIO(diff(place, a, b, "--format", "csv").stdout, newline=""), strict=True))
    found = {(row["part"], row["name"], row["measure"]): row for row in rows}
    assert float(found["time", "", "waiting"]["low"]) == waiting["low"]
    assert float(found["function", "push", "inclusive waiting"]["difference"]) == push["inclusive"]["states"]["waiting"]["difference"]

    cells = markdown_cells(diff(place, a, b, "--format", "markdown").stdout)
    assert "waiting for locks" in cells and f"{100 * waiting['difference']:+.1f}" in cells and "only B" in cells


def test_exact_profiles_have_no_intervals(place):
    a, b = made.profile(0.41, samples=0), made.profile(0.12, samples=0)
    text = diff(place, a, b).stdout
    assert "interval" not in text
    assert "A 41 %: 29 points less, most" in text
    assert "low" not in json_of(place, a, b)["lost"]


def test_aborts_by_cause(place):
    a = made.profile(samples=0, locks=[made.lock("elided", attempts=100.0, commits=90.0, aborts={"conflict": 10.0})])
    b = made.profile(samples=0, locks=[made.lock("elided", attempts=50.0, commits=25.0, aborts={"conflict": 20.0, "capacity": 5.0}, fallbacks=3.0)])
    rows = [line.split() for line in diff(place, a, b).stdout.splitlines()]
    assert ["commits", "90", "25", "90.0", "%", "50.0", "%", "-40.0"] in rows
    assert ["aborts:", "capacity", "0", "5", "0.0", "%", "10.0", "%", "+10.0"] in rows
    assert ["fallbacks", "0", "3", "-", "-", "-"] in rows


def with_aborts(*rows):
    return made.profile(abort_events=made.abort_events(rows))


def test_aborts_that_the_cpu_counted(place):
    a = with_aborts(("conflict", made.place("push", "queue.c", 12), 80.0, 8000.0), ("capacity", made.place("copy"), 20.0, 2000.0))
    b = with_aborts(("conflict", made.place("push", "queue.c", 12, address=1), 10.0, 1000.0))
    rows = [line.split() for line in diff(place, a, b).stdout.splitlines()]
    assert ["aborts", "10.0k", "1000", "-9000"] in rows
    assert "conflict at push (queue.c:12) 8000 1000 -7000 -7722 to -6112 both".split() in rows
    events = json_of(place, a, b)["abort_events"]
    conflict, capacity = events["rows"]
    assert (conflict["in"], capacity["in"]) == ("both", "a")
    assert conflict["aborts"]["low"] < conflict["aborts"]["difference"] == -7000 < conflict["aborts"]["high"] < 0
    cells = markdown_cells(diff(place, a, b, "--format", "markdown").stdout)
    at = cells.index("capacity at copy")
    assert cells[at + 1:at + 6] == ["2000", "-", "-2000", "-2888 to -1278", "only A"]


def test_which_profile_knows_no_aborts_is_said(place):
    a, b = with_aborts(("conflict", made.place("push"), 8.0, 8.0)), made.profile(abort_events=made.abort_events((), missing="--aborts is 0"))
    line = "Only A has aborts that the CPU counted; B has none: --aborts is 0."
    assert line in diff(place, a, b).stdout.splitlines()
    assert diff(place, a, b, "--format", "csv").stderr == f"elision diff: {line}\n"
    assert json_of(place, a, b)["abort_events"] == {"missing": {"b": "--aborts is 0"}}


@pytest.mark.parametrize("other, words", [
    (made.profile(program=("/opt/client",)), "The programs differ: A is of server, B of client."),
    (made.profile(where="xeon-e5-2697v4"), "The machines differ: A ran on this CPU, B on virtual xeon-e5-2697v4."),
    (made.profile(cpus=2), "The CPUs differ: the program could use 8 in A, 2 in B.")])
def test_what_makes_profiles_hard_to_compare_is_said(place, other, words):
    assert f"Warning: {words}" in diff(place, made.profile(), other).stdout.splitlines()
    assert json_of(place, made.profile(), other)["warnings"] == [words]
    assert diff(place, made.profile(), other, "--format", "csv").stderr == f"elision diff: {words}\n"
    assert "Warning" not in diff(place, made.profile(), made.profile(design="htm-10")).stdout


def test_names_from_anywhere_stay_on_their_line(place):
    nasty = "a\n\x1b[31m|b*"
    text = diff(place, made.profile(), made.profile(locks=[made.lock(nasty, waits_ns=1e9)])).stdout
    assert "\x1b" not in text
    assert "a\\n\\x1b[31m|b*" in text


def test_bad_input_is_one_line(place):
    made.write(place.root, "a", made.profile())
    expect_refused(place.run("diff"), "name two profiles")
    expect_refused(place.run("diff", "a"), "name two profiles")
    expect_refused(place.run("diff", "a", "missing"), "'missing'", "No such file")
    expect_refused(place.run("diff", "a", "a", "a"), "'a' is not expected here")
    expect_refused(place.run("diff", "a", "a", "--format", "xml"), "format 'xml'")
