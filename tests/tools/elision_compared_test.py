# SPDX-License-Identifier: Apache-2.0
"""What tools/bench-elision runs, and its verdicts, tables and page, on made-up results whose answer is known."""

import elision_compared as compared
import pytest
from elision_compared import CK, GLIBC, GLIBC_ELISION, TBB, Cell, Comparison, Range, Result, Setting

EVERYBODY = {GLIBC: (1, 2), GLIBC_ELISION: (2, 4), TBB: (8, 4), CK: (3, 5), "htm-10": (4, 8), "tatas": (5, 8)}


def results(throughputs=None, transactions=(100, 95, 5), acquisitions=100):
    """{contender: throughput by variation} -> results of one cell; transactions of glibc's elided run: begins, commits,
    aborts."""
    found = {}
    for contender, rates in {**EVERYBODY, **(throughputs or {})}.items():
        counts = transactions if contender == GLIBC_ELISION else (0, 0, 0)
        for variation, rate in enumerate(rates):
            found[Cell("map", 8, contender, variation)] = Result(rate, acquisitions, *counts)
    return found


def test_every_contender_meets_every_variation_with_its_seed():
    plan = compared.plan(["map", "hash"], [1, 8], [GLIBC, "htm-10"], 3)
    assert (len(plan), len(set(plan))) == (24, 24)
    assert {(cell.variation, cell.seed) for cell in plan} == {(0, 1), (1, 2), (2, 3)}
    assert plan[0].threads == 8, "long ones first"


def words_of(cell):
    return " ".join(compared.command("b", cell, "s", 0.1))


def test_commands():
    assert words_of(Cell("map", 8, "htm-10", 2)) == (
        "b/bin/elision vm --machine xeon-e5-2697v4 --seed 3 --variation 2 --lock htm-10 --stats s -- "
        "env GLIBC_TUNABLES=glibc.elision.enable=0 b/workloads/onelock --lock pthread --limit 3 --structure map --reads 50 "
        "--threads 8 --seconds 0.1 --warmup 100")
    assert "-- env GLIBC_TUNABLES=glibc.elision.enable=1 b/workloads/onelock --lock pthread" in words_of(Cell("map", 8, GLIBC_ELISION))
    assert "onelock --lock tbb" in words_of(Cell("map", 8, TBB))
    assert "b/workloads/arraybench_ck --writes" in words_of(Cell("array", 8, CK))
    assert "b/workloads/arraybench --writes" in words_of(Cell("array", 8, "tatas"))


def test_only_ours_are_preloaded():
    for contender in compared.LOCKS:
        assert "vm --machine xeon-e5-2697v4 --seed 1 --variation 0 --lock" not in words_of(Cell("map", 8, contender))


def test_warm_up_counts_as_acquisitions():
    totals = {"begins": 9, "commits": 5, "aborts": {"conflict": 3, "capacity": 1}}
    assert compared.result_of(Cell("map", 8, TBB), 2.5, 1000, totals) == Result(2.5, 1800, 9, 5, 4)


def test_over_a_tenth_aborted_or_fell_back():
    for transactions, expected in (((100, 95, 5), False), ((100, 90, 10), False), ((100, 91, 11), True),
                                   ((89, 89, 0), True), ((0, 0, 0), True)):
        comparison = Comparison(results(transactions=transactions))
        assert comparison.is_contended("map", 8) == expected, transactions


def test_sections_without_a_transaction_fell_back():
    comparison = Comparison(results(transactions=(40, 30, 10)))
    assert comparison.aborted("map", 8) == pytest.approx(0.25)
    assert comparison.fell_back("map", 8) == pytest.approx(0.70)


def test_a_glibc_without_elision_is_noticed():
    assert Comparison(results()).elides()
    assert not Comparison(results(transactions=(0, 0, 0))).elides()


def test_ratios_are_paired():
    """Both twice as fast on the second machine: no change of the ratio."""
    assert Comparison(results()).ratio("map", 8, "htm-10", GLIBC_ELISION) == Range(2, 2, 2)


def test_behind_is_behind_on_every_variation():
    assert Comparison(results()).behind("map", 8) == [], "0.5x and 2x of oneTBB"
    assert Comparison(results({TBB: (8, 8.1)})).behind("map", 8) == [TBB]
    assert Comparison(results({TBB: (8, 8)})).behind("map", 8) == [], "level on one"
    assert Comparison(results({GLIBC: (9, 9), CK: (9, 9)})).behind("map", 8) == [GLIBC, CK]


def test_a_starved_run_has_no_throughput():
    found = results({TBB: (8, 0)})
    comparison = Comparison(found)
    assert comparison.ratio("map", 8, "htm-10", TBB).high == float("inf")
    assert comparison.ratio("map", 8, TBB, GLIBC).low == 0
    assert comparison.starved() == {("map", 8, TBB): 1}
    assert "oneTBB in 1 of 2 (map, 8 threads)" in compared.starvation(comparison)
    assert compared.starvation(Comparison(results())) == ""
    assert compared.multiple(0, 0) == 1


def test_best_is_of_our_designs_alone():
    assert Comparison(results({TBB: (90, 90)})).best("map", 8) == "tatas"


def test_sentence():
    contended = (100, 80, 20)
    assert compared.verdict(Comparison(results())) == "No cell is contended."
    assert compared.verdict(Comparison(results(transactions=contended))) == (
        "In none of the 1 contended cells the median of another lock is above the highest throughput of "
        "htm-10. In no contended cells another lock is faster on every variation.")
    assert compared.verdict(Comparison(results({CK: (9, 9)}, contended))) == (
        "In 1 of the 1 contended cells the median of another lock is above the highest throughput of "
        "htm-10 (map at 8 threads: CK). In 1 contended cells another lock is faster on every variation (map at 8 "
        "threads: CK); by at most 33 % (median).")


def page_of(found, **how):
    return compared.document(Setting("abc of 2020-01-01", {"glibc": "2.36"}, 0.003, **{"whole": True, **how}),
                             Comparison(found))


def test_rows():
    text = page_of(results(transactions=(100, 80, 20)))
    assert ("| 8 * | 1.5 | 2.00 [2.00 - 2.00] | 5.00 [2.00 - 8.00] | 2.75 [2.50 - 3.00] | 4.00 [4.00 - 4.00] | "
                  "tatas 4.50 [4.00 - 5.00] |") in text
    assert "| map, 8 | 20 % | 20 % | 4.00 [4.00 - 4.00] |" in text
    assert "| 8 * |" not in page_of(results())


def test_a_library_that_is_missing_has_no_column():
    found = {cell: result for cell, result in results().items() if cell.contender != TBB}
    assert "| oneTBB |" not in page_of(found)


def test_says_what_it_is_made_of():
    text = page_of(results(), whole=False)
    for part in ("from a part of its cells", "abc of 2020-01-01", "| glibc | 2.36 |", "3 ms of virtual time",
                 "| variations of it | 2 |"):
        assert part in text
    assert "from a part" not in page_of(results())
    assert "has no lock elision" in page_of(results(transactions=(0, 0, 0)))
