// SPDX-License-Identifier: Apache-2.0
#include "profile/account.h"

#include <algorithm>

#include "base/units.h"

namespace elision::profile {
namespace {

using abi::Activity;
using abi::SeenActivity;

constexpr std::size_t kMostConflicts = 4096;  // of one lock, before they have names
constexpr std::size_t kMostOtherSites = 8;
constexpr std::size_t kMostLineWaits = 64;       // of one lock
constexpr unsigned kMostLooks = 16;              // at the callers of one call site
constexpr unsigned kMostLooksWithoutWait = 500;  // of all sites: programs may have a lock for each object
constexpr std::uint64_t kWordBytes = 4;          // each lock begins with a word
constexpr std::uint64_t kMostLockBytes = 56;     // pthread_rwlock_t, the largest

/// Whether the thread does something at a lock that it does not hold yet.
bool is_entering(const SeenActivity& seen) {
  return seen.activity == Activity::kAttempt || seen.activity == Activity::kSpeculating ||
         seen.activity == Activity::kWaiting || seen.activity == Activity::kOverhead;
}

/// Whether two known accesses have no byte in common.
bool are_apart(const Access& a, const Access& b) {
  return a.size != 0 && b.size != 0 && (b.address >= a.address + a.size || a.address >= b.address + b.size);
}

/// The bytes of its line that an access covers.
std::uint64_t bytes_in_line(const Access& access) {
  const std::uint64_t first = access.address % kLineBytes;
  const std::uint64_t size = std::min<std::uint64_t>(access.size, kLineBytes - first);
  return size == 0 ? 0 : (~std::uint64_t{0} >> (kLineBytes - size)) << first;
}

std::vector<std::uint64_t> most_frequent(const std::map<std::vector<std::uint64_t>, unsigned>& chains) {
  const auto most = std::max_element(chains.begin(), chains.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most != chains.end() ? most->first : std::vector<std::uint64_t>();
}

}  // namespace

State state_of(const SeenActivity& seen) {
  switch (seen.activity) {
    case Activity::kIdle:
      return seen.lock == 0 ? State::kOutside : State::kSection;
    case Activity::kFallback:
      return State::kFallback;
    case Activity::kAttempt:
      return State::kAttempt;
    case Activity::kSpeculating:
      return State::kSpeculating;
    case Activity::kWaiting:
      return State::kWaiting;
    case Activity::kOverhead:
      return State::kOverhead;
    case Activity::kBlocked:
      return State::kBlocked;
  }
  return State::kOutside;
}

void Account::threads_change(unsigned alive, Time now) {
  most_threads_ = std::max(most_threads_, alive);
  const bool parallel = alive >= 2;
  if (parallel == parallel_) return;
  parallel_before_ = parallel_time(now);
  parallel_ = parallel;
  parallel_since_ = now;
}

void Account::begin(Thread& thread, Time now, Time parked) const {
  thread = {};
  thread.since = parallel_time(now);
  thread.parked = parked;
}

/// The time since the last change goes to `state`.
void Account::spend(Thread& thread, State state, Time now, Time parked) {
  const Time at = std::max(parallel_time(now), thread.since);
  const Time time = at - thread.since;
  const Time parked_now = std::min(parked - thread.parked, time);
  const Time asleep = state == State::kOutside ? parked_now : 0;
  if (state != State::kOutside && state != State::kBlocked) parked_at_locks_ += parked_now;
  times_[static_cast<std::size_t>(state)] += time - asleep;
  times_[static_cast<std::size_t>(State::kBlocked)] += asleep;
  if (thread.seen.lock != 0 && state != State::kBlocked) {
    note_path(thread, state, time);
    LockSums& sums = locks_[thread.seen.lock];
    sums.sites[thread.seen.site].time += time;
    sums.times[static_cast<std::size_t>(state)] += time;
    if (state == State::kAttempt) sums.held += time;
  }
  for (const std::uint64_t lock : thread.held) {
    LockSums& sums = locks_[lock];
    sums.held += time;
    if (thread.waits && thread.waits_for != lock) sums.waited_inside[thread.waits_for] += time;
  }
  thread.since = at;
  thread.parked = parked;
}

void Account::note_path(Thread& thread, State state, Time time) {
  const auto draw = [this] { return path_period_ / 2 + random_.next() % path_period_ + 1; };
  if (thread.path_at == 0) thread.path_at = draw();
  thread.without_path += time;
  if (thread.without_path < thread.path_at) return;
  thread.path = PathDue{state, thread.seen.lock, std::exchange(thread.without_path, 0)};
  thread.path_at = draw();
}

std::optional<Account::PathDue> Account::claim_path(Thread& thread) {
  return std::exchange(thread.path, std::nullopt);
}

/// The thread has entered the section of `lock`, for real or by a commit. A set of locks is waited for at the
/// one named first and taken one by one: the first one taken ends the wait, which is that of the other.
void Account::took(Thread& thread, std::uint64_t lock) {
  LockSums& sums = locks_[lock];
  ++sums.acquisitions;
  sums.last_use = ++uses_;
  if (sums.first_use == 0) sums.first_use = uses_;
  if (!thread.waits) return;
  const Time waited = thread.since - thread.wait_began;
  LockSums& waited_for = locks_[thread.waits_for];
  ++waited_for.contended;
  waited_for.waited += waited;
  waited_for.longest_wait = std::max(waited_for.longest_wait, waited);
  thread.waits = false;
}

void Account::change(Thread& thread, const abi::ThreadActivity& activity, Time now, Time parked) {
  const SeenActivity before = thread.seen, seen = abi::seen_activity(activity);
  const std::uint64_t taken = abi::ThreadActivity::taken(activity.position);
  const bool took_lock = thread.known && taken != thread.taken;
  const bool was_attempt = before.activity == Activity::kAttempt;
  const bool committed = was_attempt && !took_lock && !is_entering(seen);
  State state = state_of(before);
  if (was_attempt && !committed) state = State::kAborted;
  const Time began = thread.since;
  spend(thread, state, now, parked);
  if (was_attempt) {
    LockSums& sums = locks_[before.lock];
    ++sums.attempts;
    if (committed) {
      ++sums.commits;
      // The wait ended when the attempt began.
      const Time end = std::exchange(thread.since, began);
      took(thread, before.lock);
      thread.since = end;
    }
  }
  if (took_lock) took(thread, seen.lock);
  if (seen.activity == Activity::kFallback && before.activity == Activity::kIdle && before.lock == seen.lock)
    ++locks_[seen.lock].fallbacks;
  if (seen.activity == Activity::kWaiting && !thread.waits) {
    thread.waits = true;
    thread.wait_began = thread.since;
    thread.waits_for = seen.lock;
  }
  if (!is_entering(seen)) thread.waits = false;
  thread.seen = seen;
  thread.held = abi::held_locks(activity);
  thread.in_lock_call = took_lock || is_entering(seen);
  thread.taken = taken;
  thread.known = true;
}

void Account::end(Thread& thread, Time now, Time parked) {
  spend(thread, state_of(thread.seen), now, parked);
  thread.seen = {};
  thread.held = {};
}

void Account::system_call(const Thread& thread) {
  for (const std::uint64_t lock : thread.held) ++locks_[lock].system_calls;
}

bool Account::claim_callers_look(const Thread& thread) {
  if (!thread.in_lock_call) return false;
  const bool waits =
      thread.seen.activity == Activity::kWaiting || thread.seen.activity == Activity::kOverhead;
  SiteSums& site = locks_[thread.seen.lock].sites[thread.seen.site];
  if (waits ? site.looks == kMostLooks : site.looks != 0 || looks_without_wait_ == kMostLooksWithoutWait)
    return false;
  ++site.looks;
  if (!waits) ++looks_without_wait_;
  return true;
}

void Account::callers(std::uint64_t lock, std::uint64_t site, const std::vector<std::uint64_t>& chain) {
  ++locks_[lock].sites[site].callers[chain];
}

/// The lock whose own words an access reads or writes: `elided` or one that was used; 0: none. Many locks
/// have one word, with data of the program behind it; the words of larger locks are those that the lock
/// library uses. They end where the next lock begins. A lock that was not used since `elided` began to be is
/// gone, and its memory may be that of `elided`.
std::uint64_t Account::lock_at(const Access& access, bool by_library, std::uint64_t elided) const {
  if (access.size == 0) return 0;
  if (!by_library) return access.address - elided < kWordBytes ? elided : 0;
  const std::uint64_t last = access.address - access.address % kWordBytes;
  const auto own = locks_.find(elided);
  const std::uint64_t since = own != locks_.end() ? own->second.first_use : 0;
  for (std::uint64_t bytes = 0; bytes < kMostLockBytes; bytes += kWordBytes) {
    if (last - bytes == elided) return elided;
    const auto found = locks_.find(last - bytes);
    if (found != locks_.end() && found->second.last_use >= since) return last - bytes;
  }
  return 0;
}

void Account::conflict(const Collision& collision) {
  const Access &victim = collision.victim, &other = collision.other, &first = collision.other_first;
  // That threads take the lock, or another one, or look at it, says nothing about the sections.
  const std::uint64_t lock_of_other =
      collision.other_prefetched ? 0 : lock_at(other, collision.other_by_library, collision.lock);
  if (lock_of_other == collision.lock) return;
  const std::uint64_t lock_of_victim = lock_at(victim, collision.victim_by_library, collision.lock);
  if (lock_of_other != 0 && lock_of_other == lock_of_victim) return;
  const bool at_lock = lock_of_victim == collision.lock;
  const bool has_same_first = first.size != 0 && first.address == victim.address;
  // What a section of another lock writes beside this one is no data of this lock's sections. Of locks that
  // an attempt elides inside another one, only the access to the lock tells.
  const bool is_own_data = !collision.other_under_other_locks || has_same_first;
  LockSums& sums = locks_[collision.lock];
  const Access& known = at_lock ? other : victim;
  const bool is_known = known.size != 0 && !(at_lock && collision.other_prefetched);
  const std::uint64_t data = is_known ? known.address : collision.line;
  ConflictCount& count = sums.conflicts[{data, at_lock && is_own_data ? 0 : victim.pc, other.pc}];
  ++count.counts.count;
  if (collision.other_prefetched) {
    count.at_lock |= at_lock;
    ++count.counts.prefetched;
    return;
  }
  count.at_lock |= at_lock && lock_of_other == 0 && is_own_data;
  if (victim.size == 0 || other.size == 0) ++count.counts.unknown;
  if (collision.other_writes) sums.written[collision.line][collision.other_thread] |= bytes_in_line(other);
  if (!are_apart(victim, other)) return;
  ++count.counts.apart;
  if (lock_of_other != 0) return;  // another lock's words
  if (at_lock ? !is_own_data : !has_same_first) return;
  ConflictsWith& with = count.on_the_way[other.address];
  ++with.count;
  with.bytes |= bytes_in_line(other);
}

void Account::waited_for_line(std::uint64_t lock, const Access& access, bool by_library, Time time) {
  if (lock_at(access, by_library, lock) != 0) return;
  LockSums& sums = locks_[lock];
  sums.waited_for_lines += time;
  if (sums.line_waits.size() < kMostConflicts || sums.line_waits.contains({access.address, access.pc}))
    sums.line_waits[{access.address, access.pc}] += time;
}

/// The bytes of a line that two or more threads have written.
std::uint64_t Account::written_by_several(const BytesByThread& line) {
  std::uint64_t by_one = 0, by_several = 0;
  for (const auto& [thread, bytes] : line) {
    by_several |= by_one & bytes;
    by_one |= bytes;
  }
  return by_several;
}

/// Accesses apart from each other are true sharing all the same if both threads were on the way to write the
/// same bytes: one had, and its write ended the attempt of the other, which had only read beside them so far.
/// All sections of a lock begin with a read of the lock.
Conflict Account::conflict_of(std::uint64_t data, const ConflictCount& count, const LockSums& sums) {
  Conflict conflict;
  conflict.data.address = data;
  conflict.counts = count.counts;
  conflict.at_lock = count.at_lock;
  const auto line = sums.written.find(data - data % kLineBytes);
  if (line == sums.written.end()) return conflict;
  const std::uint64_t by_several = written_by_several(line->second);
  std::uint64_t most = 0;
  for (const auto& [address, with] : count.on_the_way) {
    if ((with.bytes & by_several) == 0) continue;
    conflict.counts.apart -= static_cast<double>(with.count);
    if (with.count <= most) continue;
    most = with.count;
    conflict.data.address = address;
  }
  return conflict;
}

Lock Account::lock_of(std::uint64_t address, const LockSums& sums, double ns_per_unit) const {
  const auto ns = [&](Time time) { return static_cast<double>(time) * ns_per_unit; };
  Lock lock;
  lock.place.address = address;
  std::vector<const std::pair<const std::uint64_t, SiteSums>*> sites;
  for (const auto& site : sums.sites) sites.push_back(&site);
  std::stable_sort(sites.begin(), sites.end(),
                   [](const auto* a, const auto* b) { return a->second.time > b->second.time; });
  if (!sites.empty()) {
    lock.site.address = sites.front()->first;
    for (const std::uint64_t caller : most_frequent(sites.front()->second.callers))
      lock.callers.push_back({caller});
  }
  for (std::size_t i = 1; i < sites.size() && i <= kMostOtherSites; ++i)
    if (sites[i]->first != 0) lock.other_sites.push_back({sites[i]->first});
  lock.acquisitions = static_cast<double>(sums.acquisitions);
  lock.contended = static_cast<double>(sums.contended);
  for (std::size_t i = 0; i < kStates; ++i) lock.times[i] = ns(sums.times[i]);
  lock.waits_ns = ns(sums.waited);
  lock.longest_wait_ns = ns(sums.longest_wait);
  lock.holds_ns = ns(sums.held);
  lock.aborted_ns = time_in(lock.times, State::kAborted);
  lock.attempts = static_cast<double>(sums.attempts);
  lock.commits = static_cast<double>(sums.commits);
  lock.fallbacks = static_cast<double>(sums.fallbacks);
  lock.system_calls = static_cast<double>(sums.system_calls);
  for (const auto& [inside, time] : sums.waited_inside) {
    if (ns(time) <= lock.waits_inside_ns) continue;
    lock.waits_inside_ns = ns(time);
    lock.inside = inside;
  }
  lock.line_waits_ns = ns(sums.waited_for_lines);
  for (const auto& [access, time] : sums.line_waits)
    lock.line_waits.push_back({{access.first}, {access.second}, ns(time)});
  std::stable_sort(lock.line_waits.begin(), lock.line_waits.end(),
                   [](const LineWait& a, const LineWait& b) { return a.ns > b.ns; });
  if (lock.line_waits.size() > kMostLineWaits) lock.line_waits.resize(kMostLineWaits);
  for (const auto& [places, count] : sums.conflicts) {
    Conflict conflict = conflict_of(std::get<0>(places), count, sums);
    conflict.victim.address = std::get<1>(places);
    conflict.other.address = std::get<2>(places);
    lock.conflicts_seen += conflict.counts;
    if (conflict.at_lock) lock.conflicts_apart_at_lock += conflict.counts.apart;
    lock.conflicts.push_back(conflict);
  }
  std::stable_sort(lock.conflicts.begin(), lock.conflicts.end(),
                   [](const Conflict& a, const Conflict& b) { return a.counts.count > b.counts.count; });
  if (lock.conflicts.size() > kMostConflicts) lock.conflicts.resize(kMostConflicts);
  return lock;
}

Profile Account::profile(Time now, double ns_per_unit, unsigned cpus) const {
  Profile profile;
  profile.exact = true;
  profile.wall_ns = static_cast<double>(now - begin_) * ns_per_unit;
  profile.parallel_ns = static_cast<double>(parallel_time(now)) * ns_per_unit;
  profile.most_threads = most_threads_;
  profile.cpus = cpus;
  profile.parked_ns = static_cast<double>(parked_at_locks_) * ns_per_unit;
  for (std::size_t i = 0; i < kStates; ++i) profile.times[i] = static_cast<double>(times_[i]) * ns_per_unit;
  for (const auto& [address, sums] : locks_) {
    if (address != 0) profile.locks.push_back(lock_of(address, sums, ns_per_unit));
  }
  std::sort(profile.locks.begin(), profile.locks.end(), [](const Lock& a, const Lock& b) {
    if (loses_more(a, b) || loses_more(b, a)) return loses_more(a, b);
    return a.place.address < b.place.address;
  });
  return profile;
}

}  // namespace elision::profile
