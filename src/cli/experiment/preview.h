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

/// That of the process that executes most of those with several threads. Nothing: none has several.
/// `processes`: the statistics of a whole run, or of one that ended after `look_length` instructions.
std::optional<Preview> preview_of(const std::vector<nlohmann::json>& processes,
                                  std::uint64_t look_length = 0);

struct Previews {
  std::vector<Preview> seen{};  // one for each of the plan's numbers of threads, or empty
  bool timed_out = false;
};

/// Seconds of real time for a look.
struct LookLimits {
  double timeout = 0;  // a run that takes longer shows nothing
  /// A look at the part with several threads ends after about so many under the slowest design; 0: with the
  /// program.
  double enough = 0;
};

/// The first of the plan's designs that elides locks, if one is run: in fast mode, where transactions are
/// isolated too, it may take many times as long as the reference.
std::optional<std::string> eliding_design(const Plan& plan);

/// Without any if with some number of threads the program never starts a second thread, fails, or needs too
/// long.
Previews previews(const Plan& plan, Runner& runner, Observer& observer, const LookLimits& limits);

/// In front of the part that is timed, so many instructions fill the caches and the predictors.
inline constexpr std::uint64_t kWarmUpInstructions = 20'000'000;

/// The numbers below `count`, so that the first ones of them lie all over: by their bits, read backwards.
std::vector<unsigned> spread_order(unsigned count);

/// `count` parts of `length_ns` nanoseconds each: in the middle of each of `count` equal shares of the
/// instructions with several threads, in spread_order(). The process ends with its part.
std::vector<vm::RunRegion> windows_in(const Preview& preview, unsigned count, std::uint64_t length_ns);

}  // namespace elision::cli::experiment
