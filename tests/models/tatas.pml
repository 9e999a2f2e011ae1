/* SPDX-License-Identifier: Apache-2.0
 * tatas (src/locks/tatas.h): acquire with parking, wait_until_free and its pass_on, release, with and without deadline;
 * and glibc's lll_lock, lll_timedlock and lll_unlock on the same word (nptl/lowlevellock.c), which condition variables
 * call.
 *
 * Checked: exclusion. No thread sleeps for ever. The word is 0 when all threads are out, even if some gave up. After the
 * exchange of a release nothing of the lock is touched.
 *
 * With SPINS, waiters spin for ever, a release is a store, and glibc does not lock (kGlibcMayLock).
 *
 * ROUNDS operations per thread, each of any kind; the last is an acquire without deadline, and then thread 0 destroys the
 * lock.
 */
#define THREADS 3
#define WORDS 1
#define alive (!destroyed)

bool destroyed;
byte gone;               /* threads that are in their last section, or past it */

#define GLIBC_MAY_LOCK !SPINS

#include "tatas.h.pml"

#define last (round == ROUNDS - 1)

/* Tatas::acquire(). Back-off is just another look. */
inline acquire() {
  do
  :: got || !in_time -> break
  :: else ->
     atomic { tatas_look(0) };
     if
     :: seen == kFree -> atomic { tatas_try_acquire(0) }
     :: else
     fi;
     if
     :: got
     :: !got && (!SPINS || word[0] == kFree)   /* backoff.wait() */
     :: !SPINS && !got -> tatas_acquire_sleeping(0)      /* spun_enough() */
     :: !got && timed -> in_time = false
     fi
  od
}

/* Tatas::wait_until_free(). The deadline of a timed wait may pass at any look, and stays passed. */
inline wait_until_free() {
  do
  :: atomic { tatas_look(0) };
     if
     :: seen == kFree -> break
     :: else
     fi;
     if
     :: timed -> in_time = false; break        /* has_passed() */
     :: in_time
     fi;
     if
     :: SPINS && word[0] == kFree              /* spins */
     :: !SPINS && seen == kHeld ->
        atomic {
          assert(alive);
          if
          :: word[0] == kHeld -> word[0] = kHeldWithSleepers; seen = kHeldWithSleepers
          :: true                              /* the weak compare-and-swap failed */
          fi
        }
     :: else
     fi;
     if
     :: !SPINS && seen == kHeldWithSleepers -> slept = true; FUTEX_WAIT(1, word[0] == kHeldWithSleepers, ANY, timed, in_time)
     :: else
     fi
  od;
  if
  :: slept -> futex_wake_one(1, ANY); slept = false      /* pass_on() */
  :: else
  fi
}

/* lll_lock() and lll_timedlock(); __lll_lock_wait() sleeps at once if the word is 2 already. */
inline glibc_lock() {
  atomic { tatas_try_acquire(0); seen = word[0] };
  if
  :: !got && seen == kHeldWithSleepers -> FUTEX_WAIT(1, word[0] == kHeldWithSleepers, ANY, timed, in_time)
  :: else
  fi;
  tatas_acquire_sleeping(0)
}

active [THREADS] proctype thread() {
  byte round, seen;
  bool got, timed, slept;
  bool in_time = true;
  byte me = _pid;

  do
  :: round < ROUNDS ->
     if
     :: last && me == 0 -> gone == THREADS - 1           /* thread 0 destroys: it has to be the last */
     :: else
     fi;
     if
     :: timed = false
     :: !last -> timed = true
     fi;
     if
     :: acquire()
     :: GLIBC_MAY_LOCK -> glibc_lock()
     :: !last -> wait_until_free()
     fi;
     if
     :: got ->
        if
        :: last -> gone++
        :: else
        fi;
        tatas_release(0)
     :: else
     fi;
     atomic { in_time = true; timed = false; seen = 0; round++ }
  :: else -> break
  od;
  if
  :: me == 0 -> d_step { assert(word[0] == kFree); destroyed = true }
  :: else
  fi
}
