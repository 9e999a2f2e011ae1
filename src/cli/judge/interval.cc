// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <cstdint>

namespace elision::cli::experiment {
namespace {

constexpr std::size_t kFewestToTrim = 6;
constexpr std::size_t kTrimmedPart = 5;    // one fifth at each end
constexpr std::size_t kResamples = 2000;   // the ends are the 50th values from below and above
constexpr std::uint32_t kSeed = 20130622;  // any number

/// A mean and its standard error.
struct Location {
  double mean = 0;
  double error = 0;
};

// The trimmed mean of sorted values and the error by Tukey and McLaughlin (Sankhya A 25, 1963): values that
// are trimmed away count as the nearest one that is not.
Location trimmed(const std::vector<double>& sorted, std::size_t cut) {
  const std::size_t count = sorted.size();
  const std::size_t kept = count - 2 * cut;
  const auto value = [&](std::size_t i) { return sorted[std::clamp(i, cut, count - 1 - cut)]; };
  double kept_sum = 0, sum = 0, squares = 0;
  for (std::size_t i = cut; i < cut + kept; ++i) kept_sum += sorted[i];
  for (std::size_t i = 0; i < count; ++i) sum += value(i);
  const auto n = static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) squares += std::pow(value(i) - sum / n, 2);
  const auto k = static_cast<double>(kept);
  return {kept_sum / k, std::sqrt(squares / (n - 1) * n) / k};
}

/// The logarithm of the ratio of sums, as the mean, and its error.
Location of_sums(const std::vector<TimesOfWindow>& windows) {
  double first = 0, second = 0, squares = 0;
  for (const TimesOfWindow& window : windows) first += window.first, second += window.second;
  const auto n = static_cast<double>(windows.size());
  for (const TimesOfWindow& window : windows)
    squares += std::pow(n * (window.first / first - window.second / second), 2);
  return {std::log(first / second), std::sqrt(squares / (n - 1) / n)};
}

/// Draws as many of the values as there are, with repetition, and returns them in their order.
template <class Value>
class Resampler {
 public:
  explicit Resampler(const std::vector<Value>& values)
      : values_(values), index_(0, values.size() - 1), times_(values.size()), drawn_(values.size()) {}

  const std::vector<Value>& draw() {
    std::fill(times_.begin(), times_.end(), 0);
    for (std::size_t i = 0; i < values_.size(); ++i) ++times_[index_(random_)];
    auto next = drawn_.begin();
    for (std::size_t i = 0; i < values_.size(); ++i) next = std::fill_n(next, times_[i], values_[i]);
    return drawn_;
  }

 private:
  const std::vector<Value>& values_;
  boost::random::mt19937 random_{kSeed};
  boost::random::uniform_int_distribution<std::size_t> index_;
  std::vector<std::size_t> times_;
  std::vector<Value> drawn_;
};

/// How many standard errors the mean of a sample lies above the truth: the ends that this rarely exceeds.
struct Deviations {
  double low = 0;
  double high = 0;
};

Deviations by_student(std::size_t kept) {
  const boost::math::students_t distribution(static_cast<double>(kept - 1));
  const double end = quantile(distribution, (1 + kConfidence) / 2);
  return {-end, end};
}

// A resample of equal values has no error to measure its distance with, and is drawn again.
template <class Value, class Statistic>
Deviations by_bootstrap(const std::vector<Value>& values, const Statistic& statistic, double mean) {
  Resampler<Value> resampler(values);
  std::vector<double> deviations;
  while (deviations.size() < kResamples) {
    const Location drawn = statistic(resampler.draw());
    if (drawn.error > 0) deviations.push_back((drawn.mean - mean) / drawn.error);
  }
  std::sort(deviations.begin(), deviations.end());
  const auto outside = static_cast<std::size_t>((1 - kConfidence) / 2 * kResamples);
  return {deviations[outside], deviations[kResamples - 1 - outside]};
}

/// The interval of `statistic` of `values`, of which it averages `kept`. `lowest` and `highest`: logarithms
/// between which every mean lies. Of values in two groups, some resamples lie in one of them, and their
/// errors are next to nothing.
template <class Value, class Statistic>
Interval interval_of_statistic(const std::vector<Value>& values, const Statistic& statistic, std::size_t kept,
                               double lowest, double highest) {
  const auto [mean, error] = statistic(values);
  if (!(error > 0)) return Interval{std::exp(mean), std::exp(mean), std::exp(mean)};
  if (values.size() < kFewestForBootstrap) {
    const Deviations ends = by_student(kept);
    return Interval{std::exp(mean), std::exp(mean - ends.high * error), std::exp(mean - ends.low * error)};
  }
  const Deviations ends = by_bootstrap(values, statistic, mean);
  const double low = std::max(mean - ends.high * error, lowest);
  const double high = std::min(mean - ends.low * error, highest);
  return Interval{std::exp(mean), std::exp(low), std::exp(high)};
}

}  // namespace

std::optional<Interval> interval_of(const std::vector<double>& ratios) {
  if (ratios.size() < 2) return std::nullopt;
  std::vector<double> logarithms;
  for (const double ratio : ratios) logarithms.push_back(std::log(ratio));
  std::sort(logarithms.begin(), logarithms.end());
  const std::size_t count = ratios.size();
  const std::size_t cut = count < kFewestToTrim ? 0 : count / kTrimmedPart;
  return interval_of_statistic(
      logarithms, [cut](const std::vector<double>& sorted) { return trimmed(sorted, cut); }, count - 2 * cut,
      logarithms.front(), logarithms.back());
}

std::optional<Interval> interval_of_sums(const std::vector<TimesOfWindow>& windows) {
  if (windows.size() < 2) return std::nullopt;
  const auto logarithm = [](const TimesOfWindow& window) { return std::log(window.first / window.second); };
  const auto [least, most] = std::minmax_element(
      windows.begin(), windows.end(),
      [&](const TimesOfWindow& a, const TimesOfWindow& b) { return logarithm(a) < logarithm(b); });
  return interval_of_statistic(windows, of_sums, windows.size(), logarithm(*least), logarithm(*most));
}

std::string ratio_text(double ratio) {
  constexpr double kRoundsUp = 1.005;  // 0.0996 has the digits of 0.10
  const int leading_digit = ratio > 0 ? static_cast<int>(std::floor(std::log10(ratio * kRoundsUp))) : 0;
  return fmt::format("{:.{}f}", ratio, std::max(2, 1 - leading_digit));
}

}  // namespace elision::cli::experiment
