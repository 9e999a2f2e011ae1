// SPDX-License-Identifier: Apache-2.0
// How much a program does before it has a second thread, and afterwards, seen in a run in fast mode.
// Comparisons leave out the first, and sample the second if asked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/experiment/observer.h"
#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"
#include "cli/options/region_options.h"

namespace elision::cli::experiment {

/// Instructions of a run in fast mode.
struct Preview {
  std::uint64_t alone = 0;  // before the second thread
  std::uint64_t all = 0;
  double host_seconds = 0;  // of the run

  friend bool operator==(const Preview&, const Preview&) = default;
};

/// That of the process that executes most of those with several threads. Nothing: none has several.
/// `processes`: the statistics of a whole run.
std::optional<Preview> preview_of(const std::vector<nlohmann::json>& processes);

/// One for each of the plan's numbers of threads. Empty if with some of them the program never starts a
/// second thread, fails, or needs more than `timeout_seconds`.
std::vector<Preview> previews(const Plan& plan, Runner& runner, Observer& observer, double timeout_seconds);

/// In front of the part that is timed, so many instructions fill the caches and the predictors.
inline constexpr std::uint64_t kWarmUpInstructions = 20'000'000;

/// `count` parts of `length_ns` nanoseconds each: in the middle of the first, second and so on of `count`
/// equal shares of the instructions with several threads. The process ends with its part.
std::vector<vm::RunRegion> windows_in(const Preview& preview, unsigned count, std::uint64_t length_ns);

}  // namespace elision::cli::experiment
