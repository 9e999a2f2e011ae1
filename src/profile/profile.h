// SPDX-License-Identifier: Apache-2.0
// Where the threads of a program spent their time, by what they did at their locks: the data that collectors
// fill (account.h, sampler of the command line) and that analysis.h judges. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
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
/// The same in words: "B spends 41 % of its threads' time waiting for locks".
inline constexpr const char* kStateWords[kStates] = {"outside of locks",
                                                     "holding a lock",
                                                     "in transactions that committed",
                                                     "in transactions that aborted",
                                                     "in fallback",
                                                     "waiting for locks",
                                                     "speculating",
                                                     "in the locks' code",
                                                     "blocked"};

using StateTimes = std::array<double, kStates>;  // nanoseconds
inline double& time_in(StateTimes& times, State state) { return times[static_cast<std::size_t>(state)]; }
inline double time_in(const StateTimes& times, State state) { return times[static_cast<std::size_t>(state)]; }

inline double waiting_ns(const StateTimes& times) {
  return time_in(times, State::kWaiting) + time_in(times, State::kSpeculating);
}
/// What another design of the locks or of their sections may win back.
inline double lost_ns(const StateTimes& times) {
  return waiting_ns(times) + time_in(times, State::kAborted) + time_in(times, State::kOverhead);
}

/// A place in the program's code or data, as far as it could be named.
struct Place {
  std::uint64_t address = 0;
  std::string name{};  // function or variable, with offset; empty: not known
  std::string file{};  // of the source; empty: not known
  std::uint32_t line = 0;
  bool is_in_file = false;  // `name` is a place in a file without symbols
};

/// Whether a place stands for many that are not told apart.
inline bool is_many(const Place& place) { return place.address == 0 && place.name.empty(); }

/// What two accesses that ended an attempt have in common.
enum class Sharing : std::uint8_t {
  kUnknown,   // one of the accesses is not known
  kSameData,  // bytes
  kSameLine,  // the cache line, but no byte
  kPrefetch,  // not even the line: the other access prefetched it
};

/// Conflicts, and how many of them are of each kind of sharing. The rest are on the same data.
struct ConflictCounts {
  double count = 0;
  double apart = 0;       // Sharing::kSameLine
  double prefetched = 0;  // Sharing::kPrefetch
  double unknown = 0;     // Sharing::kUnknown

  double same() const { return count - apart - prefetched - unknown; }
  ConflictCounts& operator+=(const ConflictCounts& other) {
    count += other.count;
    apart += other.apart;
    prefetched += other.prefetched;
    unknown += other.unknown;
    return *this;
  }
};

/// Accesses of two threads that ended attempts.
struct Conflict {
  Place data{};    // the address that the victim had used or would have written; the line if neither is known
  Place victim{};  // the victim's instruction; address 0: not known
  Place other{};   // the instruction that ended the attempt; address 0: not known
  ConflictCounts counts{};
  bool at_lock = false;    // the data are in the lock's cache line, of which the victim used the lock first
  std::size_t places = 1;  // more: so many addresses in the variable that `data` names, or without a name
};

/// Time that transactions waited for a cache line.
struct LineWait {
  Place data{};  // the address of the first access that waited
  Place site{};  // its instruction
  double ns = 0;
};

/// One lock at all its call sites.
struct Lock {
  std::size_t objects = 1;  // more: as many locks without a name of their own, taken at one place
  Place place{};
  Place site{};                  // the call site with most time; once named, the first outside of wrappers
  std::vector<Place> callers{};  // calls that led there, innermost first; empty: not known
  std::vector<Place> other_sites{};  // call sites with less time
  double acquisitions = 0;           // for real or by a commit
  double contended = 0;              // of these: after a wait
  StateTimes times{};                // of threads at this lock; those of all locks are part of Profile::times
  double waits_ns = 0;               // until acquisitions. Exact: with attempts that aborted meanwhile
  double longest_wait_ns = 0;
  double holds_ns = 0;  // in sections, in fallback and in attempts that committed
  double aborted_ns = 0;
  double attempts = 0, commits = 0, fallbacks = 0;
  double system_calls = 0;                 // made inside its sections
  std::map<std::string, double> aborts{};  // of its attempts, by cause (abi/counters.h)
  ConflictCounts conflicts_seen{};         // on what sections access
  double conflicts_apart_at_lock = 0;      // of those apart: Conflict::at_lock
  std::vector<Conflict> conflicts{};       // the most frequent ones, most first
  double most_waits_ns = 0;                // of `waits_ns`: for one object
  double waits_inside_ns = 0;  // while threads held it: waits for the lock `inside`, and no other so long
  std::uint64_t inside = 0;    // the address of that lock
  double line_waits_ns = 0;    // of attempts that committed: for lines on their way between other CPUs
  std::vector<LineWait> line_waits{};  // the longest ones, longest first
};

inline double lost_ns(const Lock& lock) { return lost_ns(lock.times); }

/// An order of locks: most lost time first.
inline bool loses_more(const Lock& a, const Lock& b) {
  const double lost_a = lost_ns(a), lost_b = lost_ns(b);
  return lost_a != lost_b ? lost_a > lost_b : a.holds_ns > b.holds_ns;
}

