// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/preview.h"

#include <algorithm>

namespace elision::cli::experiment {
std::optional<std::uint64_t> instructions_alone(const std::vector<nlohmann::json>& processes) {
  std::optional<std::uint64_t> alone;
  double most = -1;
  for (const nlohmann::json& process : processes) {
    std::vector<std::uint64_t> starts;
    for (const nlohmann::json& thread : process.at("threads"))
      starts.push_back(thread.at("started_instructions").get<std::uint64_t>());
    const auto instructions = process.at("instructions").get<double>();
    if (starts.size() < 2 || instructions <= most) continue;
    most = instructions;
    std::nth_element(starts.begin(), starts.begin() + 1, starts.end());
    alone = starts[1];
  }
  return alone;
}

std::optional<std::uint64_t> least_alone(const Plan& plan, Runner& runner, Observer& observer,
                                         double timeout_seconds) {
  std::optional<std::uint64_t> least;
  for (const std::optional<unsigned>& threads : plan.thread_counts) {
    Cell cell{threads, kReference, 0, plan.first_seed};
    cell.previews = true;
    observer.progress({0, plan.thread_counts.size(), true, std::nullopt, "a look in fast mode"});
    const Sample sample = runner.run(cell, timeout_seconds);
    if (runner.cancelled() || !sample.start_error.empty() || !plan.accepts(sample)) return std::nullopt;
    const auto alone = instructions_alone(sample.processes);
    if (!alone) return std::nullopt;
    least = std::min(least.value_or(*alone), *alone);
  }
  return least;
}

}  // namespace elision::cli::experiment
