#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The preload library beside other preloaded libraries, before and behind them, and under tools that watch programs.

    beside_others.py BUILD CASE

Cases: jemalloc, tcmalloc, profiler (gperftools'), heaptrack, tsan, tsan_g++ and tsan_clang++ (a part of the program), asan,
memcheck, helgrind, drd. Ends with 77 and says why where one is not to be had. A race detector must find nothing in a program without races and the race in one that has it, whatever
design is asked for. A failure prints the command that repeats it.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import whole_programs

DESIGNS = ("pthread", "tatas", "ticket", "htm-10", "hle-scm", "pthread-aahtm")
SKIPPED = 77
ROUNDS, ROUNDS_ON_VALGRIND = 2000, 300
RACE_FOUND = 66  # ThreadSanitizer's exit code; valgrind is told to use it too
HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib/x86_64-linux-gnu")


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


def installed(*names):
    """The path of the first of these libraries that is there."""
    for name in names:
        for folder in FOLDERS:
            if (pathlib.Path(folder) / name).exists():
                return pathlib.Path(folder) / name
    raise Skipped(f"{names[0]} is not installed")


def tool(name):
    found = shutil.which(name)
    if found is None:
        raise Skipped(f"{name} is not installed")
    return found


def of_compiler(name):
    """The path of a library that gcc brings."""
    path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=False).stdout.strip()
    if not os.path.isabs(path):
        raise Skipped(f"gcc has no {name}")
    return pathlib.Path(path).resolve()


