# SPDX-License-Identifier: Apache-2.0
"""Ratios of runs in pairs: robust means and their intervals. Pure."""

import math
import random

RESAMPLES = 2000


def middle(values):
    """The mean without the lowest and the highest fifth."""
    cut = len(values) // 5
    kept = sorted(values)[cut:len(values) - cut]
    return sum(kept) / len(kept)


def interval(values):
    """(low, high) of middle(), of 95 %, by a bootstrap."""
    chance = random.Random(1)
    means = sorted(middle(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[RESAMPLES * 25 // 1000], means[RESAMPLES * 975 // 1000 - 1]


def percent(logarithm):
    """The change that a logarithm of a ratio means."""
    return f"{100 * math.expm1(logarithm):+.2f} %"


def more(logarithms):
    """"+1.00 % [+0.50 % - +1.50 %]": the middle of logarithms of ratios, and its interval."""
    low, high = map(percent, interval(logarithms))
    return f"{percent(middle(logarithms))} [{low} - {high}]"
