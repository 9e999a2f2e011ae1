#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs built with sanitizers run on the virtual machine as natively, also with the lock library preloaded.

    sanitizers.py BUILD COMPILER SANITIZER

SANITIZER is what -fsanitize= takes. Ends with 77 and says why where the compiler is not installed or has no such
sanitizer. A report must name the same error in the same functions; a run must repeat to the byte.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import whole_programs

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
# What each sanitizer finds: the argument, the exit code, and what the report says.
FINDS = {
    "address": [("clean", 0, ""), ("fork", 0, ""), ("freed", 1, "heap-use-after-free"), ("beyond", 1, "stack-buffer-overflow"),
                ("lost", 1, "77 byte(s) leaked in 1 allocation(s)")],
    "leak": [("clean", 0, ""), ("fork", 0, ""), ("lost", 23, "77 byte(s) leaked in 1 allocation(s)")],
    "memory": [("clean", 0, ""), ("fork", 0, ""), ("unset", 1, "use-of-uninitialized-value")],
    "thread": [("clean", 0, ""), ("fork", 0, ""), ("race", 66, "data race")],
    "undefined": [("clean", 0, ""), ("fork", 0, ""), ("undefined", 0, "signed integer overflow")],
}
# Differs from run to run: addresses, numbers of processes, offsets in libraries that are found by name, and which
# threads ran when a race was seen.
VARYING = [r"0x[0-9a-f]+", r"==[0-9]+==", r"pid=[0-9]+", r"tid=[0-9]+"]


def build(compiler, sanitizer, folder):
    program = pathlib.Path(folder) / "sanitized"
    words = [compiler, "-g", "-O1", f"-fsanitize={sanitizer}", HERE / "sanitized.cc", "-o", program, "-pthread", "-ldl"]
    if shutil.which(compiler) is None:
        return None
    return program if subprocess.run(words, capture_output=True, check=False).returncode == 0 else None


def report_of(ending, sanitizer):
    """The report's lines that are the same in every run: which error in which functions."""
    if sanitizer == "thread":
        return sorted(set(re.findall(r"SUMMARY: .*", ending.stderr)))
    dump = re.compile(r"^(=>|  )?0x[0-9a-f]+:")  # shadow memory around an address, whose contents chance decides
    return [line for line in whole_programs.masked(
        "\n".join(line for line in ending.stderr.splitlines() if not dump.match(line)), VARYING).splitlines() if line]


def differences(elision, program, sanitizer, argument, status, said):
    """What is wrong with a run on the virtual machine, a line each."""
    native = whole_programs.run([program, argument], base=whole_programs.GUEST_ENVIRONMENT)
    virtual = elision.vm([program, argument])
    if native.status != status or said not in native.stderr:
        return [f"natively: expected status {status} and '{said}', got {native!r}"]
    wrong = []
    for what, one, other in (("status", native.status, virtual.status), ("output", native.stdout, virtual.stdout),
                             ("report", report_of(native, sanitizer), report_of(virtual, sanitizer))):
        if one != other:
            wrong.append(f"{what}: natively {one}, virtually {other}\n{virtual!r}")
    return wrong


def with_locks(elision, program, compiler, sanitizer, argument, status, said):
    """The same with the lock library. A race detector has to see the locks: in front of one it stands back (clang's is
    part of the program and so in front itself)."""
    ending = elision.vm([program, argument], ["--lock", "htm-10"], environment={"ELISION_VERBOSE": "1"})
    design = "pthread (switched off)" if (compiler, sanitizer) == ("g++", "thread") else "htm-10,"
    if ending.status == status and said in ending.stderr and f"elision: lock design {design}" in ending.stderr:
        return []
    return [f"with locks: expected status {status}, '{said}' and lock design {design}, got {ending!r}"]


def repetition(elision, program):
    """A seed decides everything here, too."""
    first, again = (elision.vm_with_statistics([program, "clean"], ["--seed", "5"]) for _ in range(2))
    if first[1] != again[1] or first[0].stdout != again[0].stdout:
        return ["the same seed: output or statistics differ"]
    return []


def main():
    elision, compiler, sanitizer = whole_programs.Elision(sys.argv[1]), sys.argv[2], sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        program = build(compiler, sanitizer, folder)
        if program is None:
            print(f"skipped: there is no {compiler} with -fsanitize={sanitizer}")
            return SKIPPED
        wrong = repetition(elision, program)
        for argument, status, said in FINDS[sanitizer]:
            found = differences(elision, program, sanitizer, argument, status, said)
            found += with_locks(elision, program, compiler, sanitizer, argument, status, said)
            wrong += [f"{argument}: {line}" for line in found]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
