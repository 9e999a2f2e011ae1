# SPDX-License-Identifier: Apache-2.0
"""The library exports what GCC's libitm.so.1 exports: every symbol, with its version, and no other."""

import pytest
import support


def exports(library):
    lines = support.printed(["nm", "-D", "--with-symbol-versions", "--defined-only", library]).splitlines()
    return sorted(line.split()[-1] for line in lines)


def libitm():
    """What the dynamic linker finds under the name."""
    for line in support.printed(["ldconfig", "-p"], environment={"PATH": "/usr/bin:/sbin:/usr/sbin"}).splitlines():
        if "libitm.so.1 " in line and "x86-64" in line:
            return line.split()[-1]
    pytest.skip("no libitm.so.1 here")


def test_symbols_and_versions_are_those_of_libitm(build):
    ours = exports(build / "lib" / "libelision-tm.so")
    assert len(ours) == 173 + 2  # with the names of both versions
    assert ours == exports(libitm())


def test_installed_beside_the_preload_library(build, folder):
    support.printed(["cmake", "--install", build, "--component", "program", "--prefix", folder])
    library = folder / "lib" / "elision" / "libelision-tm.so"
    shown = support.run([build / "tests" / "tm_cancel"], environment={"LD_PRELOAD": str(library), "ELISION_TM_VERBOSE": "1"})
    assert shown.status == 0
    assert "elision-tm: mode" in shown.stderr


def test_stands_in_for_libitm(build):
    """By its name in the folder of links, the dynamic linker takes it for a program's libitm."""
    program = build / "tests" / "tm_cancel"
    folder = build / "lib" / "elision-tm"
    shown = support.printed(["ldd", program], environment={"LD_LIBRARY_PATH": str(folder)})
    assert f"libitm.so.1 => {folder}/libitm.so.1" in shown


def test_preloaded_library_replaces_libitm(build):
    library = build / "lib" / "libelision-tm.so"
    shown = support.printed(["ldd", build / "tests" / "tm_cancel"], environment={"LD_PRELOAD": str(library)})
    assert "libitm.so.1 =>" not in shown
    assert str(library) in shown
