# SPDX-License-Identifier: Apache-2.0
"""Commands, judgements and the page of tools/real-programs, on made-up reports."""

import performance
import pytest
import real_programs
from docs.examples import examples_in
from real_programs import Known, Program

CACHE = Program("cache test", "cache-utils", "What it does.", ("cache_test", "--keys={size}", "{threads}", "a b"),
                {"virtual": "10", "native": "20"},
                Known("Cache::", ("true-sharing",)),
                {"virtual": "Virtually so.", "native": "Natively so."}, options=("--metric", "x ([0-9]+)"), prepare=("make_cache", "--now"))
ORIGIN = performance.Origin("abc of today", "A CPU", 2, "Linux 6", "c++ 12", 0.1, 1)


def report(sentence, **findings):
    return {"blocks": [{"diagnosis": {"sentence": sentence,
                                      "findings": [{"code": code.replace("_", "-"), "lock": lock} for code, lock in findings.items()]}}]}


def test_command_has_the_size_of_its_place():
    assert real_programs.command(CACHE, "native") == [
        "elision", "compare", "--machine", "native", "--runs", "5", "--metric", "x ([0-9]+)", "--", "cache_test", "--keys=20", "{threads}", "a b"]
    assert "--keys=10" in real_programs.command(CACHE, "virtual", "/b/elision")


@pytest.mark.parametrize("said,expected", [
    (report("for the lock taken in Cache::get()", true_sharing="the lock taken in Cache::get()"), True),
    (report("for the lock taken in Cache::get()", false_sharing="the lock taken in Cache::get()"), False),
    (report("for the lock taken in Cache::get()", true_sharing="another"), False),
    (report("for another", true_sharing="the lock taken in Cache::get()"), False),
    ({"blocks": [{}]}, False)])
def test_diagnosis_must_name_lock_and_reason(said, expected):
    assert real_programs.is_as_known(CACHE.known, said) == expected


def test_page_shows_commands_that_a_shell_takes():
    def shown(place):
        page = real_programs.document(ORIGIN, place, [(CACHE, "table\nNext:\n", True)], "make it")
        assert f"({real_programs.PAGES['native' if place == 'virtual' else 'virtual']})" in page
        return page, [(example.command, example.shown) for example in examples_in("page", page)]

    page, examples = shown("virtual")
    assert examples == [
        ("make_cache --now", []),
        ("elision compare --machine xeon-e5-2697v4 --threads 8 --runs 3 --metric 'x ([0-9]+)' -- cache_test --keys=10 {threads} 'a b'",
         ["table", "Next:"])]
    assert "\nThe diagnosis matches the source. Virtually so.\n" in page
    page, examples = shown("native")
    assert examples[1:] == [
        ("elision compare --machine native --runs 5 --metric 'x ([0-9]+)' -- cache_test --keys=20 {threads} 'a b'", ["table", "Next:"])]
    assert "\nNatively so.\n" in page and "matches" not in page


def test_page_says_what_is_wrong():
    assert "**The diagnosis does not match the source.** Virtually so." in real_programs.section(CACHE, "virtual", "t", False)


def test_all_programs_have_what_they_need():
    for program in real_programs.PROGRAMS:
        assert set(program.sizes) == set(program.judgement) == set(real_programs.PLACES) == set(real_programs.PAGES)
