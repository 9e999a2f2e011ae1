#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages against what they describe: every option has a row, and every row an option; what README.md says of a measured page
stands there; every step of a walk-through in ARCHITECTURE.md is a function of the file that it names.

    pages_test.py BUILD
"""

import pathlib
import re
import subprocess
import sys
import unittest

BUILD = None
ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"


def options_of_help(verb):
    text = subprocess.run([BUILD / "bin" / "elision", verb, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +(?:-h,)?(--[a-z-]+)", text, re.M)) - {"--help"}


def options_of_table(verb):
    cells = [line.split(" | ")[0] for line in (GUIDE / f"{verb}.md").read_text().splitlines() if line.startswith("| `--")]
    return set(re.findall(r"(?:`|, )(--[a-z-]+)", "\n".join(cells)))


class Options(unittest.TestCase):
    def test_options_have_rows_and_rows_options(self):
        locks = options_of_help("run") - {"--lock"}
        self.assertEqual(options_of_table("run"), locks)
        for verb in ("vm", "compare"):
            # Options of the locks have their rows in the table of run.
            self.assertEqual(options_of_table(verb) - locks, options_of_help(verb) - locks, verb)


class Figures(unittest.TestCase):
    def test_figures_of_the_readme_stand_in_the_measured_pages(self):
        checked = 0
        for item in re.findall(r"^- .*(?:\n  .*)*", (ROOT / "README.md").read_text(), re.M):
            for name in re.findall(r"\]\((docs/measured/[\w-]+\.md)\)", item):
                page = (ROOT / name).read_text()
                for figure in re.findall(r"\d+ of \d+|\d[\d.]*\d|\d", re.sub(r"\]\([^)]*\)", "", item)):
                    checked += 1
                    self.assertRegex(page, rf"(?<![\d.]){re.escape(figure)}(?!\d)", name)
        self.assertGreater(checked, 3)


class WalkThroughs(unittest.TestCase):
    MOST_STEPS = 10

    def test_steps_exist_in_the_code(self):
        tables = re.findall(r"^\| step \|.*\n\|[-|]+\n((?:\|.*\n)+)", (ROOT / "docs" / "ARCHITECTURE.md").read_text(), re.M)
        self.assertTrue(tables)
        for table in tables:
            rows = [re.match(r"\| (\d+) \| `([\w:]+)` \| `([\w./]+)` \|", row) for row in table.splitlines()]
            self.assertTrue(all(rows), table)
            self.assertEqual([int(row.group(1)) for row in rows], list(range(1, len(rows) + 1)))
            self.assertLessEqual(len(rows), self.MOST_STEPS)
            for row in rows:
                source = (ROOT / row.group(3)).read_text()
                for word in row.group(2).split("::"):
                    self.assertRegex(source, rf"\b{word}\b\s*[(:<{{]", row.group(0))


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
