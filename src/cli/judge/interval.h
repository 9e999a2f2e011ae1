// SPDX-License-Identifier: Apache-2.0
// How sure a ratio of two designs is. Pure, and the same for the same input.
//
// The runs of a comparison come in rounds: a round runs each design once, in an order that changes from round
// to round (execute.h). Each round gives one ratio of two designs. What slows a whole round down divides out.
// The runs are judged by these ratios alone: the logarithm of the ratio is averaged, and the interval says
// where this average would lie with any number of rounds, with a confidence of 95 %.
//
// That is for whole runs, which differ by what disturbs them. Windows of a run (sampling) differ since the
// program does: the time of a whole run is a sum of its parts', so the ratio of windows is one of sums, and
// nothing is trimmed. The error is that of the linear approximation (Cochran, Sampling Techniques, 1977,
// section 2.11). Few windows miss rare phases, and then the interval is too narrow.
//
// From 6 rounds on, the average is the 20 % trimmed mean, which a few disturbed rounds cannot move far. From
// 8 rounds on, the interval comes from a studentised bootstrap (Efron and Tibshirani, An Introduction to the
// Bootstrap, 1993, section 12.5; with trimmed means, Wilcox, Introduction to Robust Estimation and Hypothesis
// Testing, section 4.4). Fewer rounds have too few different resamples: bias-corrected and accelerated (BCa)
// intervals of 3 to 6 normal values cover the truth in 80 to 87 % of cases, and studentised intervals of
// trimmed means are more than twice as wide as needed. Student's t interval is used there; that of a trimmed
// mean is Yuen's (Biometrika 61, 1974). interval_test.cc measures the coverage of each.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace elision::cli::experiment {

inline constexpr double kConfidence = 0.95;
inline constexpr std::size_t kFewestForBootstrap = 8;

/// A ratio, and the interval in which it lies with the confidence above.
struct Interval {
  double ratio = 1;
  double low = 1;
  double high = 1;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Two decimals; more below 0.1, so that it has two digits that say something: "1.50", "0.034".
std::string ratio_text(double ratio);

/// The interval of the average of `ratios`, all of them above zero. Nothing for fewer than two.
std::optional<Interval> interval_of(const std::vector<double>& ratios);

/// The times of one window under two designs, for the same work: the ratio is that of the first to the
/// second.
struct TimesOfWindow {
  double first = 0;
  double second = 0;
};

/// The interval of the ratio of sums over `windows`, in which all times are above zero. Nothing for fewer
/// than two.
std::optional<Interval> interval_of_sums(const std::vector<TimesOfWindow>& windows);

}  // namespace elision::cli::experiment
