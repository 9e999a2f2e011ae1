#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages that tests/corpus/packages reads in awk are those that a reader of TOML finds."""

import subprocess
import tomllib
import unittest

import corpus


def asked(which):
    done = subprocess.run([str(corpus.HERE / "packages"), which], capture_output=True, text=True, check=True)
    return done.stdout.split()


def expected(is_wanted):
    tables = [tomllib.loads((corpus.HERE / name).read_text()) for name in ("programs.toml", "locked_programs.toml")]
    return sorted({package for table in tables for program in table.values() if is_wanted(program) for package in program["packages"]})


class Packages(unittest.TestCase):
    def test_all_are_those_of_every_program(self):
        self.assertEqual(asked("all"), expected(lambda program: True))

    def test_quick_are_those_of_quick_programs(self):
        self.assertEqual(asked("quick"), expected(lambda program: program.get("quick", False)))
        self.assertLess(len(asked("quick")), len(asked("all")) // 2)

    def test_other_word_is_refused(self):
        done = subprocess.run([str(corpus.HERE / "packages"), "slow"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1))


if __name__ == "__main__":
    unittest.main()
