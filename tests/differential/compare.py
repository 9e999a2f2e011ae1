#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random sequences of instructions, natively and in the virtual machine: both must leave the same behind.

    compare.py ELISION DIFFERENTIAL [--seed N] [--count N] [--high] [--batch N]

Prints how many sequences were compared and how many ended by a signal. The first difference is shown with the sequence,
both states, and the commands that repeat it; exit code 1.
"""

import argparse
import difflib
import os
import subprocess
import sys

BATCH = 5000


def run(words):
    # Nothing of the caller's environment, so that a run can be repeated from anywhere.
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          env={"PATH": os.environ.get("PATH", "")})
    return done.returncode, done.stdout.splitlines(), done.stderr


def show_difference(native, virtual, arguments):
    shown = [run([*words, *arguments, "--show"])[1] for words in (native, virtual)]
    print("".join(f"    {line}\n" for line in shown[0] if ": " in line or line.startswith(("sequence", "round"))))
    for line in difflib.unified_diff(*shown, "native", "virtual", lineterm="", n=0):
        print(line)
    print("natively:  " + " ".join([*native, *arguments, "--show"]))
    print("virtually: " + " ".join([*virtual, *arguments, "--show"]))


def compare(native, virtual, common, first, count):
    """Returns how many sequences ended by a signal, or None after it has shown a difference."""
    arguments = [*common, "--first", str(first), "--count", str(count)]
    outcomes = [run([*words, *arguments]) for words in (native, virtual)]
    (native_status, native_lines, errors), (virtual_status, virtual_lines, virtual_errors) = outcomes
    if native_status != 0 or len(native_lines) == 0:
        print(f"native run: status {native_status}\n{errors}")
        return None
    for native_line, virtual_line in zip(native_lines, virtual_lines):
        if native_line != virtual_line:
            print(f"differs: {native_line} and {virtual_line}")
            show_difference(native, virtual, [*common, "--first", native_line.split()[0], "--count", "1"])
            return None
    if virtual_status != 0 or len(native_lines) != len(virtual_lines):
        print(f"virtual run: status {virtual_status} after {len(virtual_lines)} of {len(native_lines)} sequences\n"
              f"{virtual_errors}" + " ".join([*virtual, *arguments]))
        return None
    return sum(line.split()[2] != "0" for line in native_lines)


def run_all(elision, differential, seed=1, first=0, count=1000, batch=BATCH, high=False, examples=None):
    """Compares `count` sequences, `batch` a process; an exit code."""
    native = [differential]
    virtual = [elision, "vm", "--crash-reports", "none", "--", differential]
    common = ["--seed", str(seed)] + (["--high"] if high else []) + (["--examples", str(examples)] if examples else [])
    signals = 0
    for begin in range(first, first + count, batch):
        ended = compare(native, virtual, common, begin, min(batch, first + count - begin))
        if ended is None:
            return 1
        signals += ended
    print(f"{count} sequences, {signals} ended by a signal: all the same natively and virtually", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elision")
    parser.add_argument("differential")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=BATCH, help="sequences a process")
    parser.add_argument("--high", action="store_true", help="code above 2 GB")
    parser.add_argument("--examples", help="see differential --help")
    return run_all(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