class Case:
    def __init__(self, build):
        self.library = build / "lib" / "libelision.so"
        self.elision = build / "bin" / "elision"
        self.tests = build / "tests"
        self.fixed_addresses = False

    def program(self, name):
        if not (self.tests / name).exists():
            raise Skipped(f"{name} was not built: the compiler has no such sanitizer")
        return self.tests / name

    def expect(self, words, status, preload=(), text="", design=None, **variables):
        environment = {"ELISION_RTM_ALWAYS_ABORT": "1", **variables}
        if preload:
            environment["LD_PRELOAD"] = ":".join(map(str, preload))
        if design:
            environment["ELISION_LOCK"] = design
        ending = whole_programs.run(words, environment=environment, fixed_addresses=self.fixed_addresses)
        if ending.status != status or text not in ending.stdout + ending.stderr:
            settings = " ".join(f"{name}={value}" for name, value in environment.items())
            raise Failed(f"expected status {status} and '{text}', got {ending!r}\n"
                         f"repeat with: {settings} {shlex.join(map(str, words))}")

    @staticmethod
    def done(rounds):
        """What the program prints when no update was lost."""
        return " ".join([str(3 * rounds)] * 3)

    def needs(self, words, what):
        """Skips where the tool does not work without us."""
        if whole_programs.run(words, fixed_addresses=self.fixed_addresses).status != 0:
            raise Skipped(f"{what} does not work here: {shlex.join(map(str, words))}")

    def beside(self, other, **variables):
        """Each design with `other` preloaded before and behind."""
        program = self.program("beside_others")
        for design in DESIGNS:
            for preload in ((other, self.library), (self.library, other)):
                with tempfile.TemporaryDirectory() as folder:
                    settings = {name: value.format(folder=folder) for name, value in variables.items()}
                    self.expect([program, ROUNDS], 0, preload, self.done(ROUNDS), design, **settings)
                    # Proof that ours was there: the program says what it has.
                    self.expect([program, ROUNDS], 0, preload, f"elision: lock design {design},", design, ELISION_VERBOSE="1", **settings)

    def detector(self, words, designs, preloads):
        """No false alarm, and the alarm that is due."""
        for design in designs:
            for preload in preloads:
                self.expect(words, 0, preload, self.done(words[-1]), design)
                self.expect([*words, "racy"], RACE_FOUND, preload, "", design)

    def jemalloc(self):
        self.beside(installed("libjemalloc.so.2"))

    def tcmalloc(self):
        self.beside(installed("libtcmalloc_minimal.so.4"))

    def profiler(self):
        self.beside(installed("libprofiler.so.0"), CPUPROFILE="{folder}/profile", CPUPROFILE_FREQUENCY="1000")

    def heaptrack(self):
        self.beside(installed("heaptrack/libheaptrack_preload.so"), DUMP_HEAPTRACK_OUTPUT="{folder}/heap")

    def tsan(self):
        program, runtime = self.program("beside_others_tsan"), of_compiler("libtsan.so")
        # Where the kernel draws addresses from more of them than it knows, it ends now and then.
        self.fixed_addresses = whole_programs.can_fix_addresses()
        self.needs([program, ROUNDS], "ThreadSanitizer")
        # Behind the library it would not see our locks: it gets glibc's. Before, it sees ours.
        self.detector([program, ROUNDS], DESIGNS, [(self.library,), (runtime, self.library)])
        for preload, said in (((self.library,), "pthread (switched off)"), ((runtime, self.library), "tatas, ")):
            self.expect([program, ROUNDS], 0, preload, f"elision: lock design {said}", "tatas", ELISION_VERBOSE="1")
        # It is known by what it is, not by the name of its file.
        with tempfile.TemporaryDirectory() as folder:
            renamed = shutil.copy(runtime, pathlib.Path(folder) / "detector.so")
            self.detector([program, ROUNDS], ("tatas",), [(self.library, renamed)])

    def tsan_in_program(self, words):
        """Linked into the program it comes before the library, and sees every design."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "beside_others"
            words = [tool(words[0]), *words[1:], "-fsanitize=thread", "-std=c++20", "-O1", "-g", "-pthread", "-o", program]
            empty = subprocess.run([*words, "-x", "c++", "-"], input="int main() {}", text=True, capture_output=True, check=False)
            if empty.returncode != 0:
                raise Skipped(f"cannot build even an empty program: {shlex.join(map(str, words))}")
            words.append(HERE / "beside_others.cc")
            built = subprocess.run(words, text=True, capture_output=True, check=False)
            if built.returncode != 0:
                raise Failed(f"cannot build: {shlex.join(map(str, words))}\n{built.stderr}")
            self.fixed_addresses = whole_programs.can_fix_addresses()
            self.needs([program, ROUNDS], "ThreadSanitizer")
            self.detector([program, ROUNDS], DESIGNS, [(self.library,)])
            self.expect([program, ROUNDS], 0, (self.library,), "elision: lock design htm-10, ", "htm-10", ELISION_VERBOSE="1")

    def tsan_gpp(self):
        self.tsan_in_program(["g++", "-static-libtsan"])

    def tsan_clangpp(self):
        self.tsan_in_program(["clang++"])

    def asan(self):
        program, runtime = self.program("beside_others_asan"), of_compiler("libasan.so")
        self.needs([program, ROUNDS], "AddressSanitizer")
        for design in DESIGNS:
            self.expect([program, ROUNDS], 0, (runtime, self.library), self.done(ROUNDS), design)
            # It wants to be first, and says so, unless told otherwise.
            self.expect([program, ROUNDS], 1, (self.library,), "ASan runtime does not come first", design)
            self.expect([program, ROUNDS], 0, (self.library,), self.done(ROUNDS), design, ASAN_OPTIONS="verify_asan_link_order=0")
            # The launcher puts it there, in front of whatever else is preloaded.
            launched = [self.elision, "run", "--rtm-always-abort", "--lock", design, "--", program, ROUNDS]
            for other in ((), (self.tests / "libearly_locker.so",)):
                self.expect(launched, 0, other, self.done(ROUNDS))
                self.expect(launched, 0, other, f"elision: lock design {design},", ELISION_VERBOSE="1")

    def memcheck(self):
        words = [tool("valgrind"), "--error-exitcode=9", self.program("beside_others"), ROUNDS_ON_VALGRIND]
        self.needs(words, "valgrind")
        for design in ("tatas", "htm-10"):
            self.expect(words, 0, (self.library,), self.done(words[-1]), design)

    def helgrind(self, name="helgrind"):
        words = [tool("valgrind"), f"--tool={name}", f"--error-exitcode={RACE_FOUND}", self.program("beside_others"), ROUNDS_ON_VALGRIND]
        self.needs(words, name)
        # Whatever is asked for, the detector gets glibc's locks.
        self.detector(words, ("tatas", "ticket"), [(self.library,)])

    def drd(self):
        self.helgrind("drd")


def main():
    whole_programs.say_cpu(sys.argv[1])
    case = Case(pathlib.Path(sys.argv[1]))
    try:
        getattr(case, sys.argv[2].replace("+", "p"))()
    except Skipped as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except Failed as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
