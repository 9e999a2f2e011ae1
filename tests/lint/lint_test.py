# SPDX-License-Identifier: Apache-2.0
"""lint.py over a small tree, with tools that stand in for the real ones: which sources clang-tidy is run on, and what is told."""

import json
import pathlib
import sys

import pytest
from support import printed, run

LINT = pathlib.Path(__file__).with_name("lint.py")
# Finds the word DEFECT in the source that it is given, and notes that it was asked.
TIDY = """#!/bin/sh
for source; do :; done
echo "$source" >>asked
! grep -n DEFECT "$source" src/part/*.h
"""


class Tree:
    """Two sources and a header, with a clang-tidy of their own."""

    def __init__(self, root):
        self.root = root
        self.write("tools/clang-tidy", TIDY).chmod(0o755)
        self.write(".clang-tidy", "Checks: x\n")
        self.write("tests/lint/requirements.txt", "clang-tidy==1\n")
        self.write("src/part/one.cc", '#include "part/one.h"\n')
        self.write("src/part/two.cc", "int two;\n")
        self.write("src/part/one.h", "int one;\n")
        self.write(".gitignore", "asked\ntools\nbuild\n")
        commands = [{"directory": str(root / "build"), "file": f"../src/part/{name}.cc",
                     "command": f"c++ -O2 -DX -I{root}/src -isystem {root}/more -c {name}.cc"} for name in ("one", "two")]
        self.write("build/compile_commands.json", json.dumps(commands))
        printed(["git", "init", "-q", root])

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def lint(self, *steps):
        """(exit code, output, names of the sources that clang-tidy was run on)."""
        asked = self.root / "asked"
        asked.unlink(missing_ok=True)
        ending = run([sys.executable, "-B", LINT, "--root", self.root, "--tools", self.root / "tools", *steps])
        names = asked.read_text().split() if asked.exists() else []
        return ending.status, ending.stdout + ending.stderr, sorted(pathlib.PurePath(name).stem for name in names)


@pytest.fixture
def tree(folder):
    return Tree(folder)


def test_clean_sources_are_looked_at_once(tree):
    assert tree.lint("tidy")[::2] == (0, ["one", "two"])
    assert tree.lint("tidy")[::2] == (0, [])


def test_a_planted_defect_is_seen_until_it_is_gone(tree):
    tree.lint("tidy")
    tree.write("src/part/two.cc", "int two; // DEFECT\n")
    for _ in range(2):
        code, text, asked = tree.lint("tidy")
        assert (code, asked) == (1, ["two"])
        assert "DEFECT" in text
    tree.write("src/part/two.cc", "int two;\n")
    assert tree.lint("tidy")[::2] == (0, ["two"])


def test_a_header_concerns_the_sources_that_include_it(tree):
    tree.lint("tidy")
    tree.write("src/part/one.h", "int one; // DEFECT\n")
    assert tree.lint("tidy")[::2] == (1, ["one"])


def test_a_header_from_a_folder_of_the_command_counts(tree):
    tree.write("more/far.h", "int far;\n")
    tree.write("src/part/two.cc", "#include <far.h>\n")
    tree.lint("tidy")
    tree.write("more/far.h", "int farther;\n")
    assert tree.lint("tidy")[::2] == (0, ["two"])


def test_every_command_of_a_source_counts(tree):
    database = tree.root / "build/compile_commands.json"
    entries = json.loads(database.read_text())
    database.write_text(json.dumps([*entries, entries[1] | {"command": "c++ -DZ -c two.cc"}]))
    tree.lint("tidy")
    database.write_text(json.dumps([*entries, entries[1] | {"command": "c++ -DW -c two.cc"}]))
    assert tree.lint("tidy")[::2] == (0, ["two"])


def test_configuration_concerns_all(tree):
    tree.lint("tidy")
    tree.write(".clang-tidy", "Checks: y\n")
    assert tree.lint("tidy")[::2] == (0, ["one", "two"])


def test_compiler_options_concern_their_source(tree):
    tree.lint("tidy")
    database = tree.root / "build/compile_commands.json"
    database.write_text(database.read_text().replace("-c two", "-DY -c two"))
    assert tree.lint("tidy")[::2] == (0, ["two"])


def test_a_missing_tool_or_step_is_named(tree):
    assert tree.lint("shell")[0] == 2
    assert "tools/shellcheck is missing" in tree.lint("shell")[1]
    assert "unknown step 'tide'" in tree.lint("tide")[1]


def test_a_folder_that_is_no_repository_is_one_line(folder):
    ending = run([sys.executable, "-B", LINT, "--root", folder], environment={"GIT_CEILING_DIRECTORIES": folder.parent})
    assert ending.status == 2
    assert ending.stderr.startswith("lint: git failed: fatal: not a git repository")
    assert ending.stderr.count("\n") == 1


def test_missing_git_is_one_line(tree):
    ending = run([sys.executable, "-B", LINT, "--root", tree.root], environment={"PATH": tree.root})
    assert (ending.status, ending.stderr) == (2, "lint: git is missing (make lint installs it)\n")
