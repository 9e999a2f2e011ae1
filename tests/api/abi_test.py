# SPDX-License-Identifier: Apache-2.0
"""The binary interface of libelision-api is the one that src/api/libelision-api.abi describes, and a change would be noticed."""

import re
import shutil

import pytest
from support import ROOT, printed, run

DESCRIPTION = ROOT / "src" / "api" / "libelision-api.abi"
CHANGED = 4  # bits of abidiff's exit code
INCOMPATIBLE = 8

pytestmark = pytest.mark.skipif(not shutil.which("abidiff"), reason="abidiff of abigail-tools is not installed")


def difference(description, library):
    """(exit code, report) of abidiff. With --headers-dir it would take the structures of the description, which names no files, for private."""
    ending = run(["abidiff", description, library])
    return ending.status, ending.stdout


@pytest.fixture
def smaller_library(build, folder):
    """A copy of the library that does not export elision_lockset_try_lock."""
    script, library = folder / "versions.map", folder / "libelision-api.so"
    text = (ROOT / "src" / "api" / "versions.map").read_text()
    script.write_text(text.replace("local: *;", "local: *; elision_lockset_try_lock;"))
    soname = re.search(r"soname='(.*?)'", DESCRIPTION.read_text())[1]
    printed(["gcc", "-shared", "-o", library, f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", "-Wl,--whole-archive",
             build / "lib" / "libelision-api.a", "-Wl,--no-whole-archive"])
    return library


def test_interface_is_the_one_described(build):
    """After an intended change: raise the minor version, then run tools/describe-abi."""
    assert difference(DESCRIPTION, build / "lib" / "libelision-api.so")[0] == 0


def test_removed_function_is_noticed(smaller_library):
    status, report = difference(DESCRIPTION, smaller_library)
    assert status & CHANGED and status & INCOMPATIBLE
    assert "1 Removed, 0 Changed, 0 Added" in report
    assert "elision_lockset_try_lock" in report


def test_changed_structure_is_noticed(build, folder):
    text = DESCRIPTION.read_text()
    changed = text.replace("name='elision_condition' size-in-bits='64'", "name='elision_condition' size-in-bits='128'")
    assert changed != text
    (folder / "other.abi").write_text(changed)
    assert difference(folder / "other.abi", build / "lib" / "libelision-api.so")[0] & CHANGED


def test_change_is_not_described_without_a_new_minor_version(smaller_library, folder):
    description = folder / "x.abi"
    shutil.copy(DESCRIPTION, description)
    ending = run([ROOT / "tools" / "describe-abi", smaller_library, description])
    assert ending.status == 1
    assert ending.stderr.splitlines()[-1] == ("describe-abi: the ABI of libelision-api.so.0.1 changed: raise the minor version in "
                                              "CMakeLists.txt and elision.h")
    assert description.read_text() == DESCRIPTION.read_text()


def test_change_is_described_with_a_new_minor_version(smaller_library, folder):
    description = folder / "x.abi"
    description.write_text(re.sub(r"soname='.*?'", "soname='libelision-api.so.0.0'", DESCRIPTION.read_text()))
    assert run([ROOT / "tools" / "describe-abi", smaller_library, description]).status == 0
    assert difference(description, smaller_library)[0] == 0
