// SPDX-License-Identifier: Apache-2.0
#include "cli/show/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace elision::cli::experiment {
namespace {

// Significant digits, not decimals: 1.23, 12.3, 123.
std::string three_digits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string format_seconds(double seconds) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const auto& [unit, name] : kUnits) {
    if (seconds >= 0.9995 * unit) return three_digits(seconds / unit) + " " + name;
  }
  return "0 s";
}

std::string format_count(double count) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  if (count < 9999.5)
    return count == static_cast<double>(static_cast<long long>(count)) ? fmt::format("{:.0f}", count)
                                                                       : three_digits(count);
  for (const auto& [unit, name] : kUnits) {
    if (count >= 0.9995 * unit) return three_digits(count / unit) + name;
  }
  return three_digits(count);
}

std::string format_seconds(const Range& range) {
  return fmt::format("{} [{} - {}]", format_seconds(range.median), format_seconds(range.low),
                     format_seconds(range.high));
}

std::string format_count(const Range& range) {
  return fmt::format("{} [{} - {}]", format_count(range.median), format_count(range.low),
                     format_count(range.high));
}

std::string part_text(const Plan& plan, std::optional<unsigned> threads) {
  if (plan.samples()) {
    const auto& counts = plan.thread_counts;
    const auto number =
        static_cast<std::size_t>(std::find(counts.begin(), counts.end(), threads) - counts.begin());
    const Preview seen = number < plan.part.seen.size() ? plan.part.seen[number] : Preview();
    return fmt::format("windows of {}{}", format_seconds(1e-9 * static_cast<double>(plan.part.length_ns)),
                       seen.is_cut ? fmt::format(" in the first {} instructions",
                                                 format_count(static_cast<double>(seen.all)))
                                   : "");
  }
  if (plan.starts_at_second_thread()) return "from the second thread on";
  return plan.launch.vm_words.empty() ? "" : fmt::format("part: {}", fmt::join(plan.launch.vm_words, " "));
}

}  // namespace elision::cli::experiment
