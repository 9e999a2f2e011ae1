# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks' drivers ask the host: where numbers come from, which designs there are, where a page goes."""

import argparse
import os
import pathlib
import platform
import re
import subprocess

import performance

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Failed(Exception):
    """A run that says nothing; the message names it."""


class Parser(argparse.ArgumentParser):
    """Bad input gets one line and exit code 2."""

    def __init__(self, tool, document):
        super().__init__(prog=tool, description=document.splitlines()[0])

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")

    def require(self, build, *names):
        """The absolute path of a build that has these files."""
        build = build.resolve()
        for name in names:
            if not (build / name).exists():
                self.error(f"{build} has no {name}: run make build")
        return build


def output_of(words):
    """(exit code, both streams together); -1 if it cannot be started."""
    try:
        done = subprocess.run([str(word) for word in words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, check=False)
    except OSError:
        return -1, ""
    return done.returncode, done.stdout


def first_line(words):
    code, text = output_of(words)
    return (text.splitlines() or [""])[0] if code == 0 else ""


def commit(page):
    """The commit and its date; says if the tree differs from it (but for the page that is to be written)."""
    named = first_line(["git", "log", "-1", "--format=%h of %cs"])
    if not named:
        return "unknown"
    but_for = [f":!{page.relative_to(ROOT)}"] if page.is_relative_to(ROOT) else []
    changed = first_line(["git", "status", "--porcelain", "--", ".", *but_for])
    return named + (", with changes" if changed else "")


def origin(build, page, load, scale):
    cache = (build / "CMakeCache.txt").read_text()
    compiler = first_line([performance.cached("CMAKE_CXX_COMPILER", cache), "--version"]) or "unknown"
    return performance.Origin(
        commit(page), performance.cpu_model(pathlib.Path("/proc/cpuinfo").read_text()), os.cpu_count(),
        f"{platform.system()} {platform.release()}",
        f"{compiler}, {performance.cached('CMAKE_BUILD_TYPE', cache)}", load, scale)


def designs_in(help_text):
    """The designs that `elision compare` compares unless told otherwise, from its help; [] if that does not name them."""
    found = re.search(r"--locks\b.*?\(default:\s*([^)]*)\)", help_text, re.DOTALL)
    return [name.strip() for name in found.group(1).split(",")] if found else []


def designs_of(build):
    """Our lock designs: the command line's own list, so that a new one is measured without being named here."""
    designs = designs_in(output_of([build / "bin" / "elision", "compare", "--help"])[1])
    if not designs:
        raise Failed("elision compare --help names no lock designs")
    return designs


def check_designs(parser, build, names):
    """Refuses a design that `elision run` does not know."""
    for name in names:
        code, text = output_of([build / "bin" / "elision", "run", "--lock", name, "--", "true"])
        if code != 0:
            parser.error(f"--locks: {(text.splitlines() or ['failed'])[0]}")


def write_page(page, text):
    """Whole or not at all."""
    temporary = page.with_name(page.name + ".unfinished")
    try:
        temporary.write_text(text)
        temporary.replace(page)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise Failed(f"cannot write {page}: {error.strerror}") from error
