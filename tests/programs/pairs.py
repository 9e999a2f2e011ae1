# SPDX-License-Identifier: Apache-2.0
"""Combinations of settings in which each two values of different settings meet. Pure."""

import itertools


def pairs_of(row):
    return {((one, row[one]), (other, row[other])) for one, other in itertools.combinations(sorted(row), 2)}


def combine(settings):
    """Returns few rows ({setting: value}) that have each pair of values of two settings. `settings`: {name: values}. Greedy: a row begins with a
    pair that is missing, and each further setting takes the value that adds most pairs."""
    names = sorted(settings)
    missing = {((one, a), (other, b)) for one, other in itertools.combinations(names, 2) for a in settings[one] for b in settings[other]}
    order = sorted(missing, key=str)
    rows = []
    for pair in order:
        if pair not in missing:
            continue
        row = dict(pair)
        for name in sorted(set(names) - set(row), key=lambda name: -len(settings[name])):
            row[name] = max(settings[name], key=lambda value, name=name: len(pairs_of({**row, name: value}) & missing))
        rows.append(row)
        missing -= pairs_of(row)
    return rows
