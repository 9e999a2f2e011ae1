// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/preview.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace elision::cli::experiment {
namespace {

/// What programs call at the end of a section. The lock library has these functions under every design.
constexpr const char* kReleases[] = {"libelision!pthread_mutex_unlock", "libelision!pthread_rwlock_unlock",
                                     "libelision!pthread_spin_unlock",  "libelision!mtx_unlock",
                                     "libelision!GOMP_critical_end",    "libelision!GOMP_critical_name_end",
                                     "libelision!GOMP_atomic_end",      "libelision!__kmpc_end_critical",
                                     "libelision!omp_unset_lock",       "libelision!omp_unset_nest_lock"};

}  // namespace

std::optional<Preview> preview_of(const std::vector<nlohmann::json>& processes) {
  std::optional<Preview> most;
  for (const nlohmann::json& process : processes) {
    std::vector<std::uint64_t> starts;
    for (const nlohmann::json& thread : process.at("threads"))
      starts.push_back(thread.at("started_instructions").get<std::uint64_t>());
    const auto instructions = process.at("instructions").get<std::uint64_t>();
    if (starts.size() < 2 || (most && instructions <= most->all)) continue;
    std::nth_element(starts.begin(), starts.begin() + 1, starts.end());
    most = {starts[1], instructions, 0};
  }
  return most;
}

Previews previews(const Plan& plan, Runner& runner, Observer& observer, double timeout_seconds) {
  Previews found;
  for (const std::optional<unsigned>& threads : plan.thread_counts) {
    Cell cell{threads, kReference, 0, plan.first_seed};
    cell.previews = true;
    observer.progress({0, plan.thread_counts.size(), true, std::nullopt, "a look in fast mode"});
    const Sample sample = runner.run(cell, timeout_seconds);
    if (runner.cancelled() || !sample.start_error.empty() || !plan.accepts(sample))
      return {.timed_out = sample.outcome == Outcome::kTimedOut};
    const auto preview = preview_of(sample.processes);
    if (!preview) return {};
    found.seen.push_back({preview->alone, preview->all, sample.host_seconds});
  }
  return found;
}

std::vector<unsigned> spread_order(unsigned count) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(std::max(count, 1U) - 1));
  std::vector<unsigned> order;
  for (unsigned i = 0; i < 1U << bits; ++i) {
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < bits; ++bit) reversed |= (i >> bit & 1U) << (bits - 1 - bit);
    if (reversed < count) order.push_back(reversed);
  }
  return order;
}

std::vector<vm::RunRegion> windows_in(const Preview& preview, unsigned count, std::uint64_t length_ns) {
  std::vector<vm::RunRegion> windows;
  const double share = static_cast<double>(preview.all - preview.alone) / count;
  for (const unsigned i : spread_order(count)) {
    const std::uint64_t begin = preview.alone + static_cast<std::uint64_t>((i + 0.5) * share) + 2;
    vm::RunRegion window;
    window.start = {vm::Trigger::Kind::kInstructions, begin};
    window.warm_from = {vm::Trigger::Kind::kInstructions,
                        begin > kWarmUpInstructions ? begin - kWarmUpInstructions : 1};
    window.length = length_ns;
    window.ends_process = true;
    window.counted.assign(std::begin(kReleases), std::end(kReleases));
    windows.push_back(window);
  }
  return windows;
}

}  // namespace elision::cli::experiment
