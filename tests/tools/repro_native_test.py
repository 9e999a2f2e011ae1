# SPDX-License-Identifier: Apache-2.0
"""The claims' comparisons natively: which runs they need, and what made-up outputs say."""

import csv

import claims
import host
import native
import natively
import outcomes
import pytest

HELP = """Runs a program natively.

Options:
  -h,--help                   Print this help message and exit
  --lock DESIGN REQUIRED      pthread
  --wait park|spin            sleep
  --subscribe                 with --start, a word of a text
"""
ROW = {"id": "faster", "threads": [1, 8], "published": {"kmeans": [0, 26]},
       "ours": {"machine": "m", "options": "--lock {lock} --start thread:2 --wait spin", "program": "work --threads {threads} --seconds 0.002",
                "native": "work --threads {threads} --seconds 1", "settings": {"threads": 8},
                "statement": [
                    {"says": "{threads} threads", "each": {"threads": [4, 8, 1]}, "of": [{"lock": "new"}, {"lock": "newer"}], "over": {"lock": "old"},
                     "range": [2, 3]},
                    {"says": "it does not scale", "each": {"lock": ["old"]}, "of": {"threads": 8}, "over": {"threads": 1}, "range": [0, 1]},
                    {"says": "it does not scale from 2", "each": {"lock": ["old"]}, "of": {"threads": 8}, "over": {"threads": 2}, "range": [0, 1]}]}}
CLAIM = claims.Claim(ROW)
KNOWN = native.known_options(HELP)


def words(lock, threads):
    return ("--lock", lock, "--wait", "spin", "--", "work", "--threads", str(threads), "--seconds", "1")


def test_options_are_those_of_the_help():
    assert KNOWN == {"--help", "--lock", "--wait", "--subscribe"}
    assert native.kept("--start thread:2 --lock a --length 8ms --subscribe".split(), KNOWN) == ["--lock", "a", "--subscribe"]


def test_threads_are_the_cpus_and_equal_comparisons_are_one():
    found = native.comparisons(CLAIM, 2, KNOWN)
    assert [(one.of, one.over) for one in found] == [
        ((words("new", 2), words("newer", 2)), (words("old", 2),)), ((words("new", 1), words("newer", 1)), (words("old", 1),)),
        ((words("old", 2),), (words("old", 1),))]
    assert [(one.part, one.threads) for one in found] == [
        ("lock new or newer over lock old", "2"), ("lock new or newer over lock old", "1"), ("threads 2 over threads 1; lock old", "2 over 1")]


def test_a_program_without_lock_options_runs_under_pthread():
    row = {**ROW, "ours": {**ROW["ours"], "options": ""}}
    assert native.comparisons(claims.Claim(row), 2, KNOWN)[0].of[0][:2] == ("--lock", "pthread")


def test_an_application_has_another_input_natively():
    ours = {**ROW["ours"], "native": "{input} --threads {threads}", "inputs": {"kmeans": "kmeans -n 9"}, "native_inputs": {"kmeans": "kmeans -n 900"},
            "statement": [{"says": "", "each": {"application": ["kmeans"]}, "of": {"lock": "new"}, "over": {"lock": "old"}, "range": [0, 1]}]}
    one, = native.comparisons(claims.Claim({**ROW, "ours": ours}), 2, KNOWN)
    assert one.of == (("--lock", "new", "--wait", "spin", "--", "kmeans", "-n", "900", "--threads", "2"),)
    assert one.part == "lock new over lock old; application kmeans"


def test_the_best_of_several_counts_in_each_round():
    one = native.comparisons(CLAIM, 2, KNOWN)[0]
    outputs = {words("new", 2): ["throughput: 10\n", "throughput: 30\n"], words("newer", 2): ["throughput: 20\n", "throughput: 5\n"],
               words("old", 2): ["throughput: 10\n", "throughput: 10\n"]}
    assert native.values_of(one, outputs) == [2, 3]


def test_only_the_virtual_machine_counts_transactions():
    with pytest.raises(claims.NotMeasured, match="counts no transactions"):
        claims.METRICS["abort percent"]({"output": "", "totals": None})
    assert "abort percent" not in native.METRICS
    assert native.METRICS < set(claims.METRICS)


def test_the_table_has_no_verdicts():
    one = native.comparisons(CLAIM, 2, KNOWN)[0]
    rows = [native.row_of(one, [1.5, 1.25, 2], ["A CPU", 2, "abc", "no", "elision 1"])]
    read = list(csv.DictReader(outcomes.text(native.COLUMNS, rows).splitlines()))
    assert native.text(read) == ("On this CPU: A CPU; 2 CPUs, as many threads, 3 runs: median [least - most]. Not judged.\n"
                                 "faster\n  lock new or newer over lock old (2 threads): 1.5x [1.25 - 2]")


def test_claims_without_native_runs_are_refused(build):
    with pytest.raises(host.Failed, match="none of these claims"):
        natively.comparisons_of(build, [claims.Claim({**ROW, "ours": {key: value for key, value in ROW["ours"].items() if key != "native"}})], 2)
    assert natively.comparisons_of(build, [CLAIM], 2)
