# SPDX-License-Identifier: Apache-2.0
"""Shared by the benchmarks' drivers: runs programs, lists designs, and writes pages with the origin of their numbers."""

import argparse
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

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


def parse_chosen(tool, document, programs, page, needed=lambda program: (), more=lambda parser: None):
    """The options of a benchmark over programs with names: the `chosen` programs, `build`, and `output`. Without --output, a page is written only
    if all programs were chosen. `page`: its name, or what returns it for the options. `needed`: files of the build that a program needs. `more`: adds
    options to the parser."""
    parser = Parser(tool, document)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="a part of a program's name")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--output", type=pathlib.Path, help="the page")
    more(parser)
    options = parser.parse_args()
    options.chosen = [program for program in programs if not options.programs or any(name in program.name for name in options.programs)]
    if not options.chosen:
        parser.error(f"no program '{options.programs[0]}'; there are: {'; '.join(program.name for program in programs)}")
    options.build = parser.require(options.build, "bin/elision", "CMakeCache.txt", *sorted({file for program in options.chosen for file in needed(program)}))
    if options.output is None and not options.programs:
        options.output = ROOT / PAGES / (page(options) if callable(page) else page)
    parser.check_page(options.output)
    return options


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


def changed():
    """Whether the tree differs from its commit in more than measured pages."""
    return first_line(["git", "status", "--porcelain", "--", ".", f":!{PAGES}"]) != ""


def commit():
    """The commit and its date, with a note if the tree differs from it in more than measured pages."""
    named = first_line(["git", "log", "-1", "--format=%h of %cs"])
    if not named:
        return "unknown"
    return named + (", with changes" if changed() else "")


def run(words, most_seconds=1200, codes=(0,)):
    """The finished process, if its exit code is one of `codes`."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=most_seconds)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"did not end within {most_seconds} s: {' '.join(words)}") from late
    if done.returncode not in codes:
        raise Failed(f"exit code {done.returncode}: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done


@functools.cache
def _digest(file, size, changed_ns):
    """The hash of a file, which is read once while it has this size and time: benchmarks ask for the same binaries hundreds of times."""
    return hashlib.sha256(file.read_bytes()).digest()


def _digest_of(file):
    status = file.stat()
    return _digest(file, status.st_size, status.st_mtime_ns)


def key_of(words, files):
    """A name for what these words do with these files."""
    contents = b"".join(map(_digest_of, files))
    return hashlib.sha256(contents + repr([str(word) for word in words]).encode()).hexdigest()[:32]


@dataclasses.dataclass(frozen=True)
class Stored:
    """A finished command: its standard output and exit code, its seconds, and the load of the host before it."""
    output: str
    code: int
    seconds: float
    load: float


def stored(folder, words, files, most_seconds, codes=(0,)):
    """The Stored of a command, from an earlier call if the same words were run with the same files; so a benchmark that was interrupted goes
    on where it was. `files`: what the output depends on. `most_seconds`: 0: None instead of a run. `codes`: exit codes that are results."""
    file = folder / f"{key_of(words, files)}.run.json"
    try:
        return Stored(**json.loads(file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):  # of another version
        pass
    if most_seconds == 0:
        return None
    file.parent.mkdir(parents=True, exist_ok=True)
    load, begin = os.getloadavg()[0], time.monotonic()
    done = run(words, most_seconds, codes)
    found = Stored(done.stdout, done.returncode, time.monotonic() - begin, load)
    write_page(file, json.dumps(dataclasses.asdict(found)))
    return found


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
