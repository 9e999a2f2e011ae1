#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/ against the program: every option has a row, every row an option, and the example prints what
the page shows, but for the numbers, which depend on the compiler that built the workload.

    docs.py BUILD
"""

import os
import pathlib
import re
import sys
import unittest

from whole_programs import Elision, run

BUILD = None
ROOT = pathlib.Path(__file__).parents[2]


def shape(text):
    """`text` without numbers, their units and the spaces that align them."""
    return [re.sub(r"\s+", " ", re.sub(r"\d[\d.]*(k|M|G)?( (ns|us|ms|s)\b)?", "#", line)).strip()
            for line in text.splitlines() if line.strip()]


class Docs(unittest.TestCase):
    def setUp(self):
        self.elision = Elision(BUILD)

    def page(self, verb):
        return (ROOT / "docs" / "guide" / f"{verb}.md").read_text()

    def options_of_help(self, verb):
        text = run([self.elision.binary, verb, "--help"]).stdout
        return set(re.findall(r"^ +(?:-h,)?(--[a-z-]+)", text, re.M)) - {"--help"}

    def options_of_table(self, verb):
        cells = [line.split(" | ")[0] for line in self.page(verb).splitlines() if line.startswith("| `--")]
        return set(re.findall(r"(?:`|, )(--[a-z-]+)", "\n".join(cells)))

    def test_options_have_rows_and_rows_options(self):
        locks = self.options_of_help("run") - {"--lock"}
        self.assertEqual(self.options_of_table("run"), locks)
        for verb in ("vm", "compare"):
            # Forms of the locks stand in the table of run.
            self.assertEqual(self.options_of_table(verb) - locks, self.options_of_help(verb) - locks, verb)

    def test_example_of_vary_prints_what_the_page_shows(self):
        page = self.page("vm")
        begin = page.index("    $ elision vm --lock htm-10 --vary 16")
        command, shown = page[begin:page.index("\nRun i is")].split("\n\n", 1)
        words = re.sub(r"\\\n", " ", command).strip()[len("$ elision "):].replace("build/", f"{self.elision.build}/")
        words = words.replace("--vary 16", "--vary 2")  # the others take as long and look alike
        done = run(["bash", "-c", f"{self.elision.binary} {words} 2>&1"])
        expected = shown.replace("build/", f"{self.elision.build}/")
        # Which variations come first, and causes of aborts that are rare, are numbers' business.
        rare = ("aborts:", "Not the same", "elision vm:")
        self.assertEqual([line for line in shape(done.stdout) if not line.startswith(rare)],
                         [line for line in shape(expected) if not line.startswith(rare)])


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
