// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/variation_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <set>

#include "cli/experiment/metric.h"
#include "cli/experiment/process_statistics.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;
using Unit = VariedQuantity::Unit;

/// A run that ended by itself, with its statistics added up.
struct Ended {
  const Sample& sample;
  json totals;

  double count(const char* name) const { return totals.value(name, 0.0); }
  double aborts(const std::string& cause) const {
    return totals.contains("aborts") ? totals["aborts"].value(cause, 0.0) : 0.0;
  }
};

std::vector<Ended> ended_runs(const std::vector<Result>& results) {
  std::vector<Ended> runs;
  for (const Result& result : results) {
    if (result.sample.outcome == Outcome::kEnded)
      runs.push_back({result.sample, total_statistics(result.sample.processes)});
  }
  return runs;
}

Range range_over(const std::vector<Ended>& runs, const std::function<double(const Ended&)>& quantity) {
  std::vector<double> values;
  for (const Ended& run : runs) values.push_back(quantity(run));
  return range_of(values);
}

std::set<std::string> causes_of(const std::vector<Ended>& runs) {
  std::set<std::string> causes;
  for (const Ended& run : runs) {
    if (!run.totals.contains("aborts")) continue;
    for (const auto& [cause, count] : run.totals["aborts"].items()) {
      if (count != 0) causes.insert(cause);
    }
  }
  return causes;
}

// Variations whose run differs from variation 0's by `differs`.
std::vector<std::uint32_t> differing(const std::vector<Result>& results,
                                     const std::function<bool(const Sample&, const Sample&)>& differs) {
  std::vector<std::uint32_t> numbers;
  for (const Result& result : results) {
    if (differs(results.front().sample, result.sample)) numbers.push_back(result.cell.variation);
  }
  return numbers;
}

// "2 of 16 (3, 9)", with only the first few numbers of many.
std::string counted(const std::vector<std::uint32_t>& numbers, std::size_t all) {
  constexpr std::size_t kMostNamed = 3;
  const bool more = numbers.size() > kMostNamed;
  const std::vector<std::uint32_t> named(numbers.begin(),
                                         more ? numbers.begin() + kMostNamed : numbers.end());
  return fmt::format("{} of {} ({}{})", numbers.size(), all, fmt::join(named, ", "), more ? ", ..." : "");
}

}  // namespace

std::vector<VariedQuantity> varied_quantities(const Plan& plan, const std::vector<Result>& results) {
  const std::vector<Ended> runs = ended_runs(results);
  std::vector<VariedQuantity> quantities;
  if (runs.empty()) return quantities;
  const auto add = [&](std::string label, std::string name, Unit unit,
                       const std::function<double(const Ended&)>& quantity) {
    quantities.push_back({std::move(label), std::move(name), unit, range_over(runs, quantity)});
  };
  add("virtual time", "seconds", Unit::kSeconds, [](const Ended& run) { return run.sample.seconds; });
  add("CPU time", "cpu_seconds", Unit::kSeconds, [](const Ended& run) { return run.sample.cpu_seconds; });
  // Modes of transactional memory have counters of their own, and GCC's libitm none.
  const bool of_library = runs.front().sample.locks.tm.has_value();
  if (plan.compares_locks() || of_library) {
    add("commits", "commits", Unit::kCount, [of_library](const Ended& run) {
      return of_library ? static_cast<double>(run.sample.locks.commits) : run.count("commits");
    });
  }
  for (const std::string& cause : causes_of(runs)) {
    add("aborts: " + cause, "aborts." + cause, Unit::kCount,
        [&cause](const Ended& run) { return run.aborts(cause); });
  }
  if (!plan.designs.front().empty() && (plan.compares_locks() || of_library)) {
    add("fallbacks", "fallbacks", Unit::kCount,
        [](const Ended& run) { return static_cast<double>(run.sample.locks.fallbacks); });
  }
  if (plan.uses_metric()) {
    const Metric metric(plan.metric);
    add("result", "metric", Unit::kCount,
        [&metric](const Ended& run) { return metric.read(run.sample).value_or(0); });
  }
  return quantities;
}

std::string varied_behaviour(const Plan& plan, const std::vector<Result>& results) {
  const auto ending = differing(results, [](const Sample& one, const Sample& other) {
    return one.outcome != other.outcome || one.status != other.status;
  });
  const auto printing = differing(results, [&plan](const Sample& one, const Sample& other) {
    if (!plan.uses_metric()) return one.output != other.output;
    const Metric metric(plan.metric);
    return metric.without(one.output) != metric.without(other.output);
  });
  std::vector<std::string> parts;
  if (!ending.empty())
    parts.push_back(fmt::format("the program ends otherwise in {}", counted(ending, results.size())));
  if (!printing.empty())
    parts.push_back(fmt::format("its output is another in {}", counted(printing, results.size())));
  if (parts.empty()) return "";
  return fmt::format("Not the same as in variation 0: {}.", fmt::join(parts, "; "));
}

}  // namespace elision::cli::experiment
