# SPDX-License-Identifier: Apache-2.0
"""The tables of libelision-api's costs, on made-up measurements; and that apicost prints what they want."""

import re

import api_costs
import probes
from performance import Origin
from support import run

ORIGIN = Origin("abc of 2020-01-01", "A CPU", 2, "Linux 6", "g++ 1, Release", 0.25, 1.0)
NAMES = [f"{group} {name} {how}"
         for group, names in (("lock", api_costs.LOCKS), ("lockset", api_costs.LOCKSETS), ("coarsening", api_costs.COARSENING))
         for name in names for how in ("alone", "together")]
MEASURED = {name: [number / 100, number / 100 - 0.01, number / 100 + 0.01] for number, name in enumerate(NAMES, 50)}


def test_every_number_is_in_its_place():
    cells = api_costs.rows("lockset", api_costs.LOCKSETS, MEASURED, {name: [9, 8, 10] for name in NAMES})
    assert cells[0] == ["", "2 locks", "3 locks", "4 locks", "6 locks", "8 locks"]
    assert cells[2][0] == "natively, together"
    assert cells[2][3] == f"{MEASURED['lockset 4 together'][0]:.2f} ±0.01"
    assert cells[4][1:] == ["9.00 ±1.00"] * 5


def test_the_page_has_all_tables():
    page = api_costs.document(ORIGIN, MEASURED, MEASURED)
    assert page.count("\n## ") == 4
    assert "| 64 |" in page




def test_program_prints_what_the_tables_want(elision):
    ending = run([elision.workload("apicost"), "--pairs", "1", "--operations", "50"])
    assert (ending.status, ending.stderr) == (0, "")
    assert sorted(probes.parse(ending.stdout)) == sorted(NAMES)


def test_bad_words_get_one_line(elision):
    ending = run([elision.workload("apicost"), "nothing"])
    assert (ending.status, ending.stdout) == (2, "")
    assert re.search(r"\Aapicost: .*nothing.*\n\Z", ending.stderr)
