/* SPDX-License-Identifier: Apache-2.0
 * tatas-pri-aahtm: the tatas word and a counter `ready` of the threads that have speculated and wait for the lock, "warm"
 * (AAHTM paper, III-B and Fig. 4: n_rdy). While there are any, a cold thread takes the lock only after a sleep. With
 * parking and deadlines, which the paper has not.
 *
 *   lock     loop: load ready; 0 and try_acquire: done
 *                  below kMaxSpecs: speculate (a transaction that never commits: the thread comes back by its abort);
 *                    fetch_add(ready); loop: look, try_acquire: fetch_sub(ready), done
 *                                            enough looks: fetch_sub(ready), acquire_sleeping, done
 *                                            deadline: fetch_sub(ready), give up
 *                  enough looks: acquire_sleeping, done: a sleeper that is woken takes the lock whatever `ready` says
 *                  deadline: give up
 *   unlock   Tatas::release()
 *
 * `ready` decides only which threads try, not which may sleep: a release wakes a sleeper even if warm threads spin. The
 * sleeper takes the lock, or sleeps again with the word at 2.
 *
 * Checked: exclusion. No thread sleeps or stands back for ever. The word and `ready` are 0 when all threads are out, even
 * if some gave up, and `ready` is never negative. A cold thread that has not slept takes the lock only after it saw
 * `ready` at 0. After the exchange of a release nothing of the lock is touched.
 *
 * ROUNDS operations per thread, the last without deadline; then thread 0 destroys the lock. SPINS: threads spin for ever
 * and never sleep. A look without effect is not a step; otherwise waiting for ever could not be told from spinning.
 */
#ifndef THREADS
#define THREADS 3
#endif
#define WORDS 1
#define alive (!destroyed)

bool destroyed;
byte gone;               /* threads that are in their last section, or past it */
byte ready;

#include "tatas.h.pml"

#ifndef kMaxSpecs
#define kMaxSpecs 1
#endif

#define last (round == ROUNDS - 1)

inline becomes_warm() {
  d_step { assert(alive); ready++; assert(ready <= THREADS) }
}

inline is_warm_no_more() {
  d_step { assert(alive); assert(ready > 0); ready-- }
}

inline look_and_try() {
  atomic { tatas_look(0) };
  if
  :: seen == kFree -> atomic { tatas_try_acquire(0) }
  :: else
  fi
}

inline wait_warm() {
  becomes_warm();
  do
  :: look_and_try();
     if
     :: got -> is_warm_no_more(); break
     :: !got && word[0] == kFree               /* looks until it sees that */
     :: !got && !SPINS -> is_warm_no_more(); tatas_acquire_sleeping(0); break
     :: !got && timed -> is_warm_no_more(); in_time = false; break
     fi
  od
}

inline lock() {
  do
  :: got || !in_time -> break
  :: else ->
     atomic { assert(alive); seen_ready = ready };
     if
     :: seen_ready == 0 -> look_and_try(); assert(!got || seen_ready == 0)
     :: else
     fi;
     if
     :: got
     :: !got && seen_ready < kMaxSpecs -> wait_warm()
     :: !got && seen_ready >= kMaxSpecs && ready < kMaxSpecs       /* looks until it sees that */
     :: !got && seen_ready >= kMaxSpecs && !SPINS -> tatas_acquire_sleeping(0)
     :: !got && seen_ready >= kMaxSpecs && timed -> in_time = false
     fi
  od
}

active [THREADS] proctype thread() {
  byte round, seen, seen_ready;
  bool got, timed;
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
     lock();
     if
     :: got ->
        if
        :: last -> gone++
        :: else
        fi;
        tatas_release(0)
     :: else
     fi;
     atomic { in_time = true; timed = false; seen = 0; seen_ready = 0; round++ }
  :: else -> break
  od;
  if
  :: me == 0 -> d_step { assert(word[0] == kFree); assert(ready == 0); destroyed = true }
  :: else
  fi
}
