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

/// What a look shows of the process that executes most of those with several threads. Nothing: none has.
/// `processes`: their statistics.
std::optional<Preview> preview_of(const std::vector<nlohmann::json>& processes);

struct Previews {
  std::vector<Preview> seen{};  // one for each of the plan's numbers of threads, or none at all
  bool timed_out = false;       // a look took too long
  double host_seconds = 0;      // of all looks
};

/// In seconds of real time.
struct LookLimits {
  double all = 0;  // for all looks together
  /// Under each design, a window at the end of a look is reached in so many. 0: looks see all of the run.
  double enough = 0;
};

/// The first of the plan's designs that elides locks, if one is run: in fast mode, where transactions are
/// isolated too, it may take many times as long as the reference.
std::optional<std::string> eliding_design(const Plan& plan);

/// Looks at the program with each number of threads. There is no preview if with one of them the program
/// never starts a second thread, or fails.
Previews previews(const Plan& plan, Runner& runner, Observer& observer, const LookLimits& limits);

/// In front of the part that is timed, so many instructions fill the caches and the predictors.
inline constexpr std::uint64_t kWarmUpInstructions = 20'000'000;

/// The first windows that all designs get.
inline constexpr unsigned kFirstWindows = 5;

/// The numbers below `count`: first the middles of kFirstWindows equal shares, from the one in the middle on,
/// then always the one that is farthest from those before it.
std::vector<unsigned> spread_order(unsigned count);

/// `count` parts of `length_ns` nanoseconds each: in the middles of `places` equal shares of the instructions
/// with several threads, in spread_order(). The process ends with its part.
std::vector<vm::RunRegion> windows_in(const Preview& preview, unsigned count, unsigned places,
                                      std::uint64_t length_ns);

/// One run with all of these windows, in the order of their beginnings.
vm::RunRegion together(const std::vector<vm::RunRegion>& windows);

}  // namespace elision::cli::experiment
