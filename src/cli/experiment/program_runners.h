// SPDX-License-Identifier: Apache-2.0
// The two runners that start programs: on the real CPU, and on the virtual machine. Both give the
// program the lock library and read its counters afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/experiment/child.h"
#include "cli/experiment/runner.h"
#include "cli/options/lock_options.h"

namespace elision::cli::experiment {

/// What both need to start the program. "{threads}" in the words is replaced by a cell's number.
struct Launch {
  std::string file;                // the program, found and checked
  std::vector<std::string> words;  // its name and arguments
  LockOptions lock;
  // For the virtual machine only:
  std::string machine;
  std::vector<std::string> vm_words;  // more options of `elision vm`
  bool keep_statistics = false;       // in the samples
};

/// `words` with every "{threads}" replaced.
std::vector<std::string> with_threads(const std::vector<std::string>& words,
                                      const std::optional<unsigned>& threads);

/// Runs on the real CPU, one at a time. `stop` must outlive the runner.
std::unique_ptr<Runner> native_runner(const Launch& launch, const StopFlag& stop);

/// Runs on the virtual machine, by `elision vm`, with the seed and the variation that a cell names, as many
/// at once as this process may use CPUs: virtual time does not depend on the host's. A cell without a design
/// leaves the program its own locks.
std::unique_ptr<Runner> virtual_runner(const Launch& launch, const StopFlag& stop);

}  // namespace elision::cli::experiment
