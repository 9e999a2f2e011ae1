# SPDX-License-Identifier: Apache-2.0
"""Shared by the benchmarks' drivers: runs programs, lists designs, and writes pages with the origin of their numbers."""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

import performance

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUSY = 0.5  # load a CPU


class Failed(Exception):
    """A run without a result; the message names it."""


class Parser(argparse.ArgumentParser):
    """Bad input gets one line and exit code 2."""

    def __init__(self, tool, document):
        super().__init__(prog=tool, description=document.splitlines()[0])

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")

    def check_page(self, page):
        """Checks before a benchmark that its page (None: no page) can be written."""
        if page is None:
            return
        try:
            unfinished(page).touch()
            unfinished(page).unlink()
        except OSError as error:
            self.error(f"cannot write {page}: {error.strerror}")

    def require(self, build, *names):
        """The absolute path of a build that has these files."""
        build = build.resolve()
        for name in names:
            if not (build / name).exists():
                self.error(f"{build} has no {name}: run make build")
        return build


def output_of(words):
    """(exit code, standard output and error together); -1 if the program cannot be started."""
    try:
        done = subprocess.run([str(word) for word in words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, check=False)
    except OSError:
        return -1, ""
    return done.returncode, done.stdout


def doctor(build):
    """The report of elision doctor, whose exit code also says whether transactions commit."""
    code, text = output_of([build / "bin" / "elision", "doctor", "--json"])
    if code not in (0, 1):
        raise Failed(f"elision doctor ended with {code}: {text}")
    return json.loads(text)


def first_line(words):
    code, text = output_of(words)
    return (text.splitlines() or [""])[0] if code == 0 else ""


# The pages that benchmarks write.
PAGES = "docs/measured"


def commit():
    """The commit and its date, with a note if the tree differs from it in more than measured pages."""
    named = first_line(["git", "log", "-1", "--format=%h of %cs"])
    if not named:
        return "unknown"
    changed = first_line(["git", "status", "--porcelain", "--", ".", f":!{PAGES}"])
    return named + (", with changes" if changed else "")


def run(words, most_seconds=1200):
    """The finished process, if its exit code is 0."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=most_seconds)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"did not end within {most_seconds} s: {' '.join(words)}") from late
    if done.returncode != 0:
        raise Failed(f"exit code {done.returncode}: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done


def cpu_vendor():
    """The maker of this CPU, as CPUID names it; "" if the kernel does not tell."""
    found = re.search(r"^vendor_id\s*:\s*(\S+)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else ""


def origin(build, scale):
    """Called before the benchmark, which is load itself."""
    load = os.getloadavg()[0]
    if load > BUSY * os.cpu_count():
        print(f"The machine is busy (load {load:.1f}): what is measured natively now says little.", file=sys.stderr, flush=True)
    cache = (build / "CMakeCache.txt").read_text()
    compiler = first_line([performance.cached("CMAKE_CXX_COMPILER", cache), "--version"]) or "unknown"
    return performance.Origin(
        commit(), performance.cpu_model(pathlib.Path("/proc/cpuinfo").read_text()), os.cpu_count(),
        f"{platform.system()} {platform.release()}",
        f"{compiler}, {performance.cached('CMAKE_BUILD_TYPE', cache)}", load, scale)


def designs_in(help_text):
    """The default designs of `elision compare`, from its help; [] if the help does not name them."""
    found = re.search(r"--locks\b.*?\(default:\s*([^)]*)\)", help_text, re.DOTALL)
    return [name.strip() for name in found.group(1).split(",")] if found else []


def designs_of(build):
    """The default designs of `elision compare`."""
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


def unfinished(page):
    return page.with_name(page.name + ".unfinished")


def write_page(page, text):
    """Writes the page whole or not at all."""
    temporary = unfinished(page)
    try:
        temporary.write_text(text)
        temporary.replace(page)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise Failed(f"cannot write {page}: {error.strerror}") from error
