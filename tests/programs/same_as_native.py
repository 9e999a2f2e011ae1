#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody wrote for this project behave the same natively and on the virtual machine.

    same_as_native.py BUILD CASE | --list

Compared are standard output (after the case's filter for times and memory addresses), exit code and fatal
signal. The filter is tested by the same comparison between two native runs. On a difference the command
that repeats the virtual run is printed.
"""

import pathlib
import sys
import tempfile

from whole_programs import INPUTS, Elision, masked, run, write_words

KYOTO_FILTER = [r"^  seed=\d+", r"^time: [0-9.]+", r"^memory: \d+", r"^\.* ?\(\d+\)\n", r"rcomp=\S+"]


def shell(script):
    return ["bash", "-c", script]


# name -> (words, patterns to mask). They run in a folder that holds `words`, a generated text.
CASES = {
    "python3": (["python3", "-B", INPUTS / "threads.py", "words"], []),
    "xz-1": (shell("xz -T1 -2 -k -c words >o.xz && xz -dc o.xz | cmp - words && sha256sum o.xz"), []),
    "xz-4": (shell("xz -T4 -2 --block-size=40000 -k -c words >o.xz && xz -dc o.xz | cmp - words && sha256sum o.xz"),
             []),
    "sort-4": (shell("tr ' ' '\\n' <words >w && sort --parallel=4 -S 300K w | sha256sum; sort -c w"), []),
    "gcc": (shell(f"gcc -O2 -S -o - {INPUTS}/program.c && gcc -O1 {INPUTS}/program.c -o p && ./p"), []),
    "sqlite3": (shell(f"sqlite3 new.db <{INPUTS}/statements.sql && sqlite3 new.db 'pragma integrity_check'"), []),
    "bash": (["bash", INPUTS / "script.sh", "words"], []),
    "awk": (["awk", "{n[$1]+=length($0)} END {for (w in n) s+=n[w]; print s, NR, sin(NR)}", "words"], []),
    "exit-code": (shell("exit 201"), []),
    "killed": (shell("kill -KILL $$"), []),
    "segmentation-fault": (shell("kill -SEGV $$"), []),
    "abort": (["python3", "-c", "import os; os.abort()"], []),
    **{f"kcgrasstest-{n}": (["kcgrasstest", "order", "-th", n, "400"], KYOTO_FILTER) for n in "1248"},
    **{f"kccachetest-{n}": (["kccachetest", "order", "-th", n, "400"], KYOTO_FILTER) for n in "1248"},
    "kccachetest-tran-4": (["kccachetest", "tran", "-th", "4", "-it", "1", "200"],
                           [*KYOTO_FILTER, r"^(count|size|buckets|type|format|path|status|options|opaque).*"]),
}


def behaviour(start, patterns):
    """What is compared: filtered output and status, in a fresh folder."""
    with tempfile.TemporaryDirectory() as folder:
        write_words(pathlib.Path(folder) / "words")
        ending = start(folder)
    return masked(ending.stdout, patterns), ending.status, ending


def main():
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
        return 0
    elision = Elision(sys.argv[1])
    words, patterns = CASES[sys.argv[2]]
    first = behaviour(lambda folder: run(words, cwd=folder), patterns)
    second = behaviour(lambda folder: run(words, cwd=folder), patterns)
    virtual = behaviour(lambda folder: elision.vm(words, ["--crash-reports", "none"], cwd=folder), patterns)
    if first[:2] != second[:2]:
        print(f"the filter of {sys.argv[2]} lets two native runs differ:\n{first[2]}\n=== and\n{second[2]}")
        return 1
    if first[:2] != virtual[:2]:
        print(f"native:\n{first[2]}\n=== virtual:\n{virtual[2]}")
        print("repeat with: build/bin/elision vm --", " ".join(str(word) for word in words))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
