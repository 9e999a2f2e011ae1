// SPDX-License-Identifier: Apache-2.0
// What a profile means: whether locks matter, which one, what in its sections is in the way, and what to
// change. Pure.
//
// Every threshold is a number of this file. Shares are of the time that threads had work or waited for a
// lock: their time in the part of the run with two or more threads, without State::kBlocked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace elision::profile {

/// Below this share of waiting, locks do not matter: removing all of it gains no more.
inline constexpr double kSmallestWaitShare = 0.03;
/// The same of all their time, asleep included: little waiting between long sleeps does not matter either.
inline constexpr double kSmallestWaitShareOfAll = 0.01;
/// Shares from fewer samples are too rough: at 200, a share of 10 % is known to 4 %.
inline constexpr std::uint64_t kFewestSamples = 200;
/// A lock is named with a finding from this share of all waiting on.
inline constexpr double kSmallestLockShare = 0.10;
/// So is a lock without waiting, if its attempts under an eliding design lose this share of the threads'
/// time.
inline constexpr double kSmallestLostShare = 0.10;
/// Conflicts with data beside the lock get a word from this share of a lock's conflicts on.
inline constexpr double kManyBesideLock = 0.25;
/// So do conflicts with prefetches beside those on different data.
inline constexpr double kManyPrefetched = 0.25;
/// One cause explains the aborts of a lock from this share of them on.
inline constexpr double kMainCauseShare = 0.50;
/// Fewer aborts for one reason than this do not tell what ends the attempts of a lock.
inline constexpr double kFewestAborts = 3;
/// Transactions take turns at a cache line if they wait for such lines for this share of their time.
inline constexpr double kTurnsShare = 0.50;
/// Sections up to this length can cost more as transactions than with the lock: to begin and to commit takes
/// some 20 ns. Transactions that last this much longer than the sections with the lock wait for something.
inline constexpr double kShortSectionNs = 100;
/// A program is slower by its locks from this speedup down, if the interval of the speedup lies below 1.
inline constexpr double kClearlySlower = 0.97;
/// Waits for locks do not explain what a design gains that is this many times as fast.
inline constexpr double kClearlyFaster = 1.1;
/// Attempts rarely abort below this share.
inline constexpr double kRareAbortShare = 0.10;
/// A part of the run this short, as a share of it, does not tell about the whole.
inline constexpr double kShortParallelShare = 0.20;
/// Taking a lock from another core's cache takes about so long, in nanoseconds.
inline constexpr double kLockTransferNs = 50;
/// Sections of a lock hardly ever commit below this share of them.
inline constexpr double kRareCommitShare = 0.01;
/// A reason decides that sections cannot commit if it ended an attempt in so many of the fallbacks.
inline constexpr double kDecidedShare = 0.25;
/// On average, so many threads with work are one.
inline constexpr double kMostOfOneThread = 1.1;
/// So many busy threads more than CPUs, on average, are too many.
inline constexpr double kFewestMoreThreads = 0.5;
/// Threads mostly wait for each other, and not for locks, from this share of their time on.
inline constexpr double kBlockedShare = 0.50;

enum class Cause {
  kRareConflicts,   // sections rarely conflict: elision removes the waiting
  kTrueSharing,     // sections use the same data, and write them
  kFalseSharing,    // sections write different data in one cache line
  kPrefetch,        // sections write different cache lines, which prefetches take from each other
  kDataAtLock,      // sections write data in the cache line of their lock
  kShortSections,   // transactions commit, but sections are too short for them to pay
  kTooLong,         // sections touch more than a transaction can hold
  kSystemCalls,     // sections make system calls, or execute what no transaction may
  kFirstTouch,      // sections touch memory for the first time
  kLocksShareLine,  // locks have cache lines in common with other locks
  kOneThread,       // one thread at a time has work
  kOversubscribed,  // more busy threads than CPUs: holders lose their CPU
  kMostlySerial,    // most of the run has one thread
  kOtherWork,       // other programs took CPU time of the run
  kMostlyBlocked,   // threads wait for conditions, barriers and the kernel
  kLockTaken,       // attempts end because other threads take the lock, not by what sections access
  kContendedLine,   // transactions commit, one after the other: all use one cache line that each writes
  kHeldLong,        // the lock is held most of the time, and no attempt tells why
};
/// The word for programs: "rare-conflicts" and so on.
const char* code_of(Cause cause);

struct Finding {
  Cause cause = Cause::kHeldLong;
  std::string lock{};      // its name; empty: the whole program
  std::string sentence{};  // what is so
  std::string change{};    // what to change in the source; empty: nothing
};

struct Diagnosis {
  bool locks_matter = false;
  double wait_share = 0;
  std::string sentence{};
  std::vector<Finding> findings{};  // about the lock with most waiting first
};

/// In full percents, but a little is told from nothing, and almost all from all: the words precede the limit.
std::string percent(double share, const char* less_than = "less than ", const char* more_than = "more than ");

/// "queue_lock", "the lock taken at main.c:12", or its address.
std::string name_of(const Lock& lock);

/// Whether there is enough of it to judge: it is exact, or from kFewestSamples.
bool is_sufficient(const Profile& profile);

/// Time that threads had work or waited for a lock, in nanoseconds.
double working_ns(const Profile& profile);

/// The share of waiting, attempts that aborted and the lock's own work.
double wait_share(const Profile& profile);

/// The program under a design that elides its locks.
struct ElidedRun {
  const Profile& profile;
  std::string design{};                     // its name
  unsigned tries = 1;                       // transactions that abort before a section takes the lock
  double speedup = 1;                       // over the program's own locks
  std::optional<double> highest_speedup{};  // the ends of its interval; nothing: not known
  std::optional<double> lowest_speedup{};
};

/// `plain`: under the program's own locks. `elided`: null: no design that elides was run.
Diagnosis diagnose(const Profile& plain, const ElidedRun* elided);

}  // namespace elision::profile
