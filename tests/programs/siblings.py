#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hardware threads of a core share what it can issue in a cycle, and two cores do not.

    siblings.py BUILD

On a machine with two threads a core, whose CPUs 0 and 8 are siblings.
"""

import sys

from whole_programs import Elision

SHARE = 60  # per cent of the issue width that a thread has beside its sibling


def ticks(build, first, second, kind, *options):
    elision = Elision(build)
    machine = f"core-i7-5960x,core.sibling_issue_percent={SHARE}"
    return int(elision.printed([elision.build / "tests" / "siblings", first, second, kind], ["--machine", machine, *options]))


def expect(what, measured, expected, tolerance):
    good = abs(measured - expected) <= tolerance
    print(f"{'ok' if good else 'FAILED'}: {what}: {measured:.3f} times, expected {expected:.3f} within {tolerance}")
    return good


def main():
    build = sys.argv[1]
    apart = {kind: ticks(build, 0, 1, kind) for kind in ("wide", "chain", "short")}
    good = [expect("independent additions beside the sibling", ticks(build, 0, 8, "wide") / apart["wide"], 100 / SHARE, 0.03),
            expect("a chain of multiplications", ticks(build, 0, 8, "chain") / apart["chain"], 1, 0.02),
            expect("when the sibling has gone", ticks(build, 0, 8, "short") / apart["short"], 1, 0.02),
            expect("the other way round", ticks(build, 8, 0, "wide") / apart["wide"], 100 / SHARE, 0.03)]
    slow = ticks(build, 0, 8, "wide", "--no-fast-path") == ticks(build, 0, 8, "wide")
    print(f"{'ok' if slow else 'FAILED'}: the fast path changes nothing")
    sys.exit(0 if all(good) and slow else 1)


if __name__ == "__main__":
    main()
