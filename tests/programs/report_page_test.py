# SPDX-License-Identifier: Apache-2.0
"""The page of `elision report --html` and the JSON that it shows, from made-up profiles; tests/viewer looks at the page in a browser."""

import copy
import json
import re

import pytest
from support import expect_refused

STATES = ("outside", "section", "attempt", "aborted", "fallback", "waiting", "speculating", "overhead", "blocked")


def at(address, name="", file="", line=0):
    return {"address": address} | ({"name": name} if name else {}) | ({"file": file, "line": line} if file else {})


def made_up_lock(address, name, times=None, **numbers):
    zero = dict.fromkeys(("acquisitions", "contended", "waits_ns", "longest_wait_ns", "holds_ns", "aborted_ns", "attempts", "commits", "fallbacks",
                          "system_calls", "conflicts_apart_at_lock", "line_waits_ns", "waits_inside_ns", "inside"), 0)
    counts = {"count": 0, "apart": 0, "prefetched": 0, "unknown": 0}
    return {"place": at(address, name), "site": at(0), **zero, "aborts": {}, "conflicts_seen": counts, "callers": [], "other_sites": [],
            "conflicts": [], "line_waits": [], "times_ns": dict.fromkeys(STATES, 0) | (times or {}), **numbers}


def profile():
    """Two threads under htm-10, by 1,000 samples."""
    times = dict.fromkeys(STATES, 0) | {"outside": 5e8, "attempt": 2e8, "aborted": 1e8, "waiting": 1.5e8, "overhead": 5e7}
    body = {
        "exact": False, "samples": 1000, "acquisitions_estimated": True, "wall_ns": 5e8, "parallel_ns": 5e8, "most_threads": 2, "cpus": 8,
        "interrupted": 0, "faulted": 0, "parked_ns": 0, "times_ns": times,
        "locks": [made_up_lock(0x1000, "queue_lock", acquisitions=3000, contended=100, waits_ns=1.5e8, commits=2000, times={"waiting": 1.5e8}),
                  made_up_lock(0x2000, "table_lock", acquisitions=100, aborted_ns=1e8, attempts=400, aborts={"conflict": 300}, times={"aborted": 1e8, "overhead": 5e7})],
        "threads": [{"id": 11, "name": "worker", "commits": 1500, "aborts": 250}, {"id": 12, "name": "", "commits": 500, "aborts": 50}],
        "frames": [at(1, "main", "main.c", 9), at(2, "push", "queue.c", 30), at(0x40a3)],
        "paths": [{"state": "waiting", "lock": 0, "thread": 0, "frames": [0, 1, 2], "ns": 1.5e8, "samples": 150},
                  {"state": "overhead", "lock": 1, "thread": 1, "frames": [0, 1], "ns": 5e7, "samples": 50},
                  {"state": "outside", "thread": 1, "frames": [], "ns": 5e8, "samples": 500}],
        "paths_lost": 4}
    return {"format": "elision profile", "version": 2, "elision": "0", "program": ["./server", "-x"], "where": "native", "design": "htm-10",
            "profile": body}


@pytest.fixture
def file(place):
    path = place.root / "elision.profile"
    path.write_text(json.dumps(profile()))
    return path


def report_in(page):
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.S)
    return json.loads(found.group(1))


def test_page_has_the_report_and_the_terminal_too(place, file):
    without = place.run("report", str(file))
    ending = place.run("report", "--html", "page.html", str(file))
    assert ending.status == 0
    assert (ending.stdout, ending.stderr) == (without.stdout, "")
    page = (place.root / "page.html").read_text()
    assert report_in(page) == json.loads(place.run("report", "--format", "json").stdout)
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")


def test_page_on_standard_output_leaves_the_report_to_standard_error(place, file):
    ending = place.run("report", "--html", "-")
    assert ending.status == 0
    assert report_in(ending.stdout)["program"] == ["./server", "-x"]
    assert ending.stderr == place.run("report").stdout


