// SPDX-License-Identifier: Apache-2.0
// What a thread does at its locks, those of libelision-api included: which it holds, and whether it waits,
// attempts or speculates. In shared memory (counters.h) if there is a file, written by the thread, read by
// its signal handlers, by other processes and by the virtual machine.
//
// `entries` is a stack of the locks that the thread holds for real, innermost last. The entry above the
// innermost is the place of an operation in progress; without one, it names the lock that the thread
// left last. So
//
//   event                              | stores
//   -----------------------------------+--------------------------------------------------------------
//   takes a free lock                  | the entry above becomes {lock, site}; `position` counts it
//   releases it                        | `position`
//   elides a lock                      | before the transaction the entry above becomes an attempt;
//                                      | after the commit it is idle
//   waits, speculates, falls back ...  | the entry above, each time that this changes
//
// An uncontended pair costs two stores, without a branch. Inside a transaction nothing is stored, except by
// the release of a lock that was taken before it began.
//
// An entry's lock and activity are one word, so no reader sees the lock of one with the activity of another.
// Its site may belong to the entry before. A release takes away the innermost entry, whichever lock it
// releases: locks that are released in the order in which they were taken stand under each other's names
// until the last of them is released. Each release of a mutex that another thread took leaves both threads'
// depths wrong by one.
//
// After each change comes a mark, an instruction without effect that names this structure: the virtual
// machine reads the structure there, and so knows the time of each change exactly.
//
// Freestanding.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>

#include "abi/held_locks.h"

namespace elision::abi {

// ELISION_TEST_NO_ACTIVITY: the library only counts the locks taken, to measure the cost of the rest.
#ifdef ELISION_TEST_NO_ACTIVITY
inline constexpr bool kNotesActivity = false;
#else
inline constexpr bool kNotesActivity = true;
#endif

/// Changes with the layout of ThreadActivity and with the meaning of its fields. The two libraries are
/// shipped apart (elision_thread_activity). kCountersVersion changes with it, and ThreadActivity::kMark.
inline constexpr std::uint32_t kActivityVersion = 1;

enum class Activity : std::uint8_t {
  kIdle,         // above the innermost lock: nothing in progress. In an entry below: the lock is held
  kFallback,     // the lock is held because elision was given up
  kAttempt,      // a transaction in place of the lock: about to begin, running, or aborted just now
  kSpeculating,  // the same for an always-abort transaction
  kWaiting,      // for the lock
  kOverhead,     // the lock's own work between attempts
  kBlocked,      // waits for a condition variable or a barrier
};
inline constexpr std::size_t kActivities = 7;

/// A lock and what the thread does there. `word`: the lock's address, and the activity in the upper 8 bits.
struct alignas(16) ActivityEntry {
  static constexpr unsigned kActivityShift = 56;

  std::uint64_t word = 0;
  std::uint64_t site = 0;  // return address of the lock call; 0: not known

  static constexpr std::uint64_t word_of(std::uint64_t lock, Activity activity) {
    return lock | static_cast<std::uint64_t>(activity) << kActivityShift;
  }
  std::uint64_t lock() const { return word & ((std::uint64_t{1} << kActivityShift) - 1); }
  Activity activity() const {
    const auto code = static_cast<std::uint8_t>(word >> kActivityShift);
    return code < kActivities ? static_cast<Activity>(code) : Activity::kIdle;
  }
};

struct alignas(64) ThreadActivity {
  static constexpr std::size_t kEntries = 8;  // a power of two; deeper nesting overwrites the outermost
  static constexpr unsigned kDepthShift = 56;
  static constexpr std::uint64_t kOneDeeper = std::uint64_t{1} << kDepthShift;
  static constexpr std::uint32_t kMark = 0x4b534c45;  // "ELSK", the displacement of the mark

  std::uint64_t position = 0;  // bits 0-55: locks taken for real; bits 56-63: how many of them are held
  std::uint64_t taken_elsewhere = 0;  // of the locks taken: those of libelision-api
  ActivityEntry entries[kEntries];

  static constexpr std::uint64_t taken(std::uint64_t position) { return position & (kOneDeeper - 1); }
  /// Negative after releases of locks that another thread took.
  static constexpr int depth(std::uint64_t position) {
    return static_cast<std::int8_t>(position >> kDepthShift);
  }

