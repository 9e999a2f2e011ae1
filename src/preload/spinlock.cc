// SPDX-License-Identifier: Apache-2.0
// pthread_spin_*. pthread_spin_init stays glibc's, since the word has glibc's protocol (locks/spin_word.h).
// The short path serves the same designs as that of mutexes (mutex.cc).
#include <pthread.h>

#include "locks/spin_word.h"
#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/overlay.h"
#include "runtime/thread_state.h"

namespace {

using elision::runtime::entry_points;
using elision::runtime::fast_slot;
using elision::runtime::words_of;
using FastLock = elision::locks::SpinWord<elision::locks::Park>;  // the parts used here do not wait

[[gnu::always_inline]] inline bool lock_fast(pthread_spinlock_t* lock, const void* site) {
  elision::abi::CounterSlot* slot = fast_slot;
  if (slot == nullptr) return false;
  const std::uint64_t before = slot->activity.position;
  if (!FastLock::try_acquire(words_of(lock))) return false;
  slot->activity.take(const_cast<int*>(lock), site, before);
  return true;
}

}  // namespace

ELISION_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) {
  if (lock_fast(lock, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.spin_lock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) {
  if (lock_fast(lock, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.spin_trylock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) {
  elision::abi::CounterSlot* slot = fast_slot;  // read once: a fork in a signal handler makes it null
  if (slot != nullptr) [[likely]] {
    const std::uint64_t before = slot->activity.position;
    if (FastLock::release(words_of(lock))) [[likely]] {
      slot->activity.release(before);
      return 0;
    }
  }
  return entry_points.spin_unlock(lock, ELISION_CALL_SITE);
}
ELISION_FORWARD(spin_destroy, pthread_spinlock_t)
