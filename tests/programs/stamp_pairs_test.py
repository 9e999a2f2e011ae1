# SPDX-License-Identifier: Apache-2.0
"""STAMP's applications with 1 to 8 threads have the result of their sequential form, natively and virtually: back ends and lock designs, places,
numbers of threads, applications and seeds are combined by pairs. The inputs are the small ones of sections_test.py."""

import functools
import itertools

import pairs
import sections_test

LOCKS = ("pthread", "tts", "tatas", "ticket", "htm-1", "htm-10", "htm-10-fb-aahtm", "hle-scm", "tatas-aahtm", "ticket-aahtm")
STAMP = {program.name: program for program in sections_test.PROGRAMS if program.name != "lee"}


def settings(elision, seeds):
    known = sections_test.known_back_ends(elision, "kmeans")
    back_ends = [("lock", lock) for lock in LOCKS] + [(back_end, "pthread") for back_end in ("api", "tl2", "gcc-tm") if back_end in known]
    return {"application": sorted(STAMP), "back end": back_ends, "place": ("native", "virtual"), "threads": range(1, 9), "seed": seeds}


def outcome(elision, row):
    """What the program prints that must not depend on the order of sections."""
    program, (back_end, lock) = STAMP[row["application"]], row["back end"]
    words = sections_test.words_of(elision, program, back_end, row["threads"], row["seed"])
    if row["place"] == "native":
        ending = elision.run("run", "--lock", lock, "--", *words)
    else:
        ending = elision.vm(words, ["--lock", lock, "--seed", row["seed"]])
    assert ending.status == 0, (row, ending.stdout, ending.stderr)
    return sections_test.results_of(program, row["threads"], ending.stdout)


def test_each_pair_of_settings(elision, seeds):
    expected = functools.cache(lambda name, threads, seed: sections_test.expected(elision, STAMP[name], threads, seed))
    for row in pairs.combine(settings(elision, seeds)):
        assert outcome(elision, row) == expected(row["application"], row["threads"], row["seed"]), row


def test_pairs_are_complete():
    values = {"a": range(3), "b": "xyz", "c": range(5), "d": (True, False)}
    rows = pairs.combine(values)
    met = set().union(*map(pairs.pairs_of, rows))
    for one, other in itertools.combinations(sorted(values), 2):
        assert all(((one, a), (other, b)) in met for a in values[one] for b in values[other])
    assert len(rows) <= 20  # at least 15; all combinations are 90
