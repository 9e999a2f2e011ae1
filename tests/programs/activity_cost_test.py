# SPDX-License-Identifier: Apache-2.0
"""Cost of recording thread activity (src/abi/thread_activity.h) for an uncontended lock and unlock: two stores and no branch more
than in a library that only counts the locks.

Counted by callgrind, on a CPU without transactions; for transactions, by the virtual machine, which counts instructions alone. The
difference of two numbers of pairs leaves out what a process does once.
"""

import re
import shutil

import pytest
from support import run

PAIRS = 5000
MOST_STORES, MOST_INSTRUCTIONS = 2, 30
SLACK = 0.05  # of a pair, for how the second thread starts
EVENTS = {"Ir": "instructions", "Dw": "stores", "Bc": "branches", "Bi": "branches"}


@pytest.fixture
def libraries(elision, build):
    """(with the record, without it)"""
    return build / "lib" / "libelision.so", elision.test_program("libelision-noactivity.so")


def counted(words, environment, folder):
    """What the process executes, by callgrind."""
    output = folder / "callgrind.out"
    options = ["--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", f"--callgrind-out-file={output}"]
    assert run(["valgrind", "-q", *options, *words], environment=environment).status == 0
    text = output.read_text()
    names = re.search(r"^events: (.*)$", text, re.M)[1].split()
    values = dict(zip(names, map(int, re.search(r"^totals: (.*)$", text, re.M)[1].split())))
    result = dict.fromkeys(EVENTS.values(), 0)
    for event, name in EVENTS.items():
        result[name] += values[event]
    return result


def per_pair(count):
    """The events of a pair. `count(pairs)`: those of a process with so many."""
    few, many = count(PAIRS), count(2 * PAIRS)
    return {name: (many[name] - few[name]) / PAIRS for name in few}


def check(noted, plain):
    more = {name: noted[name] - plain[name] for name in noted}
    print(f"a pair: {noted}; more than without the record: {more}")
    assert plain["instructions"] > 10 and 0 < more["instructions"] <= MOST_INSTRUCTIONS
    assert more.get("branches", 0) <= SLACK
    assert more.get("stores", 0) <= MOST_STORES + SLACK


@pytest.fixture
def pair_with(elision, folder):
    """What a pair executes with a library, without transactions."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")

    def count(library, lock):
        environment = {"LD_PRELOAD": str(library), "ELISION_LOCK": lock, "ELISION_HIDE_RTM": "1"}
        return per_pair(lambda pairs: counted([elision.test_program("lock_pairs"), pairs], environment, folder))
    return count


@pytest.mark.parametrize("lock", ["tatas", "ticket", "htm-10"])
def test_pair_without_transactions(libraries, pair_with, lock):
    check(*(pair_with(library, lock) for library in libraries))


def test_pair_of_glibc_is_not_noted(libraries, pair_with):
    """But with ELISION_ACTIVITY=1, in runs that only explain."""
    noted, plain = (pair_with(library, "pthread") for library in libraries)
    for name in noted:
        # Without the record the unlock needs no pointer to it, and tests it in memory: one instruction less.
        most = (1 if name == "instructions" else 0) + SLACK
        assert abs(noted[name] - plain[name]) <= most, name


def test_elided_pair(elision, libraries):
    def pair_with(library):
        def count(pairs):
            words = ["env", f"LD_PRELOAD={library}", "ELISION_LOCK=htm-10", elision.test_program("lock_pairs"), pairs]
            ending, totals = elision.totals(words)
            assert ending.status == 0
            assert totals["commits"] >= 0.9 * pairs
            return {"instructions": totals["instructions"]}
        return per_pair(count)

    check(*map(pair_with, libraries))
