// SPDX-License-Identifier: Apache-2.0
// elision_shared_mutex: the reader-writer lock of locks/rwlock.h, both sides elided, writers first.
#include <cstddef>

#include "api/lock.h"
#include "elision/elision.h"

namespace {

using elision::api::Elided;
using elision::api::Plain;
using elision::api::this_thread;
using elision::locks::LockWords;
using Reader = elision::api::Lock<Elided::ReaderSide, Plain::ReaderSide>;
using Writer = elision::api::Lock<Elided::WriterSide, Plain::WriterSide>;

LockWords words_of(elision_shared_mutex* mutex) {
  static constexpr elision::locks::WordOffsets kOffsets{
      .gate = offsetof(elision_shared_mutex, gate),
      .generation = offsetof(elision_shared_mutex, generation),
      .writers_first = true};
  return {elision::api::word_at(&mutex->state), &kOffsets};
}

}  // namespace

void elision_shared_mutex_lock(elision_shared_mutex* mutex) {
  (void)Writer::enter(words_of(mutex), nullptr, ELISION_CALL_SITE);
}

int elision_shared_mutex_try_lock(elision_shared_mutex* mutex) {
  return Writer::try_enter(words_of(mutex), ELISION_CALL_SITE);
}

int elision_shared_mutex_lock_until(elision_shared_mutex* mutex, int clock, const timespec* until) {
  return Writer::enter_until(words_of(mutex), clock, until, ELISION_CALL_SITE);
}

int elision_shared_mutex_unlock(elision_shared_mutex* mutex) { return Writer::leave(words_of(mutex)); }

void elision_shared_mutex_lock_shared(elision_shared_mutex* mutex) {
  (void)Reader::enter(words_of(mutex), nullptr, ELISION_CALL_SITE);
}

int elision_shared_mutex_try_lock_shared(elision_shared_mutex* mutex) {
  return Reader::try_enter(words_of(mutex), ELISION_CALL_SITE);
}

int elision_shared_mutex_lock_shared_until(elision_shared_mutex* mutex, int clock, const timespec* until) {
  return Reader::enter_until(words_of(mutex), clock, until, ELISION_CALL_SITE);
}

int elision_shared_mutex_unlock_shared(elision_shared_mutex* mutex) { return Reader::leave(words_of(mutex)); }

/// In a transaction no writer can come in between. It must not write while readers hold the lock for real.
int elision_shared_mutex_try_upgrade(elision_shared_mutex* mutex) {
  const LockWords words = words_of(mutex);
  elision::locks::ElidedLock* mine = Elided::WriterSide::elided_entry(words, this_thread.transaction);
  if (mine == nullptr) return Elided::WriterSide::Lock::try_upgrade(words) ? 0 : EBUSY;
  if (mine->writes || Elided::WriterSide::is_held(words)) return EBUSY;
  mine->writes = true;
  return 0;
}
