# SPDX-License-Identifier: Apache-2.0
"""`elision merge` as a user sees it."""

import json

import profiles_for_test as made
import pytest
from support import expect_refused


def merge(place, *profiles, output="all.profile"):
    """The merged file's content."""
    names = [made.write(place.root, f"rank-{number}.profile", content) for number, content in enumerate(profiles)]
    ending = place.run("merge", "-o", output, *names)
    assert ending.status == 0, ending.stderr
    return json.loads((place.root / output).read_text())


def test_times_and_counts_are_added_and_threads_stay_apart(place):
    whole = merge(place, made.profile(0.4), made.profile(0.1, locks=[made.lock("other", waits_ns=5.0)]), made.profile(0.2))
    profile = whole["profile"]
    assert (whole["where"], whole["design"], whole["program"]) == ("native", "pthread", ["./server"])
    assert profile["times_ns"]["waiting"] == pytest.approx(0.7 * 4e9)
    assert profile["samples"] == 3000
    assert {lock["place"]["name"]: lock["waits_ns"] for lock in profile["locks"]} == {"queue_lock": pytest.approx(0.7 * 4e9), "other": 5}
    assert [thread["name"] for thread in profile["threads"]] == [name for i in range(3) for name in (f"rank-{i}: main", f"rank-{i}")]
    assert len(profile["frames"]) == 3
    assert sum(path["ns"] for path in profile["paths"]) == pytest.approx(3 * 4e9)
    assert sum(path["samples"] for path in profile["paths"]) == pytest.approx(3000)


def test_the_result_is_reported_and_merged_again(place):
    merge(place, made.profile(0.4), made.profile(0.2))
    lines = place.run("report", "all.profile").stdout.splitlines()
    assert lines[1] == "Threads wait for locks in 30 % of their time, all of it for queue_lock."
    made.write(place.root, "third", made.profile(0.6))
    assert place.run("merge", "-o", "more.profile", "all.profile", "third").status == 0
    profile = json.loads((place.root / "more.profile").read_text())["profile"]
    assert profile["times_ns"]["waiting"] == pytest.approx(1.2 * 4e9)
    assert len(profile["threads"]) == 6


def test_one_profile_stays_as_it_is(place):
    one = made.profile(locks=[made.lock("other", waits_ns=5.0)])
    assert merge(place, one)["profile"] == one["profile"]


def test_profiles_of_different_programs_are_merged_with_a_warning(place):
    for name, program in (("a", "/opt/server"), ("b", "./server"), ("c", "./cli\nent")):
        made.write(place.root, name, made.profile(program=(program,)))
    assert "differ" not in place.run("merge", "-o", "same", "a", "b").stderr
    ending = place.run("merge", "-o", "all", "a", "b", "c")
    assert ending.status == 0
    assert ending.stderr.splitlines()[0] == "elision merge: The programs differ: 'a' is of server, 'c' of cli\\nent."
    assert (place.root / "all").is_file()


def test_files_with_one_name_are_told_apart_by_their_folders(place):
    for folder in "xy":
        (place.root / folder).mkdir()
        made.write(place.root / folder, "p.profile", made.profile())
    assert place.run("merge", "-o", "all", "x/p.profile", "y/p.profile").status == 0
    names = [thread["name"] for thread in json.loads((place.root / "all").read_text())["profile"]["threads"]]
    assert names == ["x/p.profile: main", "x/p.profile", "y/p.profile: main", "y/p.profile"]


def test_to_standard_output(place):
    made.write(place.root, "a", made.profile())
    ending = place.run("merge", "-o", "-", "a")
    assert (ending.status, ending.stderr) == (0, "")
    assert json.loads(ending.stdout)["format"] == "elision profile"


@pytest.mark.parametrize("other, named", [
    (made.profile(where="xeon-e5-2697v4"), ["different machines", "'a' ran on this CPU", "'b' on virtual xeon-e5-2697v4"]),
    (made.profile(design="htm-10"), ["different lock designs", "'a' ran under pthread", "'b' under htm-10"]),
    (made.profile(samples=0), ["exact and sampled", "'a'", "'b'"]),
    (made.profile(wall_ns=1e18, parallel_ns=1e18), ["sums", "too large"]), ("{}", ["'b' is no profile"])])
def test_what_does_not_add_up_is_refused_and_leaves_nothing(place, other, named):
    made.write(place.root, "a", made.profile())
    made.write(place.root, "b", other)
    expect_refused(place.run("merge", "-o", "all", "a", "b"), *named)
    assert sorted(file.name for file in place.root.iterdir()) == ["a", "b"]


def test_a_profile_is_neither_counted_twice_nor_overwritten(place):
    before = json.dumps(made.profile())
    for name in "ab":
        made.write(place.root, name, before)
    (place.root / "link").symlink_to("a")
    expect_refused(place.run("merge", "-o", "all", "a", "link"), "'link' is named twice")
    expect_refused(place.run("merge", "-o", "link", "a", "b"), "'link' is one of the profiles")
    assert (place.root / "a").read_text() == before


def test_bad_input_is_one_line(place):
    made.write(place.root, "a", made.profile())
    expect_refused(place.run("merge", "a"), "--output")
    expect_refused(place.run("merge", "-o", "all"), "no profile to merge")
    expect_refused(place.run("merge", "-o", "all", "a", "missing"), "'missing'", "No such file")
    expect_refused(place.run("merge", "-o", "no/such", "a"), "no/such")
    assert [file.name for file in place.root.iterdir()] == ["a"]
