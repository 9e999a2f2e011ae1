#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judgement of examples.py on made-up pages: a page that no longer shows what its command prints is found."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import examples

TABLE = """  design        result  speedup  commits  aborts by cause
  pthread        1.25M    1.00x        -  -
* htm-10          909k    0.73x      480  conflict 43.2k, lock-busy 6011, other 11
Use htm-10: 1.35 times the result of pthread (spread of the runs up to 1.4 %).
"""


def page(command, shown, mark=""):
    return f"{mark}\n```console\n$ {command}\n{shown}```\n"


def judged(text, status=0, printed=None):
    (example,) = examples.examples_in("page.md", text)
    return examples.judge(example, status, TABLE if printed is None else printed)


class Examples(unittest.TestCase):
    def test_same_output(self):
        self.assertIsNone(judged(page("elision compare", TABLE)))

    def test_other_numbers_causes_and_widths(self):
        other = TABLE.replace("1.25M ", "987k").replace("909k", "1.1M").replace("480", "  -").replace(
            "conflict 43.2k, lock-busy 6011, other 11", "capacity 7").replace("1.4 %", "0.1 %")
        self.assertNotEqual(other, TABLE)
        self.assertIsNone(judged(page("elision compare", TABLE), printed=other))

    def test_other_words(self):
        for old, new in (("htm-10 ", "ticket "), ("* htm", "  htm"), ("htm-10 ", "htm-1 "), ("Use", "Perhaps"), ("speedup", "ratio"), ("of pthread (", "of tatas (")):
            with self.subTest(new):
                self.assertIn("the page shows", judged(page("elision compare", TABLE), printed=TABLE.replace(old, new)))

    def test_line_too_few_or_too_many(self):
        lines = TABLE.splitlines(keepends=True)
        self.assertIn("the page shows", judged(page("elision compare", TABLE), printed="".join(lines[:-1])))
        self.assertIn("the page shows", judged(page("elision compare", "".join(lines[:-1]))))

    def test_dots_stand_for_any_lines(self):
        lines = TABLE.splitlines(keepends=True)
        self.assertIsNone(judged(page("elision compare", lines[0] + "...\n" + lines[-1])))
        self.assertIsNone(judged(page("elision compare", "...\n")))
        self.assertIn("the page shows", judged(page("elision compare", "...\n" + lines[0])))

    def test_exit_code(self):
        self.assertEqual(judged(page("elision vm", TABLE), 1), "exit code 1, not 0")
        marked = page("elision vm", TABLE, "<!-- example: exit 1,139 -->")
        self.assertIsNone(judged(marked, 139))
        self.assertEqual(judged(marked, 0), "exit code 0, not 1 or 139")

    def test_labels(self):
        marked = page("elision doctor", "Hardware transactions: yes, 5 of 5.\n  RTM     yes   what Elision uses\n", "<!-- example: labels -->")
        self.assertIsNone(judged(marked, printed="Hardware transactions: no.\n  RTM     no    what Elision would use\n"))
        self.assertIn("the page shows", judged(marked, printed="Hardware transactions: no.\n  HLE     no    older\n"))

    def test_commands_of_a_block(self):
        text = "```console\n$ elision vm \\\n    a\nx\n$ elision run b\n```\n"
        self.assertEqual([(found.command, found.shown, found.line) for found in examples.examples_in("page.md", text)],
                         [("elision vm a", ["x"], 2), ("elision run b", [], 5)])

    def test_command_outside_of_a_console_block(self):
        for block in ("    elision run --lock tatas -- true\n", "```\n$ build/bin/elision machines\n```\n"):
            with self.subTest(block), self.assertRaisesRegex(SystemExit, "page.md:[12]: a command outside"):
                list(examples.examples_in("page.md", block))
        synopsis = "    elision vm [OPTION...] -- PROGRAM ARG...\n\n```cpp\nelision::mutex mutex;\n```\n"
        self.assertEqual(list(examples.examples_in("page.md", synopsis)), [])

    def test_quick_takes_two_variations(self):
        self.assertEqual(examples.quicker("elision vm --vary 16 -- a"), "elision vm --vary 2 -- a")


if __name__ == "__main__":
    unittest.main()
