// SPDX-License-Identifier: Apache-2.0
// elision_mutex: htm-10 on one word.
#include "api/lock.h"
#include "elision/elision.h"

namespace {

using elision::api::MutexLock;

elision::locks::LockWords words_of(elision_mutex* mutex) { return {elision::api::word_at(&mutex->word)}; }

}  // namespace

void elision_mutex_lock(elision_mutex* mutex) {
  (void)MutexLock::enter(words_of(mutex), nullptr, ELISION_CALL_SITE);
}

int elision_mutex_try_lock(elision_mutex* mutex) {
  return MutexLock::try_enter(words_of(mutex), ELISION_CALL_SITE);
}

int elision_mutex_lock_until(elision_mutex* mutex, int clock, const timespec* until) {
  return MutexLock::enter_until(words_of(mutex), clock, until, ELISION_CALL_SITE);
}

int elision_mutex_unlock(elision_mutex* mutex) { return MutexLock::leave(words_of(mutex)); }
