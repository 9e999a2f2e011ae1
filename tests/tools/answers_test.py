# SPDX-License-Identifier: Apache-2.0
"""The answers and the page of tools/bench-answers, on made-up reports."""

import answers
import performance

ORIGIN = performance.Origin("0123456 of 2026-11-27", "a CPU", 2, "Linux", "c++", 0.1, 1)
FIRST, SECOND = answers.PROGRAMS[:2]


def row(design, speedup, low=None, high=None, state="good"):
    found = {"design": design, "state": state, "speedup": speedup}
    return found if low is None else found | {"interval": {"low": low, "high": high}}


def report(*rows):
    return {"blocks": [{"rows": [row("pthread", 1), *rows]}]}


REPORT = report(row("tatas", 0.5, 0.4, 0.6), row("htm-10", 3, 2.8, 3.2), row("htm-1", 2, 1.9, 2.1), row("ticket", 9, state="failed"))


def test_a_command_has_its_options_in_front_of_the_program():
    program = answers.Program("p", ("{build}/prog", "--db={data}/db", "{threads}"))
    words = answers.command("/b", program, "/f", ["--runs", "1"])
    assert words[:2] == ["/b/bin/elision", "compare"] and words[-6:] == ["--runs", "1", "--", "/b/prog", "--db=/f/db", "{threads}"]


def test_leading_designs_are_the_best_that_have_a_result():
    assert answers.leading(REPORT) == ["htm-10", "htm-1"]
    assert answers.leading(report(row("ticket", 9, state="failed"))) == []


def test_designs_without_a_result_have_no_interval():
    assert answers.intervals(REPORT) == (3, 4)


def test_whole_runs_agree_within_the_interval():
    whole = {"htm-10": report(row("htm-10", 3.1)), "htm-1": report(row("htm-1", 2.2))}
    assert answers.checked_rows(answers.Answer(FIRST, REPORT, 1, 0, whole)) == [
        [FIRST.name, "htm-10", "3.00 [2.80 - 3.20]", "3.10", "yes"], [FIRST.name, "htm-1", "2.00 [1.90 - 2.10]", "2.20", "**no**"]]


def test_a_whole_run_without_a_result_stands_in_the_table():
    whole = {"htm-10": report(row("htm-10", 0, state="failed"))}
    assert answers.checked_rows(answers.Answer(FIRST, REPORT, 1, 0, whole)) == [[FIRST.name, "htm-10", "3.00 [2.80 - 3.20]", "no result", "-"]]


def test_the_page_says_what_was_not_run_whole():
    page = answers.document(ORIGIN, [answers.Answer(FIRST, REPORT, 250, 0.3, {"htm-10": report(row("htm-10", 3.1))}), answers.Answer(SECOND, None, 400, 1)])
    assert f"| {FIRST.name} | 4.2 | 0.3 | 3 of 4 | htm-10 3.00 [2.80 - 3.20], htm-1 2.00 [1.90 - 2.10] |" in page
    assert f"| {SECOND.name} | 6.7 | 1.0 | none | no answer |" in page
    assert f"Not run as a whole: {FIRST.name} under htm-1." in page
