# SPDX-License-Identifier: Apache-2.0
"""Which of a machine's uncertain values an outcome depends on, by the rule of `elision compare --vary`
(src/cli/judge/sensitivity.cc)."""

import math
import statistics

SMALLEST_CORRELATION = 0.5
CHANCE = 0.05          # after Bonferroni's correction for the number of values
FEWEST_OUTCOMES = 8    # too few for thirty uncertain values
MOST_NAMED = 3


def ranks(values):
    """Ties share their ranks' mean."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def rank_correlation(x, y):
    """Spearman's; 0 if one of the lists never varies."""
    if len(set(x)) == 1 or len(set(y)) == 1:
        return 0.0
    return statistics.correlation(ranks(x), ranks(y))


def chance_of(correlation, count):
    """The probability that independent rankings correlate at least so strongly: Fisher's transformation, with variance
    1.06 / (count - 3) for ranks (Fieller, Hartley and Pearson, Biometrika 44, 1957)."""
    size = abs(correlation)
    return math.erfc(math.atanh(size) * math.sqrt((count - 3) / 2.12)) if size < 1 else 0.0


def levels(values):
    """For ranking: numbers as they are; of words and truth values the first, which is the best guess, is 0."""
    if not isinstance(values[0], (str, bool)):
        return values
    order = [values[0], *sorted(set(values) - {values[0]})]
    return [order.index(value) for value in values]


def sensitivities(drawn, outcomes):
    """[(field, correlation)] of the values with a clear rank correlation with the outcomes, strongest first. `drawn`: what
    each variation drew, {field: value}, the best guesses first."""
    if len(outcomes) < FEWEST_OUTCOMES:
        return []
    found = [(field, rank_correlation(levels([values[field] for values in drawn]), outcomes)) for field in drawn[0]]
    clear = [(field, correlation) for field, correlation in found if abs(correlation) >= SMALLEST_CORRELATION
             and chance_of(correlation, len(outcomes)) * len(found) <= CHANCE]
    return sorted(clear, key=lambda one: -abs(one[1]))[:MOST_NAMED]
