// SPDX-License-Identifier: Apache-2.0
// Adds up the activities of threads (abi/thread_activity.h), exactly: the collector sees each change with its
// time. Pure; times are arguments, in any unit.
//
// Only the part of the run with two or more threads counts. A thread that is parked outside of locks is
// blocked for that time; one that is parked at a lock waits for it, or holds it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "abi/thread_activity.h"
#include "base/random.h"
#include "profile/access.h"
#include "profile/profile.h"

namespace elision::profile {

/// The state that an activity means while it lasts. Whether an attempt commits shows only at its end.
State state_of(const abi::SeenActivity& seen);

class Account {
 public:
  using Time = std::uint64_t;

  /// Time at a lock for which a sample of the calls that led there is due.
  struct PathDue {
    State state = State::kOutside;
    std::uint64_t lock = 0;
    Time time = 0;  // since the thread's last sample
  };

  /// The state of one thread between two changes.
  struct Thread {
    abi::SeenActivity seen{};
    abi::HeldLocks held{};
    std::uint64_t taken = 0;      // abi::ThreadActivity::taken
    Time since = 0;               // parallel time of the last change
    Time parked = 0;              // total time parked until then
    Time wait_began = 0;          // parallel time; valid if waits
    std::uint64_t waits_for = 0;  // the lock; valid if waits
    bool waits = false;
    bool known = false;         // it has used a lock
    bool in_lock_call = false;  // for the lock in `seen`
    Time without_path = 0;      // at locks, since the last sample of the thread's calls
    Time path_at = 0;           // the next one is due after so much of it; 0: not drawn yet
    std::optional<PathDue> path{};
  };

  /// An access of another thread that ended an attempt.
  struct Collision {
    std::uint64_t lock = 0;  // that the attempt elided
    std::uint64_t line = 0;  // where the cache line begins
    Access victim{};         // the attempt's first access to the line
    Access other{};          // the access that ended it
    Access other_first{};    // the first access to the line by the other thread's attempt, if it was in one
    bool other_writes = false;
    bool other_prefetched = false;         // `other` accesses another line, and prefetched this one
    bool other_under_other_locks = false;  // the other thread elides or holds locks, but not `lock`
    bool victim_by_library = false, other_by_library = false;  // the lock library's code made the access
    std::uint64_t other_thread = 0;                            // any number that no other thread has
  };

  explicit Account(Time begin = 0) : begin_(begin) {}

  /// The number of threads alive changes at `now`.
  void threads_change(unsigned alive, Time now);
  /// A thread begins.
  void begin(Thread& thread, Time now, Time parked) const;
  /// Something may have changed. `parked`: the time that the thread has spent parked so far.
  void change(Thread& thread, const abi::ThreadActivity& activity, Time now, Time parked);
  /// The thread ends, or the account is closed.
  void end(Thread& thread, Time now, Time parked);
  /// It makes a system call.
  void system_call(const Thread& thread);
  /// An attempt ended by a conflict.
  void conflict(const Collision& collision);
  /// /// An attempt to elide `lock` committed, of which `time` passed in waits for a cache line on its way
  /// between other CPUs. `access`: the first one that waited for that line. Waits for a lock itself do not
  /// count.
  void waited_for_line(std::uint64_t lock, const Access& access, bool by_library, Time time);

  /// Claims a sample of the calls of `thread`, where it is now, if one was due at the last change. Samples
  /// are due at random distances in the time that a thread spends at locks, so that each state, lock and
  /// place has its share of them.
  std::optional<PathDue> claim_path(Thread& thread);
  /// Samples from now on are due half as often.
  void halve_paths() { path_period_ *= 2; }

  /// Claims a look at the callers of the function that takes the lock where `thread` is now. Each call that
  /// returns true uses up one of the few looks of the call site. To be called once a change.
  bool claim_callers_look(const Thread& thread);
  /// Return addresses, innermost first, without the call site itself.
  void callers(std::uint64_t lock, std::uint64_t site, const std::vector<std::uint64_t>& chain);

  /// All until now, with `ns_per_unit` nanoseconds a unit of time. Places have addresses only.
  /// `cpus`: that the program could use.
  Profile profile(Time now, double ns_per_unit, unsigned cpus) const;

 private:
  /// Conflicts with accesses of other threads to one address.
  struct ConflictsWith {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  // a bit for each byte of the line that these accesses covered
  };
  struct ConflictCount {
    ConflictCounts counts{};
    bool at_lock = false;  // Conflict::at_lock
    // Of those apart: the other thread's section had made the victim's access, too, before the one that ended
    // the attempt. The victim might have made that one next. By the address of the access that ended it.
    std::map<std::uint64_t, ConflictsWith> on_the_way{};
  };
  using BytesByThread = std::map<std::uint64_t, std::uint64_t>;  // thread: a bit for each byte of a line
  struct SiteSums {
    Time time = 0;
    unsigned looks = 0;
    std::map<std::vector<std::uint64_t>, unsigned> callers{};  // how often each chain was seen
  };
  struct LockSums {
    std::uint64_t first_use = 0, last_use = 0;  // of uses_
    std::uint64_t acquisitions = 0, contended = 0, attempts = 0, commits = 0, fallbacks = 0, system_calls = 0;
    std::array<Time, kStates> times{};
    Time waited = 0, longest_wait = 0, held = 0;
    std::map<std::uint64_t, SiteSums> sites{};
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, ConflictCount> conflicts{};
    std::map<std::uint64_t, BytesByThread> written{};  // by line, in accesses that ended attempts
    std::map<std::uint64_t, Time> waited_inside{};     // while it was held, by the lock that was waited for
    Time waited_for_lines = 0;
    std::map<std::pair<std::uint64_t, std::uint64_t>, Time> line_waits{};  // by address and instruction
  };

  Time parallel_time(Time now) const {
    return parallel_before_ + (parallel_ && now > parallel_since_ ? now - parallel_since_ : 0);
  }
  void spend(Thread& thread, State state, Time now, Time parked);
  void took(Thread& thread, std::uint64_t lock);
  void note_path(Thread& thread, State state, Time time);
  std::uint64_t lock_at(const Access& access, bool by_library, std::uint64_t elided) const;
  static std::uint64_t written_by_several(const BytesByThread& line);
  static Conflict conflict_of(std::uint64_t data, const ConflictCount& count, const LockSums& sums);
  Lock lock_of(std::uint64_t address, const LockSums& sums, double ns_per_unit) const;

  bool parallel_ = false;
  Time begin_;
  Time parallel_since_ = 0;
  Time parallel_before_ = 0;
  unsigned most_threads_ = 0;
  std::array<Time, kStates> times_{};
  Time parked_at_locks_ = 0;
  std::uint64_t uses_ = 0;  // acquisitions of any lock
  unsigned looks_without_wait_ = 0;
  Time path_period_ = 1 << 12;
  Random random_{1};
  std::unordered_map<std::uint64_t, LockSums> locks_;
};

}  // namespace elision::profile
