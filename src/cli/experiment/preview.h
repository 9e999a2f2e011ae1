// SPDX-License-Identifier: Apache-2.0
// What a program does before it has a second thread, seen in a run in fast mode. Comparisons leave it out.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/experiment/observer.h"
#include "cli/experiment/runner.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// The number of instructions before the second thread, of the process that executes most of those with
/// several threads. Nothing: none has several. `processes`: the statistics of a whole run.
std::optional<std::uint64_t> instructions_alone(const std::vector<nlohmann::json>& processes);

/// The least of these numbers over the plan's numbers of threads. Nothing if with some of them the program
/// never starts a second thread, fails, or needs more than `timeout_seconds`.
std::optional<std::uint64_t> least_alone(const Plan& plan, Runner& runner, Observer& observer,
                                         double timeout_seconds);

}  // namespace elision::cli::experiment
