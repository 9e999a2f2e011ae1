# SPDX-License-Identifier: Apache-2.0
"""Commands and tables of tools/bench-tm, on made-up reports."""

import pathlib

import pytest
import tm_speed
from performance import Origin

PROGRAM = tm_speed.PROGRAMS[0]


def row(mode, speedup=1.0, reach=0.1, state="good"):
    if state != "good":
        return {"design": mode, "state": state}
    found = {"design": mode, "state": state, "speedup": speedup, "value": {"median": 1e6 * speedup}}
    return found if mode == "libitm" else {**found, "interval": {"low": speedup - reach, "high": speedup + reach}}


def report(**speedups):
    """Speedups of modes with one and with two threads; other modes are as libitm."""
    blocks = []
    for i, threads in enumerate((1, 2)):
        rows = [row("libitm")] + [row(mode, speedups.get(mode, (1.0, 1.0))[i]) for mode in tm_speed.MODES]
        blocks.append({"threads": threads, "rows": rows})
    return {"blocks": blocks}


def test_native_command_takes_the_longer_run():
    words = tm_speed.words_of(pathlib.Path("/b"), PROGRAM, "native", (1, 2))
    assert words[words.index("--machine") + 1] == "native"
    assert words[words.index("--threads") + 1] == "1,2"
    assert "--runs" not in words
    assert words[-6:] == ["--operations", "2000000", "--back-end", "gcc-tm", "--threads", "{threads}"]


def test_virtual_command_names_the_machine():
    words = tm_speed.words_of(pathlib.Path("/b"), PROGRAM, "virtual", (1, 16))
    assert words[words.index("--machine") + 1] == tm_speed.MACHINE
    assert words[words.index("--runs") + 1] == str(tm_speed.VIRTUAL_RUNS)


def test_table_has_speedups_over_libitm():
    found = tm_speed.table(report(ale=(1.5, 0.5)))
    assert found[:2] == [["", "1 thread", "2 threads"], ["libitm, operations/s", "1e+06", "1e+06"]]
    assert ["ale", "1.50 [1.40 - 1.60]", "0.50 [0.40 - 0.60]"] in found


def test_mode_that_did_not_run_has_a_dash():
    one = report()
    one["blocks"][1]["rows"] = [row("libitm"), *(row(mode, state="good" if mode == "serial" else "not-run") for mode in tm_speed.MODES)]
    assert ["hle", "1.00 [0.90 - 1.10]", "-"] in tm_speed.table(one)
    assert tm_speed.standing([one], "hle") == [0, 1, 0]


def test_failed_runs_are_told():
    one = report()
    one["blocks"][0]["rows"] = [row("libitm"), *(row(mode, state="failed" if mode == "hle" else "good") for mode in tm_speed.MODES)]
    assert ["hle", "failed", "1.00 [0.90 - 1.10]"] in tm_speed.table(one)
    one["blocks"][0]["rows"][0] = {"design": "libitm", "state": "timed-out", "remark": "did not end"}
    with pytest.raises(tm_speed.NoResult, match="libitm with 1 threads: did not end"):
        tm_speed.table(one)


@pytest.mark.parametrize(("speedups", "expected"), [((1.5, 0.5), [1, 0, 1]), ((1.05, 2.0), [1, 1, 0])])
def test_standing_goes_by_intervals(speedups, expected):
    assert tm_speed.standing([report(ale=speedups)], "ale") == expected


def test_best_of_libitm_is_over_its_methods():
    text = " ".join(tm_speed.sentences("native", [report(**{"libitm-gl_wt": (2.0, 1.0), "serial": (3.0, 1.0)})]))
    assert "`serial` has 1.50 times" in text
    assert "With one thread" not in " ".join(tm_speed.sentences("virtual", [report()]))


def origin():
    return Origin("1234567 of 2026-11-28", "CPU", 2, "6.1", "c++", 0.1, 1)


def test_page_has_every_program():
    page = tm_speed.document(origin(), "virtual", [(PROGRAM, report()), (tm_speed.PROGRAMS[1], report(ale=(2.0, 2.0)))])
    assert page.startswith("# Speed of transactional memory, virtually\n")
    assert page.count("## List, 100 nodes") == 1 and page.count("## Hash table") == 1
    assert "`ale` is ahead of libitm beyond the interval in 2 cells, behind in 0" in page
    assert "    tools/bench-tm\n" in page


def test_page_of_a_cpu_without_hardware_transactions_says_so():
    one = report()
    for block in one["blocks"]:
        block["rows"] = [row if row["design"] in ("libitm", "serial") else {**row, "state": "not-run"} for row in block["rows"]]
    page = tm_speed.document(origin(), "native", [(PROGRAM, one)], has_hardware=False)
    assert page.startswith("# Speed of transactional memory, natively without hardware transactions\n")
    assert "is ahead of libitm" not in page and "With one thread, `serial` has 1.00 times" in page
    assert "    tools/bench-tm --natively\n" in page