def test_json_has_threads_intervals_and_call_paths(place, file):
    report = json.loads(place.run("report", "--format", "json").stdout)
    assert report["kind"] == "profile"
    assert report["thread_seconds"] == pytest.approx(1)
    assert report["unexplained"] is None
    assert [lock["overhead_seconds"] for lock in report["why"]["locks"]] == [0, pytest.approx(0.05)]
    assert [lock["aborted_seconds"] for lock in report["why"]["locks"]] == [0, pytest.approx(0.1)]
    assert {finding["lock"] for finding in report["diagnosis"]["findings"]} <= {lock["title"] for lock in report["why"]["locks"]} | {""}
    waiting = report["time_intervals"]["waiting"]
    assert report["why"]["time"]["waiting"] == pytest.approx(0.15)
    assert 0.12 < waiting["low"] < 0.14 and 0.16 < waiting["high"] < 0.18
    assert report["threads"] == [{"id": 11, "name": "worker", "commits": 1500, "aborts": 250}, {"id": 12, "commits": 500, "aborts": 50}]
    paths = report["call_paths"]
    assert paths["paths"]["stack"] == [2, 1, -1]
    assert paths["stacks"] == {"caller": [-1, 0, 1], "frame": [0, 1, 2]}
    assert paths["frames"][2] == {"name": "0x40a3"}
    assert paths["lost"] == 4


def test_profile_without_call_paths_has_none(place):
    old = profile()
    old["version"] = 1
    for member in ("threads", "frames", "paths", "paths_lost"):
        del old["profile"][member]
    for lock in old["profile"]["locks"]:
        del lock["times_ns"]
    (place.root / "elision.profile").write_text(json.dumps(old))
    assert place.run("report", "--html", "page.html").status == 0
    report = report_in((place.root / "page.html").read_text())
    assert (report["call_paths"], report["threads"]) == (None, [])
    assert [lock["overhead_seconds"] for lock in report["why"]["locks"]] == [None, None]


def test_too_few_samples_say_so(place):
    short = profile()
    short["profile"]["samples"] = 12
    (place.root / "elision.profile").write_text(json.dumps(short))
    assert place.run("report", "--html", "page.html").status == 0
    report = report_in((place.root / "page.html").read_text())
    assert report["why"] is None and report["diagnosis"] is None
    assert report["unexplained"]["sentence"] == place.run("report").stdout.splitlines()[1]


def test_no_name_ends_the_page(place):
    evil = copy.deepcopy(profile())
    evil["program"] = ["</script><script>alert(1)</script><!--"]
    evil["profile"]["frames"][0]["name"] = "</script><b>"
    (place.root / "elision.profile").write_text(json.dumps(evil))
    assert place.run("report", "--html", "page.html").status == 0
    report = report_in((place.root / "page.html").read_text())
    assert report["program"] == evil["program"]
    assert report["call_paths"]["frames"][0]["name"] == "</script><b>"


@pytest.mark.parametrize("page, named", [("no/such/page.html", "No such file"), (".", "'.'"), ("/dev/full", "/dev/full"), ("elision.profile", "overwrite")])
def test_page_that_cannot_be_written_is_refused(place, file, page, named):
    whole = file.read_bytes()
    expect_refused(place.run("report", "--html", page), named)
    assert file.read_bytes() == whole
    assert [path.name for path in place.root.iterdir()] == ["elision.profile"]


def test_link_to_the_profile_is_refused_as_a_page(place, file):
    (place.root / "page.html").symlink_to(file)
    expect_refused(place.run("report", "--html", "page.html"), "overwrite", "elision.profile")
    assert json.loads(file.read_text()) == profile()


def test_damaged_profile_leaves_no_older_page(place, file):
    page = place.root / "page.html"
    page.write_text("of an earlier profile")
    damaged = profile()
    damaged["profile"]["paths"][0]["thread"] = 2
    file.write_text(json.dumps(damaged))
    expect_refused(place.run("report", "--html", str(page)), "elision.profile", "damaged", "thread")
    assert not page.exists()
