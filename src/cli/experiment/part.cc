// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/part.h"

#include <algorithm>
#include <cmath>

#include "cli/options/region_options.h"

namespace elision::cli::experiment {
namespace {

/// Detailed simulation takes at least so many times as long as fast mode (docs/measured/performance.md), so
/// that a whole run need not be tried to know that it does not fit.
constexpr double kSlowerThanFast = 3;

/// The runs of one round.
double cells_a_round(const Plan& plan) {
  const auto runs = std::count_if(plan.designs.begin(), plan.designs.end(),
                                  [&](const std::string& design) { return !plan.not_run.contains(design); });
  return static_cast<double>(runs) * static_cast<double>(plan.thread_counts.size());
}

/// The reference with the most threads.
Sample try_run(const Plan& plan, unsigned run, double timeout_seconds, Runner& runner, Observer& observer) {
  const auto most = std::max_element(plan.thread_counts.begin(), plan.thread_counts.end(),
                                     [](auto a, auto b) { return a.value_or(0) < b.value_or(0); });
  observer.progress({0, 1, true, std::nullopt, "a run to know how long one takes"});
  return runner.run({*most, kReference, run, plan.first_seed}, timeout_seconds);
}

}  // namespace

void leave_out_what_is_alone(Plan& plan, const std::vector<Preview>& seen) {
  const std::uint64_t alone =
      std::min_element(seen.begin(), seen.end(), [](const Preview& a, const Preview& b) {
        return a.alone < b.alone;
      })->alone;
  vm::RunRegion part;
  part.start = {vm::Trigger::Kind::kThread, 2};
  part.warm_from = {vm::Trigger::Kind::kInstructions,
                    alone > kWarmUpInstructions ? alone - kWarmUpInstructions : 1};
  plan.launch.vm_words = as_words(part);
  plan.launch.from_second_thread = true;
}

void sample_windows(Plan& plan, const std::vector<Preview>& seen, unsigned count, std::uint64_t length_ns) {
  plan.windows = {.length_ns = length_ns};
  for (std::size_t i = 0; i < seen.size(); ++i)
    for (const vm::RunRegion& window : windows_in(seen[i], count, length_ns))
      plan.windows.options[plan.thread_counts[i]].push_back(as_words(window));
}

Fit fit_into_budget(Plan& plan, const std::vector<Preview>& seen, std::uint64_t length_ns, Runner& runner,
                    Observer& observer) {
  const double all = plan.budget_seconds * runner.workers();
  const double share = all / (cells_a_round(plan) * plan.default_rounds().first);
  const double fast = std::max_element(seen.begin(), seen.end(), [](const Preview& a, const Preview& b) {
                        return a.host_seconds < b.host_seconds;
                      })->host_seconds;
  if (kSlowerThanFast * fast <= share) {
    leave_out_what_is_alone(plan, seen);
    const Sample whole = try_run(plan, 0, share, runner, observer);
    if (whole.outcome != Outcome::kTimedOut) return {0, true, whole.host_seconds};
    plan.launch.vm_words.clear();
    plan.launch.from_second_thread = false;
  }
  constexpr double kAnyTime = 1e9;
  sample_windows(plan, seen, kFewestWindows, length_ns);
  const Sample window = try_run(plan, kFewestWindows / 2, kAnyTime, runner, observer);
  const double rounds = all / (cells_a_round(plan) * std::max(window.host_seconds, 1e-3));
  Fit fit{static_cast<unsigned>(std::clamp<double>(std::floor(rounds), kFewestWindows, kMostWindows)),
          rounds >= kFewestWindows, window.host_seconds};
  sample_windows(plan, seen, fit.windows, length_ns);
  return fit;
}

}  // namespace elision::cli::experiment
