# SPDX-License-Identifier: Apache-2.0
"""The preload library beside other preloaded libraries, before and behind them, and under tools that watch programs.

A test is skipped where what it needs is not to be had. A race detector must find nothing in a program without races, and the race in
one that has it, under every design.
"""

import functools
import os
import pathlib
import shutil

import pytest
from support import ROOT, can_fix_addresses, run

ROUNDS, ROUNDS_ON_VALGRIND = 2000, 300
RACE_FOUND = 66  # ThreadSanitizer's exit code; valgrind is told to use it too
FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib/x86_64-linux-gnu")
DESIGNS = ("pthread", "tatas", "ticket", "htm-10", "hle-scm", "pthread-aahtm")
each_design = pytest.mark.parametrize("lock", DESIGNS)


def installed(name):
    """The path of a library."""
    for folder in FOLDERS:
        if (pathlib.Path(folder) / name).exists():
            return pathlib.Path(folder) / name
    pytest.skip(f"{name} is not installed")


def tool(name):
    return shutil.which(name) or pytest.skip(f"{name} is not installed")


def of_compiler(name):
    """The path of a library that gcc brings."""
    path = run([tool("gcc"), f"-print-file-name={name}"]).stdout.strip()
    if not os.path.isabs(path):
        pytest.skip(f"gcc has no {name}")
    return pathlib.Path(path).resolve()


def done(rounds):
    """What the program prints when no update was lost."""
    return " ".join([str(3 * rounds)] * 3)


@functools.cache
def works(fixed_addresses, *words):
    return run(words, fixed_addresses=fixed_addresses).status == 0


def require(words, what, fixed_addresses=False):
    """Skips where the tool does not work without us."""
    if not works(fixed_addresses, *words):
        pytest.skip(f"{what} does not work here")


@pytest.fixture
def library(elision):
    return elision.build / "lib" / "libelision.so"


@pytest.fixture
def program(elision):
    def built(name):
        path = elision.test_program(name)
        return path if path.exists() else pytest.skip(f"{name} was not built: the compiler has no such sanitizer")
    return built


def expect(words, status, preload=(), text="", design=None, fixed_addresses=False, **variables):
    """The program ends with `status` and prints `text`."""
    environment = {"ELISION_RTM_ALWAYS_ABORT": "1", **variables}
    if preload:
        environment["LD_PRELOAD"] = ":".join(map(str, preload))
    if design:
        environment["ELISION_LOCK"] = design
    ending = run(words, environment=environment, fixed_addresses=fixed_addresses)
    assert ending.status == status
    assert text in ending.stdout + ending.stderr


def expect_detection(words, preload, design, fixed_addresses=False):
    """No false alarm, and the alarm that is due."""
    expect(words, 0, preload, done(words[-1]), design, fixed_addresses)
    expect([*words, "racy"], RACE_FOUND, preload, "", design, fixed_addresses)


@pytest.mark.parametrize("order", [1, -1], ids=["before", "behind"])
@each_design
@pytest.mark.parametrize("name, variables", [
    pytest.param("libjemalloc.so.2", {}, id="jemalloc"),
    pytest.param("libtcmalloc_minimal.so.4", {}, id="tcmalloc"),
    pytest.param("libprofiler.so.0", {"CPUPROFILE": "{folder}/profile", "CPUPROFILE_FREQUENCY": "1000"}, id="profiler"),
    pytest.param("heaptrack/libheaptrack_preload.so", {"DUMP_HEAPTRACK_OUTPUT": "{folder}/heap"}, id="heaptrack")])
def test_beside(library, program, folder, name, variables, lock, order):
    words, preload = [program("beside_others"), ROUNDS], (installed(name), library)[::order]
    settings = {variable: value.format(folder=folder) for variable, value in variables.items()}
    expect(words, 0, preload, done(ROUNDS), lock, **settings)
    # Proof that ours was there: the program says what it has.
    expect(words, 0, preload, f"elision: lock design {lock},", lock, ELISION_VERBOSE="1", **settings)


