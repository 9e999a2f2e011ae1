#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No sequence depends on a flag that is undefined, and each depends on those that are not.

    undefined.py ELISION DIFFERENTIAL [--count N]

Behind every instruction that writes flags some of those that are undefined get another value, as on a CPU of another kind:
natively and in the virtual machine everything must come out as if they had not. Then defined flags do, one after the other: the
comparison must notice each in many sequences, or a mask covers too much.
"""

import argparse
import sys

import compare

FLAGS = {"CF": 0x1, "PF": 0x4, "AF": 0x10, "ZF": 0x40, "SF": 0x80, "OF": 0x800}
# Of all sequences: AF, which has few readers and is most often undefined, is noticed least.
LEAST_NOTICED = 0.05


def outcomes(words):
    status, lines, errors = compare.run(words)
    if status != 0 or not lines:
        sys.exit(f"{' '.join(map(str, words))}: status {status}\n{errors}")
    return lines


def differing(one, other):
    return sum(a != b for a, b in zip(one, other)) + abs(len(one) - len(other))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elision")
    parser.add_argument("differential")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    native = [options.differential, "--seed", str(options.seed), "--count", str(options.count), "--flip"]
    virtual = [options.elision, "vm", "--crash-reports", "none", "--", *native]
    as_is = outcomes([*native, "nothing"])
    good = True
    for words in ([*native, "undefined"], [*virtual, "nothing"], [*virtual, "undefined"]):
        wrong = differing(as_is, outcomes(words))
        if wrong:
            good = False
            print(f"{wrong} of {options.count} sequences come out otherwise: {' '.join(words)}")
    for name, flag in FLAGS.items():
        noticed = differing(as_is, outcomes([*native, "defined", "--flags", str(flag)]))
        print(f"{name} flipped where it is defined: noticed in {noticed} of {options.count} sequences")
        good &= noticed >= LEAST_NOTICED * options.count
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
