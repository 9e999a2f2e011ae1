# SPDX-License-Identifier: Apache-2.0
"""What loading the preload library adds to a program: less than a millisecond, in virtual time, which does not depend on the host.

A program that ends at once, and one with many libraries, among which the library looks for the C library's functions; under each
kind of design, and told to write its counters. tools/bench-locks has the native figure.
"""

import sys

import pytest

MOST_NS = 1_000_000


def virtual_ns(elision, words, options=(), **environment):
    ending, totals = elision.totals(words, options, environment=environment)
    assert ending.status == 0
    return totals["virtual_ns"]


@pytest.fixture(scope="module", params=[["/bin/true"], [sys.executable, "-S", "-c", "pass"]], ids=["true", "python"])
def program(request, elision):
    """The words of a program, and its time without the library."""
    return request.param, virtual_ns(elision, request.param)


@pytest.mark.parametrize("lock, variable", [("pthread", None), ("tatas", None), ("tatas", "ELISION_COUNTERS_DIR"), ("htm-10", None),
                                            ("ticket-aahtm", None)])
def test_added_time(elision, folder, program, lock, variable):
    words, without = program
    added = virtual_ns(elision, words, ["--lock", lock], **({variable: str(folder)} if variable else {})) - without
    # Nothing at all would mean that the library was not there.
    assert 0 < added < MOST_NS
