// SPDX-License-Identifier: Apache-2.0
// The two runners that start programs: on the real CPU, and on the virtual machine. Both give the
// program the lock library and read its counters afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/experiment/child.h"
#include "cli/experiment/runner.h"

namespace elision::cli::experiment {

/// `words` with every "{threads}" replaced.
std::vector<std::string> with_threads(const std::vector<std::string>& words,
                                      const std::optional<unsigned>& threads);

/// The command that repeats the run of `cells`: `elision vm` or `elision run`, as the plan says. Several
/// cells are windows of one run.
std::vector<std::string> command_of(const Plan& plan, const std::vector<Cell>& cells);

/// The same with other options for the part that is simulated.
std::vector<std::string> command_with(const Plan& plan, const Cell& cell,
                                      const std::vector<std::string>& part);

/// Runs the plan's program on the real CPU, one run at a time. `plan` and `stop` must outlive the runner.
std::unique_ptr<Runner> native_runner(const Plan& plan, const StopFlag& stop);

/// Runs on the virtual machine by `elision vm`, with the cell's seed and variation. As many runs at once as
/// this process has CPUs, since virtual time does not depend on the host. In a cell without a design the
/// program keeps its locks.
std::unique_ptr<Runner> virtual_runner(const Plan& plan, const StopFlag& stop);

}  // namespace elision::cli::experiment
