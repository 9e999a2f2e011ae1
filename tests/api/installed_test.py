# SPDX-License-Identifier: Apache-2.0
"""The installed library, used from outside of the tree.

Installs into a temporary folder, moves that, and builds example/ against it with every compiler that is installed (gcc must be), by CMake's
package and by pkg-config, against the shared library and the static one; runs what was built natively and in the virtual machine.
"""

import pathlib
import re
import shutil
import tempfile

import pytest
from support import ROOT, printed, run

EXAMPLE = ROOT / "tests" / "api" / "example"
PROGRAMS = ("bank_c11", "bank_cxx17", "inventory_cxx20")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


@pytest.fixture(scope="module")
def prefix(build):
    with tempfile.TemporaryDirectory() as name:
        made, moved = pathlib.Path(name) / "made", pathlib.Path(name) / "moved"
        for component in ("library", "development"):
            printed(["cmake", "--install", build, "--component", component, "--prefix", made])
        made.rename(moved)
        yield moved


@pytest.fixture(scope="module")
def libraries(prefix):
    return next(prefix.glob("lib*/**/libelision-api.so")).parent


@pytest.fixture(params=[("gcc", "g++"), ("clang", "clang++")], ids=["gcc", "clang"])
def compilers(request):
    """A compiler for C and one for C++."""
    if request.param[0] != "gcc" and not all(map(shutil.which, request.param)):
        pytest.skip(f"{' and '.join(request.param)} are not installed")
    return request.param


def flags_of_pkg_config(libraries, what):
    return printed(["pkg-config", what, "elision"],
                   base={"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "PATH": "/usr/bin:/bin"}).split()


def expect_same_virtually(elision, program):
    assert printed([elision.binary, "vm", "--", program]) == printed([program])


def test_headers_are_installed(prefix):
    for name in ("elision.h", "elision.hpp"):
        assert (prefix / "include/elision" / name).is_file()


def test_header_pkg_config_and_package_say_one_version(prefix, libraries):
    header = (prefix / "include/elision/elision.h").read_text()
    of_header = ".".join(re.search(rf"#define ELISION_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    package = next(libraries.glob("**/elision-config-version.cmake")).read_text()
    assert flags_of_pkg_config(libraries, "--modversion") == [of_header]
    assert re.search(r'PACKAGE_VERSION "(.*)"', package).group(1) == of_header


def test_programs_by_cmake(elision, prefix, folder, compilers):
    """Shared and static, by find_package."""
    source, build = folder / "source", folder / "build"
    shutil.copytree(EXAMPLE, source)
    printed(["cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release",
             f"-DCMAKE_C_COMPILER={compilers[0]}", f"-DCMAKE_CXX_COMPILER={compilers[1]}"])
    printed(["cmake", "--build", build])
    for name in PROGRAMS:
        for linkage in ("", "_static"):
            expect_same_virtually(elision, build / f"{name}{linkage}")


def test_program_by_pkg_config(elision, libraries, folder, compilers):
    """bank.c by the compiler alone."""
    program = folder / "bank"
    printed([compilers[0], "-std=c11", "-O1", *WARNINGS, EXAMPLE / "bank.c", "-o", program,
             *flags_of_pkg_config(libraries, "--cflags"), *flags_of_pkg_config(libraries, "--libs"),
             f"-Wl,-rpath,{libraries}", "-pthread"])
    expect_same_virtually(elision, program)


@pytest.mark.parametrize("linkage", [["libelision-api.so", "-Wl,-rpath,{}"], ["libelision-api.a"]], ids=["shared", "static"])
def test_header_of_another_version_is_refused(prefix, libraries, folder, compilers, linkage):
    """Of the next minor version: by one line and exit code 2."""
    text = (prefix / "include/elision/elision.h").read_text()
    minor = int(re.search(r"VERSION_MINOR (\d+)", text).group(1)) + 1
    (folder / "elision").mkdir()
    (folder / "elision/elision.h").write_text(re.sub(r"VERSION_MINOR \d+", f"VERSION_MINOR {minor}", text))
    source, program = folder / "locker.c", folder / "locker"
    source.write_text("#include <elision/elision.h>\n"
                      "int main(void) { elision_mutex m = ELISION_MUTEX_INIT; elision_mutex_lock(&m); return 0; }\n")
    library, *options = linkage
    printed([compilers[0], "-std=c11", f"-I{folder}", source, "-o", program, libraries / library,
             *(option.format(libraries) for option in options), "-pthread"])
    ending = run([program])
    assert (ending.status, ending.stdout) == (2, "")
    assert re.fullmatch(rf"elision: the program was compiled with elision\.h 0\.{minor}\.\d+, the library is .*\n", ending.stderr)


@pytest.mark.parametrize("option", ["-O0", "-no-pie", "-static", "-masm=intel"])
def test_speculating_needs_no_library(prefix, folder, compilers, option):
    source, program = folder / "alone.c", folder / "alone"
    source.write_text("#include <elision/elision.h>\nint main(void) { return elision_speculating(); }\n")
    printed([compilers[0], "-std=c11", *WARNINGS, f"-I{prefix / 'include'}", source, "-o", program, option])
    assert run([program]).status == 0
