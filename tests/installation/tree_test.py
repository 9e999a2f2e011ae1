# SPDX-License-Identifier: Apache-2.0
"""The program of an installed tree after the tree was moved: it finds its parts from its own place, and nothing of the build."""

import os
import pathlib
import tempfile

import pytest
from support import GUEST_ENVIRONMENT, ROOT, printed, run

PROGRAM = ROOT / "tests" / "installation" / "two_threads.c"


class Tree:
    """An installed tree and a program that uses locks."""

    def __init__(self, prefix, program):
        self.prefix, self.program = prefix, program

    def elision(self, *words):
        return run([self.prefix / "bin" / "elision", *words], base=GUEST_ENVIRONMENT)

    @property
    def library(self):
        return self.prefix / "lib" / "elision" / "libelision.so"


def installed(build, folder, name):
    """Installed below `folder`, then moved to `name`."""
    printed(["cmake", "--install", build, "--component", "program", "--prefix", folder / "made"])
    (folder / "made").rename(folder / name)
    printed(["gcc", "-O1", "-pthread", PROGRAM, "-o", folder / "program"])
    return Tree(folder / name, folder / "program")


@pytest.fixture(scope="module")
def tree(build):
    with tempfile.TemporaryDirectory() as name:
        yield installed(build, pathlib.Path(name).resolve(), "moved")


def test_program_runs_under_a_design_natively(tree):
    ending = tree.elision("run", "--lock", "tatas", "--", tree.program, "libelision")
    assert (ending.status, ending.stdout) == (0, f"400\n{tree.library}\n")


def test_program_runs_in_the_virtual_machine(tree):
    ending = tree.elision("vm", "--lock", "htm-10", "--", tree.program)
    assert (ending.status, ending.stdout, ending.stderr) == (0, "400\n", "")


def test_program_is_compared(tree):
    ending = tree.elision("compare", "--machine", "core-i7-4770", "--locks", "htm-10", "--runs", "1", "--", tree.program)
    assert ending.status == 0
    assert "pthread" in ending.stdout and "htm-10" in ending.stdout


def test_program_started_through_a_link_finds_its_parts(tree, folder):
    (folder / "elision").symlink_to(tree.prefix / "bin" / "elision")
    assert run([folder / "elision", "run", "--lock", "tatas", "--", tree.program]).stdout == "400\n"


def test_program_without_its_library_says_which_file_is_missing(build, folder):
    tree = installed(build, folder.resolve(), "moved")
    tree.library.unlink()
    ending = tree.elision("run", "--lock", "tatas", "--", tree.program)
    assert (ending.status, ending.stdout) == (2, "")
    assert ending.stderr.startswith(f"elision run: the lock library is missing: {tree.library} ")
    assert ending.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["with space", "with:colon"])
def test_folder_that_ld_preload_cannot_name_is_one_line(build, folder, name):
    tree = installed(build, folder.resolve(), name)
    for verb, *options in (["run", "--lock", "tatas"], ["vm", "--lock", "tatas"], ["compare", "--machine", "xeon-e5-2697v4"]):
        ending = tree.elision(verb, *options, "--", tree.program)
        assert (ending.status, ending.stdout, ending.stderr) == (2, "", f"elision {verb}: LD_PRELOAD cannot name '{tree.library}': "
                                                                 "install Elision in a folder without spaces and colons\n")
    assert tree.elision("vm", "--", tree.program).stdout == "400\n"


def test_nothing_but_elision_is_installed(build, folder):
    """And no workload, no test, no file of another prefix: the list by folder and kind."""
    printed(["cmake", "--install", build, "--prefix", folder])
    files = [file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()]
    assert {file for file in files if file.startswith("bin/")} == {"bin/elision"}
    assert all("elision" in file for file in files), files


def test_make_install_takes_prefix_and_destdir(build, folder):
    """What the target does last; building is the other targets' test."""
    lines = printed(["make", "-n", "-C", ROOT, "install", f"BUILD={build}", "PREFIX=/opt/tool", f"DESTDIR={folder}"]).splitlines()
    command = next(line for line in lines if "cmake --install" in line)
    printed(["bash", "-c", command])
    assert (folder / "opt/tool/bin/elision").is_file()
    assert os.listdir(folder) == ["opt"]


