# SPDX-License-Identifier: Apache-2.0
"""Files that are no profiles, or damaged ones: each verb that reads them says so in one line, in little time and memory."""

import json
import resource

import profiles_for_test as made
import pytest
from support import expect_refused

WHOLE = made.profile(locks=[made.lock("elided", aborts={"conflict": 3.0}, callers=[made.place("main")], other_sites=[made.place("pop")], conflicts=[
    {"data": made.place("count"), "victim": made.place("push"), "other": made.place("pop"), "counts": dict(made.NO_CONFLICTS), "at_lock": False}])])
MOST_BYTES = 2 << 30  # of address space
SEVERAL = 100_000


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def refused(place, content, *named):
    made.write(place.root, "p", content)
    for words in (["report", "p"], ["diff", "p", "p"], ["merge", "-o", "all", "p"]):
        expect_refused(place.run(*words, preexec_fn=limit_memory), "'p'", *named)


def test_the_whole_one_is_read(place):
    made.write(place.root, "p", WHOLE)
    assert place.run("report", "p").status == 0


@pytest.mark.parametrize("keys, value, said", [
    (["version"], 3, "has version 3 of the format; this elision knows 2"),
    (["version"], 0, "'version'"), (["version"], -1, "'version'"), (["version"], "2", "'version'"), (["version"], 2.5, "'version'"),
    (["program"], "./server", "'program' is no list of words"), (["program"], [1], "'program' is no list of words"), (["where"], None, "'where' is no text"),
    (["profile"], [], "is damaged"), (["profile"], None, "is damaged"),
    (["profile", "cpus"], -1, "'cpus' is no whole number"), (["profile", "samples"], 1e300, "'samples' is no whole number"),
    (["profile", "samples"], 2**60, "'samples' is no whole number"), (["profile", "wall_ns"], 1e300, "'wall_ns' is not between"),
    (["profile", "wall_ns"], -5, "'wall_ns' is not between"), (["profile", "times_ns", "waiting"], "much", "'waiting' is no number"),
    (["profile", "times_ns"], {}, "'outside' is missing"), (["profile", "locks"], {}, "'locks' is no list"), (["profile", "locks"], [5], "an entry of 'locks' is no object"),
    (["profile", "locks"], [[]], "an entry of 'locks' is no object"), (["profile", "locks", 1, "aborts"], {"conflict": -3}, "'aborts' is not between"),
    (["profile", "locks", 1, "conflicts"], [{}], "'data' is missing"), (["profile", "locks", 1, "callers"], {"a": 1}, "'callers' is no list"),
    (["profile", "frames", 0, "address"], -1, "'address' is no whole number"), (["profile", "frames", 0, "line"], 2**32, "'line' is no whole number"),
    (["profile", "paths", 0, "thread"], 2, "a thread that is not there"), (["profile", "paths", 0, "lock"], 2, "a lock that is not there"),
    (["profile", "paths", 0, "frames"], [0, 3], "a function that is not there"), (["profile", "paths", 0, "frames"], [2**32], "'frames' is no whole number"),
    (["profile", "paths", 0, "state"], "asleep", "'state' is no name of a state"), (["profile", "paths", 0, "ns"], None, "'ns' is no number")])
def test_values_that_no_profile_has(place, keys, value, said):
    refused(place, made.damaged(WHOLE, keys, value), said)


def test_every_cut_is_refused(place):
    """Behind the format, the file is known to be ours."""
    text = json.dumps(WHOLE)
    known = text.index('"version"')
    for length in range(0, len(text), max(1, len(text) // 60)):
        made.write(place.root, "p", text[:length])
        expect_refused(place.run("report", "p"), "'p'", "is damaged: it is no JSON at byte" if length > known else "is no profile")


def test_names_that_are_there_twice(place):
    refused(place, json.dumps(WHOLE).replace('"cpus": 8', '"cpus": 8, "cpus": 9'), "'cpus' is there twice")
    refused(place, json.dumps(WHOLE).replace('"where"', '"design": "pthread", "where"'), "'design' is there twice")


def test_numbers_beyond_all_bounds(place):
    refused(place, json.dumps(WHOLE).replace('"cpus": 8', '"cpus": 1e999'), "a number in it is too large")


def test_a_later_version_may_have_any_form(place):
    later = {**WHOLE, "version": 3, "profile": {"locks": [[[[[[[[[[{"deeper": []}]]]]]]]]]]}}
    refused(place, later, "has version 3 of the format")


def test_later_additions_are_passed_over(place):
    made.write(place.root, "p", {**WHOLE, "host": {"name": "node1"}, "profile": {**WHOLE["profile"], "lost": [1, 2, {"a": []}]}})
    assert place.run("report", "p").status == 0


@pytest.mark.parametrize("begin, bracket", [("", "["), ("", "[],"), ('"profile": ', '{"a":'), ('"profile": {"locks": ', "[],"),
                                            ('"profile": {"locks": [{"callers": ', "[],"), ('"profile": {"locks": [{"aborts": {"x": ', "[")])
def test_a_flood_of_brackets_is_refused_at_once(place, begin, bracket):
    """With 100 MB of them, their values would fill the memory that the command gets."""
    begin = begin and '{"format": "elision profile", "version": 2, ' + begin
    text = begin + ("[" if bracket == "[]," else "") + bracket * (100_000_000 // len(bracket))
    made.write(place.root, "p", text)
    expect_refused(place.run("report", "p", preexec_fn=limit_memory), "'p'", "is damaged" if begin else "is no profile")


def test_a_flood_of_names_takes_no_quadratic_time(place):
    names = {f"cause{number}": 1.0 for number in range(SEVERAL)}
    refused(place, made.damaged(WHOLE, ["profile", "locks", 1, "aborts"], names), "an object has more than 64 names")


def test_a_flood_of_values_in_one_entry_is_refused(place):
    refused(place, made.damaged(WHOLE, ["profile", "paths", 0, "frames"], [0] * (SEVERAL + 1)), f"more than {SEVERAL} values are together")


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/null", "/proc/self/mem", "/"])
def test_what_is_no_file_is_refused(place, file):
    expect_refused(place.run("report", file, preexec_fn=limit_memory), f"'{file}'")
