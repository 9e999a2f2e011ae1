// SPDX-License-Identifier: Apache-2.0
// Why a design is fast or slow: where the time of its threads went, which locks they waited for, and what to
// do about it. Plain data, for the members "why" and "next_steps" of the JSON report; "diagnosis" is
// profile::Diagnosis. show/ writes them as text and as JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profile/analysis.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

/// Shares of thread time, by profile::State. Their sum is 1.
using TimeShares = std::array<double, profile::kStates>;

/// A place in the program's source.
struct SourcePlace {
  std::string name;  // function, variable or address
  std::string file;  // empty: not known
  unsigned line = 0;

  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

/// Accesses of two threads to one cache line that aborted a transaction.
struct LockConflict {
  std::uint64_t address = 0;
  std::string name;  // of the variable there; empty: not known
  double count = 0;
  double apart = 0;                  // of these: the two accesses had no byte in common
  std::array<SourcePlace, 2> sites;  // on both sides

  bool is_false_sharing() const { return profile::is_false_sharing(apart, count); }
};

/// How a lock got its name.
enum class LockNaming { kSymbol, kCalledFrom, kAddress };

struct LockReport {
  SourcePlace place;
  std::uint64_t address = 0;
  LockNaming naming = LockNaming::kAddress;
  double acquisitions = 0;
  bool acquisitions_estimated = false;  // from samples
  double contended_share = 0;
  double wait_seconds = 0;  // of all threads
  double mean_wait_seconds = 0;
  double longest_wait_seconds = 0;
  double hold_seconds = 0;
  double mean_hold_seconds = 0;
  std::map<std::string, std::uint64_t> aborts;  // by cause
  std::vector<LockConflict> conflicts;          // the most frequent first, at most five
};

/// Of one design, with one number of threads.
struct Why {
  std::optional<std::uint64_t> samples;  // nothing: exact
  double parallel_share = 0;             // of the run's time: two or more threads were alive
  TimeShares time{};
  std::size_t lock_count = 0;     // with those that the list leaves out
  std::vector<LockReport> locks;  // the one with most waiting first, at most ten
};

struct NextStep {
  std::string sentence;
  std::string command;  // to type; empty: none
};

}  // namespace elision::cli::experiment
