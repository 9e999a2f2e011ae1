/* SPDX-License-Identifier: Apache-2.0
 * Words of src/locks/tatas.h, by number, for models that use them. A file that includes this one has the variables `me`,
 * `seen`, `got`, `timed` and `in_time`, and defines THREADS, WORDS, SPINS (waiters never sleep) and `alive` (the lock is not destroyed). Every atomic
 * block is one access to shared memory with the thread's private work after it.
 */
#include "futex.h.pml"

#define kFree 0
#define kHeld 1
#define kHeldWithSleepers 2

#define ANY 1

byte word[WORDS];
byte holders[WORDS];       /* a ghost: threads that hold the lock; changes in the step that takes or releases it */

inline holds_now(w) {
  got = true; holders[w]++; assert(holders[w] == 1)
}

/* is_held(), wait_until_free(): the word's value. */
inline tatas_look(w) {
  assert(alive); seen = word[w]
}

/* Tatas::try_acquire(). */
inline tatas_try_acquire(w) {
  assert(alive);
  if
  :: word[w] == kFree -> word[w] = kHeld; holds_now(w)
  :: else
  fi
}

/* Tatas::acquire_sleeping(); also glibc's __lll_lock_wait() after its first look. Ends with got or without in_time. */
inline tatas_acquire_sleeping(w) {
  do
  :: got || !in_time -> break
  :: else ->
     atomic {
       assert(alive);
       seen = word[w]; word[w] = kHeldWithSleepers;
       if
       :: seen == kFree -> holds_now(w)
       :: else
       fi
     };
     if
     :: !got -> FUTEX_WAIT(w + 1, word[w] == kHeldWithSleepers, ANY, timed, in_time)
     :: else
     fi
  od
}

/* Tatas::release(), lll_unlock(). Where waiters spin for ever, a load and a store. */
inline tatas_release(w) {
  if
  :: SPINS ->
     atomic { assert(alive); seen = word[w] };
     atomic { assert(alive && seen != kFree); word[w] = kFree; holders[w]--; got = false }
  :: else ->
     atomic { assert(alive); seen = word[w]; word[w] = kFree; holders[w]--; got = false };
     if
     :: seen == kHeldWithSleepers -> futex_wake_one(w + 1, ANY)
     :: else
     fi
  fi
}
