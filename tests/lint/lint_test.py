#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lint.py over a small tree, with tools that stand in for the real ones: which sources clang-tidy is run on, and what is told."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).with_name("lint.py")
# Finds the word DEFECT in the source that it is given, and notes that it was asked.
TIDY = """#!/bin/sh
for source; do :; done
echo "$source" >>asked
! grep -n DEFECT "$source" src/part/*.h
"""


class Lint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("tools/clang-tidy", TIDY).chmod(0o755)
        self.write(".clang-tidy", "Checks: x\n")
        self.write("tests/lint/requirements.txt", "clang-tidy==1\n")
        self.write("src/part/one.cc", '#include "part/one.h"\n')
        self.write("src/part/two.cc", "int two;\n")
        self.write("src/part/one.h", "int one;\n")
        self.write(".gitignore", "asked\ntools\nbuild\n")
        commands = [{"directory": str(self.root / "build"), "file": f"../src/part/{name}.cc", "command": f"c++ -O2 -DX -I{self.root}/src -isystem {self.root}/more -c {name}.cc"}
                    for name in ("one", "two")]
        self.write("build/compile_commands.json", json.dumps(commands))
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def lint(self, *steps):
        """(exit code, output, names of the sources that clang-tidy was run on)."""
        (self.root / "asked").unlink(missing_ok=True)
        done = subprocess.run([sys.executable, "-B", LINT, "--root", self.root, "--tools", self.root / "tools", *steps],
                              capture_output=True, text=True)
        asked = (self.root / "asked").read_text().split() if (self.root / "asked").exists() else []
        return done.returncode, done.stdout + done.stderr, sorted(pathlib.PurePath(name).stem for name in asked)

    def test_clean_sources_are_looked_at_once(self):
        self.assertEqual(self.lint("tidy")[::2], (0, ["one", "two"]))
        self.assertEqual(self.lint("tidy")[::2], (0, []))

    def test_a_planted_defect_is_seen_until_it_is_gone(self):
        self.lint("tidy")
        self.write("src/part/two.cc", "int two; // DEFECT\n")
        for _ in range(2):
            code, text, asked = self.lint("tidy")
            self.assertEqual((code, asked), (1, ["two"]))
            self.assertIn("DEFECT", text)
        self.write("src/part/two.cc", "int two;\n")
        self.assertEqual(self.lint("tidy")[::2], (0, ["two"]))

    def test_a_header_concerns_the_sources_that_include_it(self):
        self.lint("tidy")
        self.write("src/part/one.h", "int one; // DEFECT\n")
        self.assertEqual(self.lint("tidy")[::2], (1, ["one"]))

    def test_a_header_from_a_folder_of_the_command_counts(self):
        self.write("more/far.h", "int far;\n")
        self.write("src/part/two.cc", "#include <far.h>\n")
        self.lint("tidy")
        self.write("more/far.h", "int farther;\n")
        self.assertEqual(self.lint("tidy")[::2], (0, ["two"]))

    def test_every_command_of_a_source_counts(self):
        database = self.root / "build/compile_commands.json"
        entries = json.loads(database.read_text())
        database.write_text(json.dumps([*entries, entries[1] | {"command": "c++ -DZ -c two.cc"}]))
        self.lint("tidy")
        database.write_text(json.dumps([*entries, entries[1] | {"command": "c++ -DW -c two.cc"}]))
        self.assertEqual(self.lint("tidy")[::2], (0, ["two"]))

    def test_configuration_concerns_all(self):
        self.lint("tidy")
        self.write(".clang-tidy", "Checks: y\n")
        self.assertEqual(self.lint("tidy")[::2], (0, ["one", "two"]))

    def test_compiler_options_concern_their_source(self):
        self.lint("tidy")
        database = self.root / "build/compile_commands.json"
        database.write_text(database.read_text().replace("-c two", "-DY -c two"))
        self.assertEqual(self.lint("tidy")[::2], (0, ["two"]))

    def test_a_missing_tool_or_step_is_named(self):
        self.assertEqual(self.lint("shell")[0], 2)
        self.assertIn("tools/shellcheck is missing", self.lint("shell")[1])
        self.assertIn("unknown step 'tide'", self.lint("tide")[1])


if __name__ == "__main__":
    unittest.main()
