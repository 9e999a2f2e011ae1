# SPDX-License-Identifier: Apache-2.0
"""Programs built with sanitizers run on the virtual machine as natively, also with the lock library preloaded.

Skipped where the compiler is not installed or cannot build even an empty program with the sanitizer. A report must name the same error in the same functions; a run
must repeat to the byte.
"""

import functools
import pathlib
import re
import shutil
import tempfile

import pytest
from support import GUEST_ENVIRONMENT, ROOT, masked, run

# What each sanitizer finds: the argument, the exit code, and what the report says.
FINDS = {
    "address": [("clean", 0, ""), ("fork", 0, ""), ("freed", 1, "heap-use-after-free"), ("beyond", 1, "stack-buffer-overflow"),
                ("lost", 1, "77 byte(s) leaked in 1 allocation(s)")],
    "leak": [("clean", 0, ""), ("fork", 0, ""), ("lost", 23, "77 byte(s) leaked in 1 allocation(s)")],
    "memory": [("clean", 0, ""), ("fork", 0, ""), ("unset", 1, "use-of-uninitialized-value")],
    "thread": [("clean", 0, ""), ("fork", 0, ""), ("race", 66, "data race")],
    "undefined": [("clean", 0, ""), ("fork", 0, ""), ("undefined", 0, "signed integer overflow")],
}
SOURCE = ROOT / "tests" / "programs" / "sanitized.cc"
# What differs from run to run: addresses, and the numbers of processes and threads.
VARYING = [r"0x[0-9a-f]+", r"==[0-9]+==", r"pid=[0-9]+", r"tid=[0-9]+"]
PAIRS = [(compiler, sanitizer) for compiler in ("g++", "clang++") for sanitizer in FINDS if (compiler, sanitizer) != ("g++", "memory")]
each_pair = pytest.mark.parametrize("compiler, sanitizer", [pytest.param(*pair, id="/".join(pair)) for pair in PAIRS])
each_find = pytest.mark.parametrize("compiler, sanitizer, argument, status, said", [
    pytest.param(*pair, *found, id=f"{'/'.join(pair)}-{found[0]}") for pair in PAIRS for found in FINDS[pair[1]]])


@pytest.fixture(scope="module")
def build_with():
    """Builds the program with a compiler for a sanitizer, once."""
    with tempfile.TemporaryDirectory() as folder:
        @functools.cache
        def built(compiler, sanitizer):
            program = pathlib.Path(folder) / f"{compiler}-{sanitizer}"
            words = [compiler, "-g", "-O1", f"-fsanitize={sanitizer}", "-o", program, "-pthread", "-ldl"]
            if not shutil.which(compiler) or run([*words, "-x", "c++", "-"], text="int main() {}").status != 0:
                return None
            assert run([*words, SOURCE]).status == 0
            return program

        yield lambda *pair: built(*pair) or pytest.skip(f"there is no {pair[0]} with -fsanitize={pair[1]}")


def report_of(ending, sanitizer):
    """The report's lines that are the same in every run: which error in which functions."""
    if sanitizer == "thread":
        return sorted(set(re.findall(r"SUMMARY: .*", ending.stderr)))
    dump = re.compile(r"^(=>|  )?0x[0-9a-f]+:")  # shadow memory around an address, whose contents chance decides
    text = "\n".join(line for line in ending.stderr.splitlines() if not dump.match(line))
    return [line for line in masked(text, VARYING).splitlines() if line]


@each_find
def test_same_natively_and_virtually(elision, build_with, compiler, sanitizer, argument, status, said):
    program = build_with(compiler, sanitizer)
    native = run([program, argument], base=GUEST_ENVIRONMENT)
    assert native.status == status
    assert said in native.stderr
    virtual = elision.vm([program, argument])
    assert (virtual.status, virtual.stdout) == (native.status, native.stdout)
    assert report_of(virtual, sanitizer) == report_of(native, sanitizer)


@each_find
def test_with_the_lock_library(elision, build_with, compiler, sanitizer, argument, status, said):
    """A race detector has to see the locks. g++'s is a library: ours comes before it and switches itself off.

    clang's is part of the program, so it comes before our library and sees our locks.
    """
    ending = elision.vm([build_with(compiler, sanitizer), argument], ["--lock", "htm-10"], environment={"ELISION_VERBOSE": "1"})
    assert ending.status == status
    assert said in ending.stderr
    design = "pthread (switched off)" if (compiler, sanitizer) == ("g++", "thread") else "htm-10,"
    assert f"elision: lock design {design}" in ending.stderr


@each_pair
def test_seed_decides_everything(elision, build_with, compiler, sanitizer):
    first, again = (elision.vm_with_statistics([build_with(compiler, sanitizer), "clean"], ["--seed", "5"]) for _ in range(2))
    assert again[1] == first[1], "statistics"
    assert again[0].stdout == first[0].stdout