  /// The calling thread begins something at `lock`, called from `site`.
  [[gnu::always_inline]] void begin(Activity activity, const void* lock, const void* site) {
    store(top(), ActivityEntry::word_of(reinterpret_cast<std::uint64_t>(lock), activity), site);
    mark();
  }
  /// Goes on with something else at the same lock.
  [[gnu::always_inline]] void turn_to(Activity activity) {
    turn(top(), activity);
    mark();
  }
  /// Nothing is in progress any more.
  [[gnu::always_inline]] void end() { turn_to(Activity::kIdle); }
  /// Has taken `lock`. `before`: the position before it took it. A load behind the atomic instruction that
  /// takes or releases a lock waits for it, so fast paths load the position in front of it: 9 ns of a pair
  /// (Rocket Lake).
  [[gnu::always_inline]] void take(const void* lock, const void* site, std::uint64_t before) {
    store(above(before), reinterpret_cast<std::uint64_t>(lock), site);
    set_position(before + (kNotesActivity ? kOneDeeper : 0) + 1);
    mark();
  }
  [[gnu::always_inline]] void take(const void* lock, const void* site) { take(lock, site, position); }
  /// The innermost lock was taken because elision was given up.
  void is_fallback() {
    turn(entries[((position >> kDepthShift) - 1) % kEntries], Activity::kFallback);
    mark();
  }
  /// Has released the innermost lock. `before`: as for take().
  [[gnu::always_inline]] void release(std::uint64_t before) {
    if constexpr (!kNotesActivity) return;
    set_position(before - kOneDeeper);
    mark();
  }
  [[gnu::always_inline]] void release() { release(position); }
  /// The same inside a transaction, whose attempt is above that lock.
  void release_under_attempt() {
    ActivityEntry& attempt = top();
    above(position - kOneDeeper) = attempt;
    turn(attempt, Activity::kIdle);
    release();
  }
  /// Waits, with the innermost lock released meanwhile, for a condition.
  void begin_to_wait_without(const void* condition, const void* site) {
    set_position(position - kOneDeeper);
    begin(Activity::kBlocked, condition, site);
  }
  /// Has the lock again.
  void has_again(const void* lock, const void* site) {
    store(top(), reinterpret_cast<std::uint64_t>(lock), site);
    set_position(position + kOneDeeper);
    mark();
  }
  /// For a thread that continues the counts of one that ended.
  void forget_held() {
    for (ActivityEntry& entry : entries) entry = {};
    set_position(taken(position));
    mark();
  }
  /// For the virtual machine: something has changed, or the same begins again.
  [[gnu::always_inline]] void mark() const {
    if constexpr (!kNotesActivity) return;
    __asm__ volatile("nopl %c1(%%rax)" : : "a"(this), "i"(kMark) : "memory");
  }

 private:
  [[gnu::always_inline]] ActivityEntry& above(std::uint64_t at) {
    return entries[(at >> kDepthShift) % kEntries];
  }
  [[gnu::always_inline]] ActivityEntry& top() { return above(position); }
  /// One store of 16 bytes.
  [[gnu::always_inline]] static void store(ActivityEntry& entry, std::uint64_t word, const void* site) {
    if constexpr (!kNotesActivity) return;
    _mm_store_si128(reinterpret_cast<__m128i*>(&entry),
                    _mm_set_epi64x(reinterpret_cast<long long>(site), static_cast<long long>(word)));
  }
  [[gnu::always_inline]] static void turn(ActivityEntry& entry, Activity activity) {
    if constexpr (!kNotesActivity) return;
    __atomic_store_n(&entry.word, ActivityEntry::word_of(entry.lock(), activity), __ATOMIC_RELAXED);
  }
  [[gnu::always_inline]] void set_position(std::uint64_t value) {
    __asm__ volatile("" : : : "memory");  // for signal handlers: the entry comes first
    __atomic_store_n(&position, value, __ATOMIC_RELAXED);
  }
};
static_assert(offsetof(ThreadActivity, entries) == 16 && sizeof(ThreadActivity) == 192);

/// The encoding of the mark: nopl kMark(%rax).
inline constexpr std::uint8_t kMarkInstruction[] = {0x0f, 0x1f, 0x80, 0x45, 0x4c, 0x53, 0x4b};

/// What a thread does, as a reader sees it.
struct SeenActivity {
  Activity activity = Activity::kIdle;  // kIdle: the thread is in the section of `lock`, or at no lock if 0
  std::uint64_t lock = 0;
  std::uint64_t site = 0;
};
inline SeenActivity seen_activity(const ThreadActivity& thread) {
  const int depth = ThreadActivity::depth(thread.position);
  const ActivityEntry& top = thread.entries[static_cast<unsigned>(depth) % ThreadActivity::kEntries];
  if (top.activity() > Activity::kFallback) return {top.activity(), top.lock(), top.site};
  if (depth <= 0) return {};
  const ActivityEntry& held = thread.entries[static_cast<unsigned>(depth - 1) % ThreadActivity::kEntries];
  return {held.activity() == Activity::kFallback ? Activity::kFallback : Activity::kIdle, held.lock(),
          held.site};
}

inline HeldLocks held_locks(const ThreadActivity& thread) {
  constexpr int kMost = kMostHeldLocks;
  static_assert(kMostHeldLocks < ThreadActivity::kEntries);  // an operation in progress takes one entry
  HeldLocks held;
  const int depth = ThreadActivity::depth(thread.position);
  for (int at = depth > kMost ? depth - kMost : 0; at < depth; ++at)
    held.lock[held.count++] = thread.entries[static_cast<unsigned>(at) % ThreadActivity::kEntries].lock();
  return held;
}

}  // namespace elision::abi

/// Exported by the preload library, for libelision-api: the calling thread's activity. Null if `version`
/// is not the library's kActivityVersion, or while the library is being set up. In the child of a fork it
/// must be asked for again.
extern "C" elision::abi::ThreadActivity* elision_thread_activity(std::uint32_t version);
