#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ELISION_HIDE_RTM=1: on this machine everything behaves as on a CPU without RTM and says so; the virtual CPU keeps its
transactions.

    hidden_rtm.py BUILD
"""

import json
import sys
import unittest

from whole_programs import Elision, run

BUILD = None
HIDDEN = {"ELISION_HIDE_RTM": "1"}


class HiddenRtm(unittest.TestCase):
    def setUp(self):
        self.elision = Elision(BUILD)
        shown = self.doctor(environment={"ELISION_HIDE_RTM": ""})
        self.cpu_has_rtm = shown["cpu"]["rtm"] and not shown["cpu"]["rtm_always_abort"]
        self.cpu_commits = shown["live"]

    def doctor(self, **how):
        return json.loads(run([self.elision.binary, "doctor", "--json"], **how).stdout)

    def names(self, remarks):
        return [remark["name"] for remark in remarks]

    def test_doctor_names_the_switch_and_tries_nothing(self):
        report = self.doctor(environment=HIDDEN)
        self.assertFalse(report["live"])
        self.assertEqual(report["settings"]["hide_rtm"], "1")
        self.assertEqual(report["trial"]["attempts"], 0)
        self.assertEqual(report["reason"] == "hidden", self.cpu_has_rtm)
        ending = run([self.elision.binary, "doctor"], environment=HIDDEN)
        self.assertEqual(ending.status, 1, ending)
        self.assertIn("ELISION_HIDE_RTM=1", ending.stdout)
        self.assertEqual("ELISION_HIDE_RTM" in ending.stdout.splitlines()[0], self.cpu_has_rtm, ending)

    def test_doctor_names_a_value_that_is_none(self):
        report = self.doctor(environment={"ELISION_HIDE_RTM": "yes"})
        self.assertEqual(report["live"], self.cpu_commits)
        self.assertIn("unknown-value", self.names(report["notes"]))

    def test_no_section_commits_natively(self):
        for design in ("htm-10", "hle-scm", "ticket-aahtm"):
            with self.subTest(design=design):
                ending = run([self.elision.binary, "run", "--lock", design, "--rtm-always-abort", "--",
                              self.elision.build / "tests" / "preload_worker", "count", "1", "10"],
                             environment={**HIDDEN, "ELISION_VERBOSE": "1"})
                self.assertEqual(ending.status, 0, ending)
                self.assertIn("no live hardware transactions", ending.stderr)
                self.assertIn("fallback lock in force", ending.stderr)
                self.assertEqual("RTM hidden by ELISION_HIDE_RTM" in ending.stderr, self.cpu_has_rtm, ending)

    def test_probes_are_skipped(self):
        ending = run([self.elision.workload("probes/empty_transaction"), "10"], environment=HIDDEN)
        self.assertEqual(ending.status, 77, ending)

    def test_compare_takes_a_virtual_machine(self):
        def compare(*options):
            return run([self.elision.binary, "compare", *options, "--locks", "htm-10", "--runs", "1", "--",
                        self.elision.build / "tests" / "preload_worker", "count", "2", "100"], environment=HIDDEN)

        self.assertIn("xeon-e5-2697v4", (ending := compare()).stdout, ending)
        reason = "ELISION_HIDE_RTM=1 hides" if self.cpu_has_rtm else "which this CPU does not have"
        self.assertIn(reason, (ending := compare("--machine", "native")).stdout, ending)

    def test_the_virtual_cpu_is_not_hidden(self):
        program = [self.elision.build / "tests" / "preload_worker", "count", "2", "1000"]
        commits = []
        for environment in ({}, HIDDEN):
            ending, totals = self.elision.totals(program, ("--lock", "htm-10"), environment=environment)
            self.assertEqual(ending.status, 0, ending)
            commits.append(totals["commits"])
        self.assertGreater(commits[0], 1000)
        self.assertGreater(commits[1], 1000)
        report = json.loads(self.elision.vm([self.elision.binary, "doctor", "--json"], environment=HIDDEN).stdout)
        self.assertEqual((report["live"], report["reason"]), (True, "virtual-cpu"))
        self.assertEqual(self.names(report["notes"]), ["hides-nothing"])


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
