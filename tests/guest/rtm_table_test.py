# SPDX-License-Identifier: Apache-2.0
"""The table of rules in README.md lists exactly the cases that the programs have."""

import pathlib

from support import printed

FOLDER = pathlib.Path(__file__).resolve().parent
HEADER = {"| rule | section | program |", "|---|---|---|"}


def test_table_has_every_case_and_no_other(build):
    programs = sorted(path.stem for path in FOLDER.glob("rtm_*.cc"))
    assert programs
    cases = set()
    for program in programs:
        for line in printed([build / "guests" / program, "--list"]).splitlines():
            rule, section = line.split("|")
            cases.add(f"| {rule} | {section} | {program} |")
    table = {line for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")}
    assert table == HEADER | cases
