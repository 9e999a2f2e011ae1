// SPDX-License-Identifier: Apache-2.0
// pthread_spin_*. pthread_spin_init stays glibc's, since the word has glibc's protocol (locks/spin_word.h).
// The short path (ShortPaths) serves every design that neither elides nor speculates: all have the same word.
#include <pthread.h>

#include "locks/spin_word.h"
#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/overlay.h"
#include "runtime/thread_state.h"

namespace {

using elision::abi::ThreadActivity;
using elision::runtime::entry_points;
using elision::runtime::this_thread;
using elision::runtime::words_of;
using Lock = elision::locks::SpinWord<elision::locks::Park>;  // the parts used here do not wait

[[gnu::always_inline]] inline bool take_if_free(pthread_spinlock_t* lock, const void* site) {
  ThreadActivity* activity = this_thread.short_paths.spin;
  if (activity == nullptr) [[unlikely]]
    return false;
  const std::uint64_t before = activity->position;
  if (!Lock::try_acquire(words_of(lock))) [[unlikely]]
    return false;
  activity->take(const_cast<int*>(lock), site, before);
  return true;
}

}  // namespace

ELISION_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) {
  if (take_if_free(lock, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.spin_lock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) {
  if (take_if_free(lock, ELISION_CALL_SITE)) [[likely]]
    return 0;
  return entry_points.spin_trylock(lock, ELISION_CALL_SITE);
}
ELISION_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) {
  ThreadActivity* activity = this_thread.short_paths.spin;
  if (activity != nullptr) [[likely]] {
    const std::uint64_t before = activity->position;
    if (Lock::release(words_of(lock))) [[likely]] {
      activity->release(before);
      return 0;
    }
  }
  return entry_points.spin_unlock(lock, ELISION_CALL_SITE);
}
ELISION_FORWARD(spin_destroy, pthread_spinlock_t)
