#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed library, used from outside of the tree.

    installed.py BUILD

Installs into a temporary folder and builds example/ there with every compiler that is installed (gcc must be), by CMake's
package and by pkg-config, against the shared library and the static one; runs what was built natively and in the virtual machine.
A program compiled with a header of another version must be refused by one line and exit code 2, and package, pkg-config
file and header must say one version.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLE = pathlib.Path(__file__).resolve().parent / "example"
PROGRAMS = ("bank_c11", "bank_cxx17", "inventory_cxx20")
COMPILERS = (("gcc", "g++"), ("clang", "clang++"))
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


class Failed(Exception):
    """What failed, with the command."""


def run(words, status=0, **how):
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, **how)
    if done.returncode != status:
        raise Failed(f"exit code {done.returncode}: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done


def install(build, prefix):
    run(["cmake", "--install", build, "--component", "api", "--prefix", prefix])
    for name in ("include/elision/elision.h", "include/elision/elision.hpp"):
        if not (prefix / name).is_file():
            raise Failed(f"not installed: {name}")
    return next(prefix.glob("lib*/**/libelision-api.so")).parent


def by_cmake(folder, prefix, compilers):
    """The programs, shared and static, by find_package."""
    source, build = folder / "source", folder / "build"
    shutil.copytree(EXAMPLE, source)
    run(["cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_C_COMPILER={compilers[0]}", f"-DCMAKE_CXX_COMPILER={compilers[1]}"])
    run(["cmake", "--build", build])
    return [build / f"{name}{linkage}" for name in PROGRAMS for linkage in ("", "_static")]


def flags_of_pkg_config(libraries, what):
    done = run(["pkg-config", what, "elision"], env={"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "PATH": "/usr/bin:/bin"})
    return done.stdout.split()


def by_pkg_config(folder, libraries, compiler):
    """bank.c by the compiler alone."""
    program = folder / "bank_pkg_config"
    run([compiler, "-std=c11", "-O1", *WARNINGS, EXAMPLE / "bank.c", "-o", program,
         *flags_of_pkg_config(libraries, "--cflags"), *flags_of_pkg_config(libraries, "--libs"),
         f"-Wl,-rpath,{libraries}", "-pthread"])
    return program


def check_versions(prefix, libraries):
    header = (prefix / "include/elision/elision.h").read_text()
    of_header = ".".join(re.search(rf"#define ELISION_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    of_pkg_config = flags_of_pkg_config(libraries, "--modversion")[0]
    of_package = re.search(r'PACKAGE_VERSION "(.*)"', next(libraries.glob("**/elision-config-version.cmake")).read_text()).group(1)
    if not of_header == of_pkg_config == of_package:
        raise Failed(f"versions differ: header {of_header}, pkg-config {of_pkg_config}, package {of_package}")


def check_refusal(folder, prefix, libraries, compiler):
    """A header of the next minor version, with this library."""
    text = (prefix / "include/elision/elision.h").read_text()
    locker = folder / "locker.c"
    locker.write_text("#include <elision/elision.h>\nint main(void) { elision_mutex m = ELISION_MUTEX_INIT; elision_mutex_lock(&m); return 0; }\n")
    other = folder / "other/elision"
    other.mkdir(parents=True)
    minor = int(re.search(r"VERSION_MINOR (\d+)", text).group(1)) + 1
    (other / "elision.h").write_text(re.sub(r"VERSION_MINOR \d+", f"VERSION_MINOR {minor}", text))
    for number, linkage in enumerate(([libraries / "libelision-api.so", f"-Wl,-rpath,{libraries}"], [libraries / "libelision-api.a"])):
        program = folder / f"refused{number}"
        run([compiler, "-std=c11", f"-I{other.parent}", locker, "-o", program, *linkage, "-pthread"])
        done = run([program], status=2)
        if not re.fullmatch(rf"elision: the program was compiled with elision\.h 0\.{minor}\.\d+, the library is .*\n", done.stderr) or done.stdout:
            raise Failed(f"a mismatch is refused with: {done.stdout}{done.stderr}")


def check_speculating_alone(folder, prefix, compiler):
    """elision_speculating() needs no library."""
    source, program = folder / "alone.c", folder / "alone"
    source.write_text("#include <elision/elision.h>\nint main(void) { return elision_speculating(); }\n")
    for more in ([], ["-no-pie"], ["-static"], ["-masm=intel"]):
        run([compiler, "-std=c11", *WARNINGS, f"-I{prefix / 'include'}", source, "-o", program, *more])
        run([program])


def check_compiler(build, folder, prefix, libraries, compilers):
    folder.mkdir()
    programs = [*by_cmake(folder, prefix, compilers), by_pkg_config(folder, libraries, compilers[0])]
    for program in programs:
        natively = run([program]).stdout
        virtually = run([build / "bin/elision", "vm", "--", program]).stdout
        if natively != virtually:
            raise Failed(f"{program.name} prints natively {natively}and virtually {virtually}")
    check_refusal(folder, prefix, libraries, compilers[0])
    check_speculating_alone(folder, prefix, compilers[0])
    return len(programs)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    found = [pair for pair in COMPILERS if shutil.which(pair[0]) and shutil.which(pair[1])]
    if COMPILERS[0] not in found:
        raise Failed("gcc is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        libraries = install(build, prefix)
        check_versions(prefix, libraries)
        for compilers in found:
            count = check_compiler(build, folder / compilers[0], prefix, libraries, compilers)
            print(f"{compilers[0]}: {count} programs, natively and virtually")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(str(failure))
