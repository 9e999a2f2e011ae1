#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The preload library under the glibcs of other Debian releases, and under an imitation of the oldest that it supports.

    glibcs.py BUILD [--suites bullseye,trixie,...] DESIGN...

Downloads each release's C library by apt into BUILD/glibcs (nothing is installed), builds preload_semantics_test and its
companions for the oldest of them, and runs them under each with the libelision.so of the build. A failure prints the command that
repeats it.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import older_glibc

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = ("bullseye", "bookworm", "trixie", "sid", "experimental")
OLDEST_SUPPORTED = (2, 28)
# What a program of the oldest release is built with, and what programs are run with.
DEVELOPMENT = ("libc6-dev", "linux-libc-dev", "libcrypt-dev", "libgtest-dev", "libstdc++-10-dev")
RUN_TIME = ("libc6", "libgcc-s1", "libstdc++6")
IMITATED = ("libc.so.6", "libpthread.so.0", "libdl.so.2")
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Failed(Exception):
    pass


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=600, **more)
    if done.returncode != 0:
        raise Failed(f"{shlex.join(map(str, words))}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def apt(place, suite):
    """The options by which apt works on `place` alone."""
    (place / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (place / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    (place / "status").touch()
    # Experimental holds only what is newer than in sid.
    suites = [suite, "sid"] if suite == "experimental" else [suite]
    (place / "sources.list").write_text("".join(f"deb [signed-by={KEYRING}] {MIRROR} {name} main\n" for name in suites))
    settings = {"Dir::State": place, "Dir::State::status": place / "status", "Dir::State::lists": place / "lists",
                "Dir::Cache": place, "Dir::Etc::sourcelist": place / "sources.list", "Dir::Etc::sourceparts": "/dev/null",
                "Acquire::Languages": "none", "APT::Default-Release": suite, "APT::Sandbox::User": "root"}
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def make_links_relative(root):
    """A link to /lib/... is one to what lies in `root`."""
    for link in root.rglob("*"):
        if link.is_symlink() and os.readlink(link).startswith("/"):
            target = root / os.readlink(link)[1:]
            link.unlink()
            link.symlink_to(os.path.relpath(target, link.parent))


def fetch(place, suite, packages):
    """The release's files, below the folder returned."""
    root = place / "root"
    if (place / "complete").exists():
        return root
    shutil.rmtree(place, ignore_errors=True)
    options = apt(place, suite)
    run(["apt-get", *options, "update"])
    run(["apt-get", *options, "download", *packages], cwd=place)
    for package in sorted(place.glob("*.deb")):
        run(["dpkg-deb", "-x", package, root])
    make_links_relative(root)
    (place / "complete").touch()
    return root


def libraries(root):
    return [folder for folder in (root / "lib/x86_64-linux-gnu", root / "usr/lib/x86_64-linux-gnu") if folder.is_dir()]


def version_of(root):
    for folder in libraries(root):
        if (folder / "libc.so.6").exists():
            return tuple(map(int, re.search(rb"stable release version (\d+)\.(\d+)", (folder / "libc.so.6").read_bytes()).groups()))
    raise Failed(f"no libc.so.6 below {root}")


def imitate(root, place):
    """What `root` would be with the oldest supported glibc."""
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(root, place / "root", symlinks=True)
        taken = []
        for name in IMITATED:
            file = (place / "root/lib/x86_64-linux-gnu" / name).resolve()
            data, names = older_glibc.without_later(file.read_bytes(), OLDEST_SUPPORTED)
            file.write_bytes(data)
            taken += names
        if "pthread_mutex_clocklock" not in taken:
            raise Failed(f"nothing to take out of {root}: is it a glibc above 2.29 with a libpthread of its own?")
        (place / "complete").touch()
    return place / "root"


def build_programs(root, place):
    """Built for the glibc and C++ library below `root`: they run with every later one."""
    place.mkdir(exist_ok=True)
    preload = ROOT / "src" / "preload"
    # -B: the start files, which the sysroot alone does not decide.
    of_root = [f"--sysroot={root}", *(f"-B{folder}" for folder in libraries(root)), *(f"-L{folder}" for folder in libraries(root))]
    cxx = ["g++", "-std=c++20", "-O1", *of_root, "-nostdinc++", "-isystem", root / "usr/include/c++/10", "-isystem",
           root / "usr/include/x86_64-linux-gnu/c++/10", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}",
           f"-L{root / 'usr/lib/gcc/x86_64-linux-gnu/10'}"]
    threads = "-l:libpthread.so.0"
    run([*cxx, "-shared", "-fPIC", preload / "test_programs/early_locker.cc", "-o", place / "libearly_locker.so"])
    run([*cxx, "-shared", "-fPIC", "-nostdlib", preload / "test_programs/unversioned.cc", "-o", place / "libunversioned.so"])
    # The last one linked is initialised first.
    run([*cxx, *sorted(preload.glob("*semantics_test.cc")), "-lgtest", "-lgtest_main", threads,
         "-Wl,--no-as-needed", "-lunversioned", "-learly_locker", f"-L{place}", "-Wl,-rpath,$ORIGIN", "-o", place / "semantics"])
    run([*cxx, preload / "test_programs/worker.cc", threads, "-o", place / "worker"])
    run(["gcc", "-O1", *of_root, ROOT / "tests/glibcs/single_threaded.c", "-o", place / "single_threaded"])


def failures_in(text):
    """What a test program says of its failures, or the last it says at all."""
    lines = text.splitlines()
    at = [index for index, line in enumerate(lines) if "Failure" in line]
    return "\n".join(line for index in at[:5] for line in lines[index:index + 5]) or "\n".join(lines[-10:])


class Under:
    """Runs programs under one glibc, with the library preloaded."""

    def __init__(self, root, library, programs, name):
        folders = ":".join(map(str, libraries(root)))
        loader = next(folder / "ld-linux-x86-64.so.2" for folder in libraries(root)
                      if (folder / "ld-linux-x86-64.so.2").exists())
        self.start = [loader, "--library-path", folders]
        self.library, self.programs, self.name = library, programs, name
        self.runs = self.failures = 0

    def check(self, words, **variables):
        environment = {"LD_PRELOAD": str(self.library), "ELISION_RTM_ALWAYS_ABORT": "1", **variables}
        words = [*self.start, self.programs / words[0], *words[1:]]
        self.runs += 1
        try:
            done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
                                  timeout=300)
            if done.returncode == 0 and not done.stderr:
                return
            print(failures_in(done.stdout), done.stderr[-2000:], f"exit code {done.returncode}")
        except subprocess.TimeoutExpired:
            print("did not end within 300 s")
        self.failures += 1
        settings = " ".join(f"{name}={value}" for name, value in environment.items())
        print(f"glibc {self.name}: repeat with: {settings} {shlex.join(map(str, words))}")

    def all(self, designs):
        for number, design in enumerate(designs):
            self.check(["semantics"], ELISION_LOCK=design, ELISION_WAIT="park")
            self.check(["semantics"], ELISION_LOCK=design, ELISION_WAIT="spin",
                       ELISION_RWLOCK=["shared", "exclusive"][number % 2])
            self.check(["single_threaded"], ELISION_LOCK=design)
            self.check(["worker", "count", "4", "5000"], ELISION_LOCK=design)
            self.check(["worker", "threads", "300"], ELISION_LOCK=design)
            self.check(["worker", "fork", "100", "1000"], ELISION_LOCK=design)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--suites", default=",".join(SUITES), help="Debian releases beside bullseye, for which programs are built")
    parser.add_argument("designs", nargs="+")
    options = parser.parse_args()
    place = options.build.resolve() / "glibcs"
    library = options.build.resolve() / "lib" / "libelision.so"
    if not library.exists():
        parser.error(f"{library} is not there")
    oldest = fetch(place / SUITES[0], SUITES[0], RUN_TIME + DEVELOPMENT)
    programs = place / "programs"
    build_programs(oldest, programs)
    roots = {"2.28 (imitated)": imitate(oldest, place / "imitated")}
    for suite in options.suites.split(","):
        root = oldest if suite == SUITES[0] else fetch(place / suite, suite, RUN_TIME)
        roots[".".join(map(str, version_of(root))) + f" ({suite})"] = root
    failures = 0
    for name, root in roots.items():
        under = Under(root, library, programs, name)
        under.all(options.designs)
        print(f"glibc {name}: {under.runs} runs, {under.failures} failed", flush=True)
        failures += under.failures
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        print(f"glibcs.py: {error}", file=sys.stderr)
        sys.exit(2)
