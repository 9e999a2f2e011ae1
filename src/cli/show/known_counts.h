// SPDX-License-Identifier: Apache-2.0
// Which counts of a design are known: one that does not elide has no commits, and glibc's lock
// counts nothing, nor does GCC's libitm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/experiment/sample.h"
#include "cli/options/designs.h"
#include "cli/options/tm_modes.h"

namespace elision::cli::experiment {

/// Nothing: not known, or the design has none. Without a lock that can be replaced nothing is known.
struct KnownCounts {
  std::optional<std::uint64_t> acquisitions, commits, fallbacks, speculations;
  std::optional<double> longest_wait_seconds;
  bool has_aborts = false;  // of attempts, or of speculations while waiting
};

inline KnownCounts known_counts(const std::string& design, const LockCounts& locks) {
  KnownCounts known;
  if (locks.tm) {
    known.acquisitions = locks.acquisitions;
    known.commits = locks.commits;
    known.fallbacks = locks.fallbacks;
    known.has_aborts = true;
    return known;
  }
  if (!locks.locks_seen || is_libitm(design)) return known;
  if (design != kPthread) {
    known.acquisitions = locks.acquisitions;
    known.longest_wait_seconds = locks.longest_wait_seconds;
  }
  if (elides(design)) {
    known.commits = locks.commits;
    known.fallbacks = locks.fallbacks;
  }
  if (speculates(design)) known.speculations = locks.speculations;
  known.has_aborts = elides(design) || speculates(design);
  return known;
}

}  // namespace elision::cli::experiment