@pytest.fixture
def tsan(program):
    """A program with ThreadSanitizer, the sanitizer's library, and whether its addresses must be fixed."""
    words, runtime = [program("beside_others_tsan"), ROUNDS], of_compiler("libtsan.so")
    # Where the kernel draws addresses from more of them than it knows, it ends now and then.
    fixed = can_fix_addresses()
    require(words, "ThreadSanitizer", fixed)
    return words, runtime, fixed


@each_design
def test_tsan_behind(tsan, library, lock):
    """Behind the library it would not see our locks: it gets glibc's."""
    words, _, fixed = tsan
    expect_detection(words, (library,), lock, fixed)


@each_design
def test_tsan_before(tsan, library, lock):
    """Before it, it sees ours."""
    words, runtime, fixed = tsan
    expect_detection(words, (runtime, library), lock, fixed)


def test_tsan_decides_the_design(tsan, library):
    words, runtime, fixed = tsan
    for preload, said in (((library,), "pthread (switched off)"), ((runtime, library), "tatas, ")):
        expect(words, 0, preload, f"elision: lock design {said}", "tatas", fixed, ELISION_VERBOSE="1")


def test_tsan_is_known_by_what_it_is(tsan, library, folder):
    """Not by the name of its file."""
    words, runtime, fixed = tsan
    expect_detection(words, (library, shutil.copy(runtime, folder / "detector.so")), "tatas", fixed)


def built_with_tsan(folder, compiler, *options):
    """The program with ThreadSanitizer linked into it: so it comes before the library, and sees every design."""
    words = [tool(compiler), *options, "-fsanitize=thread", "-std=c++20", "-O1", "-g", "-pthread", "-o", folder / "beside_others"]
    if run([*words, "-x", "c++", "-"], text="int main() {}").status != 0:
        pytest.skip(f"{compiler} cannot build even an empty program so")
    assert run([*words, ROOT / "tests" / "programs" / "beside_others.cc"]).status == 0
    return [folder / "beside_others", ROUNDS]


@pytest.mark.parametrize("compiler", [["g++", "-static-libtsan"], ["clang++"]], ids=["g++", "clang++"])
def test_linked_tsan(library, folder, compiler):
    words, fixed = built_with_tsan(folder, *compiler), can_fix_addresses()
    require(words, "ThreadSanitizer", fixed)
    for design in DESIGNS:
        expect_detection(words, (library,), design, fixed)
    expect(words, 0, (library,), "elision: lock design htm-10, ", "htm-10", fixed, ELISION_VERBOSE="1")


@each_design
def test_asan(elision, library, program, lock):
    words, runtime = [program("beside_others_asan"), ROUNDS], of_compiler("libasan.so")
    require(words, "AddressSanitizer")
    expect(words, 0, (runtime, library), done(ROUNDS), lock)
    # It wants to be first, and says so, unless told otherwise.
    expect(words, 1, (library,), "ASan runtime does not come first", lock)
    expect(words, 0, (library,), done(ROUNDS), lock, ASAN_OPTIONS="verify_asan_link_order=0")
    # The launcher puts it there, in front of whatever else is preloaded.
    launched = [elision.binary, "run", "--rtm-always-abort", "--lock", lock, "--", *words]
    for other in ((), (elision.test_program("libearly_locker.so"),)):
        expect(launched, 0, other, done(ROUNDS))
        expect(launched, 0, other, f"elision: lock design {lock},", ELISION_VERBOSE="1")


def on_valgrind(program, *options):
    return [tool("valgrind"), *options, program("beside_others"), ROUNDS_ON_VALGRIND]


@pytest.mark.parametrize("lock", ["tatas", "htm-10"])
def test_memcheck(library, program, lock):
    words = on_valgrind(program, "--error-exitcode=9")
    require(words, "valgrind")
    expect(words, 0, (library,), done(ROUNDS_ON_VALGRIND), lock)


@pytest.mark.parametrize("detector", ["helgrind", "drd"])
@pytest.mark.parametrize("lock", ["tatas", "ticket"])
def test_detector_of_valgrind(library, program, detector, lock):
    """Under each design the detector gets glibc's locks."""
    words = on_valgrind(program, f"--tool={detector}", f"--error-exitcode={RACE_FOUND}")
    require(words, detector)
    expect_detection(words, (library,), lock)
