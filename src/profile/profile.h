// SPDX-License-Identifier: Apache-2.0
// Where the threads of a program spent their time, by what they did at their locks: the data that collectors
// fill (account.h, sampler of the command line) and that analysis.h judges. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace elision::profile {

/// Each moment of a thread's life is in one of these.
enum class State : std::uint8_t {
  kOutside,      // at no lock
  kSection,      // holds a lock
  kAttempt,      // in a transaction that committed
  kAborted,      // in a transaction that aborted
  kFallback,     // holds a lock because elision was given up
  kWaiting,      // for a lock
  kSpeculating,  // waits for a lock in an always-abort transaction
  kOverhead,     // in the lock's own code between attempts
  kBlocked,      // sleeps outside of locks: for a condition, a barrier, a thread, the kernel
};
inline constexpr std::size_t kStates = 9;
inline constexpr const char* kStateNames[kStates] = {
    "outside", "section", "attempt", "aborted", "fallback", "waiting", "speculating", "overhead", "blocked"};

using StateTimes = std::array<double, kStates>;  // nanoseconds
inline double& time_in(StateTimes& times, State state) { return times[static_cast<std::size_t>(state)]; }
inline double time_in(const StateTimes& times, State state) { return times[static_cast<std::size_t>(state)]; }

/// A place in the program's code or data, as far as it could be named.
struct Place {
  std::uint64_t address = 0;
  std::string name{};  // function or variable, with offset; empty: not known
  std::string file{};  // of the source; empty: not known
  std::uint32_t line = 0;
};

/// Two accesses to one cache line that ended an attempt.
struct Conflict {
  Place data{};    // the address that the victim had used or would have written; the line if neither is known
  Place victim{};  // the victim's instruction; address 0: not known
  Place other{};   // the instruction that ended the attempt
  std::uint64_t count = 0;
  std::uint64_t apart = 0;  // of these: the data are different
  bool at_lock = false;     // the data are in the lock's cache line, of which the victim used the lock first
};

/// One lock at all its call sites.
struct Lock {
  std::size_t objects = 1;  // more: as many locks without a name of their own, taken at one place
  Place place{};
  Place site{};                  // the call site with most time; once named, the first outside of wrappers
  std::vector<Place> callers{};  // calls that led there, innermost first; empty: not known
  std::vector<Place> other_sites{};  // on a real CPU
  double acquisitions = 0;           // for real or by a commit
  double contended = 0;              // of these: after a wait
  double waits_ns = 0, longest_wait_ns = 0;
  double holds_ns = 0;  // in sections, in fallback and in attempts that committed
  double aborted_ns = 0;
  double attempts = 0, commits = 0, fallbacks = 0;
  double system_calls = 0;                 // made inside its sections
  std::map<std::string, double> aborts{};  // of its attempts, by cause (abi/counters.h)
  double conflicts_seen = 0;               // whose accesses are known
  double conflicts_apart = 0;              // of them: on different data
  double conflicts_apart_at_lock = 0;      // of these: Conflict::at_lock
  std::vector<Conflict> conflicts{};       // the most frequent ones, most first
};

struct Profile {
  bool exact = false;         // else from samples
  std::uint64_t samples = 0;  // of threads, if not exact
  bool acquisitions_estimated = false;
  double wall_ns = 0;              // of the run
  double parallel_ns = 0;          // of it: with two or more threads
  std::uint32_t most_threads = 0;  // alive at a time
  std::uint32_t cpus = 0;          // that the program could use
  double interrupted = 0;          // of all transactions: aborted by interrupts. Only if exact
  double faulted = 0;              // the same of faults, first touches of memory nearly all
  StateTimes times{};              // in the parallel part, sum over threads
  std::vector<Lock> locks{};       // most waiting first

  double thread_ns() const {
    double sum = 0;
    for (const double time : times) sum += time;
    return sum;
  }
};

}  // namespace elision::profile
