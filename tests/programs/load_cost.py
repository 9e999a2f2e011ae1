#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What loading the preload library adds to a program: less than a millisecond, in virtual time, which does not depend on the host.

    load_cost.py BUILD

A program that ends at once, and one with many libraries, among which the library looks for the C library's functions; under each
kind of design, and told to write its counters. tools/bench-locks has the native figure.
"""

import sys
import tempfile

from whole_programs import Elision

MOST_NS = 1_000_000
PROGRAMS = (["/bin/true"], [sys.executable, "-S", "-c", "pass"])
DESIGNS = ("pthread", "tatas", "htm-10", "ticket-aahtm")


def virtual_ns(elision, words, options=(), **environment):
    ending, totals = elision.totals(words, options, environment=environment)
    if ending.status != 0:
        raise AssertionError(f"{words} {options}: {ending}")
    return totals["virtual_ns"]


def main():
    elision = Elision(sys.argv[1])
    failures = 0
    for words in PROGRAMS:
        without = virtual_ns(elision, words)
        with tempfile.TemporaryDirectory() as folder:
            runs = {design: virtual_ns(elision, words, ("--lock", design)) for design in DESIGNS}
            runs["tatas with counters"] = virtual_ns(elision, words, ("--lock", "tatas"), ELISION_COUNTERS_DIR=folder)
        for what, taken in runs.items():
            added = taken - without
            print(f"{words[0]}: {without} ns, {what} adds {added} ns")
            # Nothing at all would mean that the library was not there.
            failures += not 0 < added < MOST_NS
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
