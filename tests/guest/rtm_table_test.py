#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of rules in README.md lists exactly the cases that the programs have.

    rtm_table.py README FOLDER PROGRAM...     says what differs; 1 if anything does
    rtm_table.py --print FOLDER PROGRAM...    prints the table
"""

import pathlib
import subprocess
import sys

HEADER = ["| rule | section | program |", "|---|---|---|"]


def rows(folder, programs):
    for program in programs:
        name = f"rtm_{program}"
        listed = subprocess.run([pathlib.Path(folder) / name, "--list"], capture_output=True, text=True, check=True)
        for line in listed.stdout.splitlines():
            rule, section = line.split("|")
            yield f"| {rule} | {section} | {name} |"


def main():
    readme, folder, *programs = sys.argv[1:]
    expected = HEADER + list(rows(folder, programs))
    if readme == "--print":
        print("\n".join(expected))
        return 0
    lines = pathlib.Path(readme).read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    missing = [line for line in expected if line not in table]
    extra = [line for line in table if line not in expected]
    for line in missing:
        print("not in the table:", line)
    for line in extra:
        print("no such case:", line)
    return 1 if missing or extra else 0


if __name__ == "__main__":
    sys.exit(main())