/// A thread of the program.
struct Thread {
  std::uint32_t id = 0;
  std::string name{};              // empty: not known
  double commits = 0, aborts = 0;  // of its attempts
};

/// Time that a thread spent in one state, at one lock, with one stack of calls.
struct Path {
  static constexpr std::uint32_t kNoLock = ~std::uint32_t{0};

  State state = State::kOutside;
  std::uint32_t lock = kNoLock;         // index in Profile::locks
  std::uint32_t thread = 0;             // index in Profile::threads
  std::vector<std::uint32_t> frames{};  // indices in Profile::frames, the outermost function first
  double ns = 0;
  double samples = 0;  // from which `ns` is known
};

/// Aborts at one instruction, for one cause, of transactions that the same calls led to.
struct AbortRow {
  Place place{};                 // the instruction that aborted, or was next; address 0: many
  std::string cause{};           // abort_account.h
  std::vector<Place> callers{};  // of the lock operation, or the place where the transaction began, and its
                                 // callers, innermost first; empty: not known
  std::vector<Place> inside{};   // calls in the transaction that led to `place`, innermost first, as far as
                                 // the CPU's branch records reach
  double samples = 0;
  double aborts = 0;  // that they stand for
  double cycles = 0;  // that these had taken
};

/// What the CPU's performance events tell about aborts.
struct AbortEvents {
  std::string missing{};           // why they tell nothing: a clause. Empty: they tell what follows
  bool counted = false;            // aborts and commits were counted; else they are what samples stand for
  double aborts = 0, commits = 0;  // of the program and of what it started
  double period = 0;               // one sample in so many aborts of a thread; 0: that differs
  double samples = 0;
  double sampled_aborts = 0;  // the sum of the periods of these samples
  double lost = 0;            // records for which there was no room
  double with_branches = 0;   // samples with branch records of their transaction
  double whole_paths = 0;     // of them: the records reach back to the transaction's begin
  double running = 1;         // share of the time in which aborts were counted
  double cycles = 0;          // that aborts had taken, estimated
  double equal_samples = 0;   // from which, with equal cycles, shares would be as sure; 0: not known
  double counted_cycles = 0;  // the same, counted; 0: not known
  std::map<std::string, double> by_cause{};  // aborts, estimated
  std::vector<AbortRow> rows{};              // most cycles first
};

/// Accesses of two threads to one cache line of which one stores, as samples of loads and stores show them.
struct SharedData {
  Place data{};              // where the later one begins; address 0: many places
  Place earlier{}, later{};  // their instructions
  bool earlier_stores = false, later_stores = false;
  double samples = 0;     // of the later one
  double apart = 0;       // of these: no other thread was seen at that address, only in its line
  std::size_t lines = 1;  // more: so many cache lines
};

/// What the CPU's precise events of loads and stores tell.
struct AccessEvents {
  double period = 0;  // one sample in so many loads, and one in so many stores, of a thread; 0: that differs
  double loads = 0, stores = 0;    // samples
  double unknown = 0;              // of them: the CPU did not record the address
  double lost = 0;                 // samples for which there was no room, estimated
  double throttled = 0;            // times that the kernel paused sampling, since samples came too often
  double shared = 0;               // of them: they are in `rows`
  double apart = 0;                // of these: SharedData::apart
  std::vector<SharedData> rows{};  // most samples first
};

struct Profile {
  bool exact = false;         // else from samples
  std::uint64_t samples = 0;  // of threads, if not exact
  /// Independent samples from which the share of each state would be as sure (independent_samples.h); 0: that
  /// is not known, and all are taken as independent.
  std::array<double, kStates> independent_samples{};
  bool acquisitions_estimated = false;
  double wall_ns = 0;              // of the run
  double parallel_ns = 0;          // of it: with two or more threads
  std::uint32_t most_threads = 0;  // alive at a time
  std::uint32_t cpus = 0;          // that the program could use
  double interrupted = 0;          // of all transactions: aborted by interrupts. Only if exact
  double faulted = 0;              // the same of faults, first touches of memory nearly all
  double parked_ns = 0;            // in the parallel part: asleep at locks. Only if exact
  StateTimes times{};              // in the parallel part, sum over threads
  std::vector<Lock> locks{};       // most lost time first
  std::vector<Thread> threads{};   // those that `paths` names
  // Functions of call paths, each with the place of the call or of the sample. A Place without a name is
  // known by its address only.
  std::vector<Place> frames{};
  std::vector<Path> paths{};    // samples of their own, which cover all of the run. Most time first
  double paths_lost = 0;        // samples of call paths for which there was no room
  std::string paths_missing{};  // why there are no samples, or not all: a clause. Empty: nothing is missing
  std::optional<AbortEvents> abort_events{};
  std::optional<AccessEvents> access_events{};  // nothing: accesses were not sampled

  /// Samples for the interval of a state's share; 0: the share is exact.
  double samples_of(State state) const {
    const double known = independent_samples[static_cast<std::size_t>(state)];
    return exact ? 0 : known > 0 ? known : static_cast<double>(samples);
  }
  double thread_ns() const {
    double sum = 0;
    for (const double time : times) sum += time;
    return sum;
  }
};

}  // namespace elision::profile
