#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`elision doctor` on this machine, whatever it is, and on the virtual CPU.

    doctor.py BUILD
"""

import json
import sys
import unittest

from whole_programs import Elision, run

BUILD = None

# What other_cpuid.c ends with where CPUID does not trap, and changes of leaf 7 and leaf 0 for it.
CANNOT_TRAP = 77
NO_RTM = "7.ebx-810"
ALWAYS_ABORT = "7.edx+800"
NOT_INTEL = "0.ebx-ff,0.ebx+41"


class Doctor(unittest.TestCase):
    def setUp(self):
        self.elision = Elision(BUILD)

    def doctor(self, *options, **how):
        return run([self.elision.binary, "doctor", *options], **how)

    def virtual(self, machine, *options):
        return self.elision.vm([self.elision.binary, "doctor", *options], ("--machine", machine))

    def check_screen(self, ending):
        """The verdict, the exit code and the measures of the screen belong together."""
        self.assertEqual(ending.stderr, "", ending)
        lines = ending.stdout.splitlines()
        self.assertRegex(lines[0], r"^Hardware transactions: (yes|no), .+\.$")
        self.assertEqual(ending.status, 0 if ": yes, " in lines[0] else 1, ending)
        self.assertLessEqual(len(lines), 40, ending)

    def test_says_of_this_cpu_what_the_lock_library_finds(self):
        ending = self.doctor()
        self.check_screen(ending)
        # A program that takes locks: of others the launcher says only that the design makes no difference.
        locks = run([self.elision.binary, "run", "--lock", "htm-1", "--", f"{BUILD}/workloads/onelock", "--sections", "1"])
        self.assertEqual("no live hardware transactions" in locks.stderr, ending.status == 1, (locks, ending))

    def test_json_has_the_same_verdict(self):
        ending = self.doctor("--json")
        report = json.loads(ending.stdout)
        self.assertEqual(report["version"], 1)
        self.assertEqual(report["live"], ending.status == 0)
        self.assertEqual(report["trial"]["attempts"] > 0,
                         report["cpu"]["rtm"] and report["settings"]["hide_rtm"] != "1")
        trial = report["trial"]
        self.assertEqual(trial["commits"] + sum(trial["aborts"].values()), trial["attempts"])
        self.assertFalse(report["cpu"]["virtual_cpu"])

    def test_virtual_cpu(self):
        for machine, brand in (("xeon-e5-2697v4", "E5-2697 v4"), ("core-i7-4770", "i7-4770")):
            with self.subTest(machine=machine):
                ending = self.virtual(machine)
                self.check_screen(ending)
                self.assertEqual(ending.status, 0, ending)
                self.assertIn(brand, ending.stdout)
                report = json.loads(self.virtual(machine, "--json").stdout)
                self.assertTrue(report["cpu"]["virtual_cpu"])
                self.assertEqual(report["reason"], "virtual-cpu")
                self.assertEqual(report["always_abort"], "virtual-cpu")
                self.assertEqual(report["perf"]["cycles"]["error"], "ENOSYS")
                self.assertEqual(report["trial"]["attempts"], 10000)

    def on_another_cpu(self, changes, *options):
        """The doctor under another CPUID (other_cpuid.c)."""
        library = self.elision.build / "tests" / "libother_cpuid.so"
        ending = self.doctor(*options, environment={"LD_PRELOAD": str(library), "OTHER_CPUID": changes})
        if ending.status == CANNOT_TRAP:
            self.skipTest("CPUID cannot be made to trap here")
        return ending

    def test_cpus_without_transactions(self):
        for changes, rtm, reasons in (
                (NO_RTM, False, None),  # which reason depends on the kernel here
                (ALWAYS_ABORT, None, ["microcode-aborts"]),
                (f"{NO_RTM},{ALWAYS_ABORT}", False, ["microcode-aborts"]),
                (f"{NO_RTM},{NOT_INTEL}", False, ["not-intel"])):
            with self.subTest(changes=changes):
                ending = self.on_another_cpu(changes)
                self.check_screen(ending)
                self.assertEqual(ending.status, 1, ending)
                report = json.loads(self.on_another_cpu(changes, "--json").stdout)
                self.assertFalse(report["live"])
                self.assertEqual(report["always_abort"], "none")
                self.assertIn(report["reason"], reasons or [report["reason"]])
                if rtm is False:
                    self.assertEqual(report["trial"]["attempts"], 0)
                self.assertIn("virtual-machine", [advice["name"] for advice in report["advice"]])

    def test_tunables_of_glibc(self):
        tunables = "glibc.elision.enable=1:glibc.malloc.check=0"
        report = json.loads(self.doctor("--json", environment={"GLIBC_TUNABLES": tunables}).stdout)
        self.assertEqual(report["glibc"]["elision_tunables"], "glibc.elision.enable=1")

    def test_environment_that_is_no_text(self):
        # By a name that glibc has not: from 2.39 on ld.so warns of values that it cannot read.
        tunables = b"glibc.elision.none=\xff\x1b".decode(errors="surrogateescape")
        ending = self.doctor(environment={"GLIBC_TUNABLES": tunables})
        self.assertNotIn("\x1b", ending.stdout)
        self.check_screen(ending)
        json.loads(self.doctor("--json", environment={"GLIBC_TUNABLES": tunables}).stdout)


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
