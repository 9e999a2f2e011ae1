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

/// Accesses of two threads that aborted a transaction: to one cache line, or to one that the other
/// prefetched.
struct LockConflict {
  std::uint64_t address = 0;
  std::string name;        // of the variable there; empty: not known
  std::size_t places = 1;  // more: so many addresses in the variable, or in memory without a name
  profile::ConflictCounts counts{};
  std::array<SourcePlace, 2> sites;  // on both sides
};

/// How a lock got its name.
enum class LockNaming { kSymbol, kCalledFrom, kAddress };

struct LockReport {
  SourcePlace place;
  std::string title;  // by which sentences and findings call it
  std::uint64_t address = 0;
  LockNaming naming = LockNaming::kAddress;
  std::vector<SourcePlace> other_sites;   // calls that take it, beside that of `place`
  double sections = 0;                    // entered, by a lock or by a transaction
  bool sections_estimated = false;        // from samples
  std::optional<double> contended_share;  // of the sections: after a wait. Nothing: waits were not counted
  double wait_seconds = 0;                // of all threads until they had the lock
  std::optional<double> mean_wait_seconds, longest_wait_seconds;
  double hold_seconds = 0;
  double mean_hold_seconds = 0;
  std::optional<double> line_wait_seconds;  // of transactions, for contended cache lines. Nothing: not known
  double attempts = 0, commits = 0, fallbacks = 0;
  double lost_seconds = 0;                      // the sum of the next three
  double waiting_seconds = 0;                   // waiting or speculating
  double aborted_seconds = 0;                   // in attempts that aborted
  std::optional<double> overhead_seconds;       // in its own code. Nothing: not known by lock
  std::map<std::string, std::uint64_t> aborts;  // by cause
  std::vector<LockConflict> conflicts;          // the most frequent first, without rare ones
};

/// Of one design, with one number of threads.
struct Why {
  std::optional<std::uint64_t> samples;  // nothing: exact
  double parallel_share = 0;             // of the run's time: two or more threads were alive
  TimeShares time{};
  std::size_t lock_count = 0;     // with those that the list leaves out
  std::vector<LockReport> locks;  // the ten at which most time is lost, most first
};

struct NextStep {
  std::string sentence;
  std::string command;  // to type; empty: none
};

}  // namespace elision::cli::experiment
