// SPDX-License-Identifier: Apache-2.0
// The library's state of each thread: initial-exec TLS that needs no constructor. The thread's first lock
// operation completes it.
#pragma once

#include <cstdint>

#include "abi/counters.h"
#include "locks/activity.h"
#include "locks/recorder.h"
#include "locks/transaction_context.h"

namespace elision::runtime {

/// Where a thread notes its activity on the short paths of src/preload, for each kind of lock. Null if the
/// design has none (runtime/designs.h), or if the thread is not known or shares its slot: one test covers
/// all. A fork in a signal handler makes it null too, so a function reads it once.
struct ShortPaths {
  abi::ThreadActivity* mutex = nullptr;
  abi::ThreadActivity* rwlock = nullptr;
  abi::ThreadActivity* spin = nullptr;
};

struct ThreadState {
  ShortPaths short_paths;
  abi::CounterSlot* slot = nullptr;  // null before its first lock, of this library or of libelision-api
  bool slot_is_shared = false;
  bool is_known = false;  // it has used a lock that this library replaces
  // In the slot; in `unshared` if others share the slot; of nobody before the thread's first lock.
  abi::ThreadActivity* activity = &locks::activity_of_nobody;
  int thread_id = 0;
  // The last entry: most threads take the same lock at the same site again.
  const void* last_lock = nullptr;
  const void* last_site = nullptr;
  abi::CounterEntry* last_entry = nullptr;
  // The plain mutex that was elided last, and its call site. `transaction` still names its counters
  // (runtime/mutex.h).
  const void* short_lock = nullptr;
  const void* short_site = nullptr;
  std::uint32_t busy_waits = 0;          // runtime/condition.h
  bool has_noted_wait_in_glibc = false;  // runtime/design_change.h
  std::uint64_t wait_since_sample = 0;   // ticks (runtime/call_paths.h)
  locks::TransactionContext transaction;
  abi::ThreadActivity unshared;
};

extern constinit thread_local ThreadState this_thread;

/// Completes this_thread for its first operation on a lock of ours. Not inside a transaction, since its
/// system calls would abort it.
void introduce_thread();

/// Where the calling thread notes what it does at locks of libelision-api. Does not make the thread known.
abi::ThreadActivity* activity_for_other_locks();

inline ThreadState& known_thread() {
  if (!this_thread.is_known) [[unlikely]]
    introduce_thread();
  return this_thread;
}

/// Finds or makes the entry of `lock` taken at `site`, and remembers it as the last one.
void look_up_entry(ThreadState& thread, const void* lock, const void* site);

/// The recorder for `lock` taken at `site` by the calling thread.
[[gnu::always_inline]] inline locks::Recorder recorder_for(ThreadState& thread, const void* lock,
                                                           const void* site) {
  if (thread.last_lock != lock || thread.last_site != site) [[unlikely]]
    look_up_entry(thread, lock, site);
  return locks::Recorder(*thread.last_entry, thread.slot_is_shared);
}

/// The thread has taken `lock` for real. `before`: its position before that (ThreadActivity::take).
[[gnu::always_inline]] inline void note_taken(ThreadState& thread, const void* lock, const void* site,
                                              std::uint64_t before) {
  if (thread.slot_is_shared) [[unlikely]]
    __atomic_fetch_add(&thread.slot->shared_taken, 1, __ATOMIC_RELAXED);
  thread.activity->take(lock, site, before);
}

/// It has released the innermost lock that it took for real.
inline void note_released(ThreadState& thread) { locks::note_released(*thread.activity, thread.transaction); }

/// Undefined uses of locks (POSIX). They are counted with lock and site, and the program goes on.
enum class Misuse { kUnlockOfFree, kDestroyOfHeld };

void report_misuse(Misuse misuse, const void* lock, const void* site);

/// The same, for a function that refuses with `code`.
inline int refuse(Misuse misuse, const void* lock, const void* site, int code) {
  report_misuse(misuse, lock, site);
  return code;
}

}  // namespace elision::runtime
