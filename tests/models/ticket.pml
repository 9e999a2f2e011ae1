/* SPDX-License-Identifier: Apache-2.0
 * ticket (src/locks/ticket.h): try_acquire, join, await, sleep_until, give_up, release with wake_passed; and the sleep of
 * ticket_wait.h, which ends some tickets before the thread's own. Numbers are small: kWindow for 16, kMostSleepers for
 * 65,535, four bits to sleep with for 32. adopt(), which is for fork, is left out.
 *
 * Checked: exclusion. The holder has the oldest ticket that is drawn and not given up. No thread waits for ever. At the end
 * the lock is free, with no ticket marked and no sleeper enrolled. After the step that serves the next ticket nothing of
 * the lock is touched.
 *
 * Configurations: kWindow, kMostSleepers; SPINS: waiters spin for ever, and a release that sees no ticket given up stores
 * `now` alone; EARLY: waiters may sleep until the ticket before theirs; LEAVING: waiters without
 * deadline may leave for good (if_left.h). ROUNDS operations per thread, each of any kind; the last is an acquire without
 * deadline, and then thread 0 destroys the lock. Thread 0 has no deadlines, to save states.
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef SPINS
#define SPINS 0
#endif
#ifndef LEAVING
#define LEAVING false
#endif
#define alive (!destroyed)

#include "futex.h.pml"

#define WORD 1
#define kNone 255

bool destroyed;
byte gone;                    /* threads that are in their last section, or past it */
byte next;
byte now, abandoned, sleepers;       /* one word: grant */
byte holders;
byte queued[THREADS];         /* the ticket that a thread has drawn and neither given up nor released, plus one */

#define last (round == ROUNDS - 1)
#define may_leave (LEAVING && !timed && !leaves && !last && me != 0)
#define bit_of(ticket) (1 << ((ticket) % kWindow))
#define sleep_bit(ticket) (1 << ((ticket) % 4))
#define goes_before(thread) (queued[thread] != 0 && queued[thread] < ticket + 1)

/* Also settled(), in one step: its compare-and-swap fails unless nothing has changed. */
inline load_grant() {
  assert(alive);
#if SPINS
  do
  :: (abandoned & bit_of(now)) != 0 -> abandoned = abandoned & ~bit_of(now); now++
  :: else -> break
  od;
#endif
  n = now; a = abandoned; s = sleepers
}
#define grant_is_unchanged (now == n && abandoned == a && sleepers == s)

/* Part of the step by which the thread learns that its ticket is served. */
inline holds_now() {
  got = true; holders++;
  assert(holders == 1);
  assert(!goes_before(0) && !goes_before(1));
#if THREADS > 2
  assert(!goes_before(2))
#endif
}

inline try_acquire() {
  atomic { load_grant() };
  atomic {
    assert(alive);
    if
    :: next == n -> ticket = n; next++; queued[me] = ticket + 1; holds_now()
    :: else
    fi
  }
}

inline enrol_sleeper() {
  atomic { load_grant() };
  do
  :: enrolled || s == kMostSleepers -> break
  :: else ->
     atomic {
       assert(alive);
       if
       :: grant_is_unchanged -> sleepers++; enrolled = true
       :: else -> load_grant()
       fi
     }
  od
}

inline sleep_until(target) {
  if
  :: SPINS                                           /* nobody would wake it */
  :: !SPINS -> enrol_sleeper()
  fi;
  do
  :: in_time ->
     atomic { load_grant() };
     if
     :: n >= target -> break
     :: n < target && may_leave -> leaves = true; break
     :: n < target
     fi;
     if
     :: enrolled -> FUTEX_WAIT(WORD, now == n, sleep_bit(target), timed, in_time)
     :: !enrolled && now != n                        /* pause_units(): looks until it sees that */
     :: !enrolled && timed -> in_time = false
     fi
  :: else -> break
  od;
  if
  :: enrolled -> atomic { assert(alive); assert(sleepers > 0); sleepers--; enrolled = false }
  :: else
  fi
}

/* join(). A thread with a deadline waits outside the queue until there is room, and may sleep there. */
inline join() {
  if
  :: !timed -> atomic { assert(alive); ticket = next; next++; queued[me] = ticket + 1 }
  :: else ->
     do
     :: queued[me] != 0 || !in_time -> break
     :: else ->
        atomic { assert(alive); ticket = next };
        atomic { load_grant() };
        if
        :: ticket - n < kWindow - 1 ->
           atomic {
             assert(alive);
             if
             :: next == ticket -> next++; queued[me] = ticket + 1
             :: else
             fi
           }
        :: else
        fi;
        if
        :: queued[me] != 0
        :: queued[me] == 0                           /* pause_units(): another look */
        :: !SPINS && queued[me] == 0 && ticket + 2 >= kWindow -> sleep_until(ticket + 2 - kWindow)
        :: queued[me] == 0 -> in_time = false
        fi
     od
  fi
}

inline give_up() {
  atomic { load_grant() };
  do
  :: n == ticket -> in_time = true; atomic { holds_now() }; break       /* served at the last moment */
  :: n != ticket && queued[me] == 0 -> break
  :: else ->
     atomic {
       assert(alive);
       if
       :: grant_is_unchanged -> abandoned = abandoned | bit_of(ticket); queued[me] = 0
       :: else -> load_grant()
       fi
     }
  od
}

inline await() {
  do
  :: got -> break
  :: !got && !in_time -> give_up(); break
  :: !got && in_time && leaves ->                    /* leave(); a sleep is undone at its end */
     atomic { load_grant() };
     if
     :: ticket - n >= kWindow -> sleep_until(ticket + 1 - kWindow)
     :: else
     fi;
     give_up();
     break
  :: else ->
     atomic {
       load_grant();                                 /* distance() */
       if
       :: n == ticket -> holds_now()
       :: else
       fi
     };
     if
     :: got
#if SPINS
     :: !got -> now != n                             /* pause_for(): looks until it sees that */
#else
     :: !got                                         /* pause_for() */
#endif
     :: !got && timed -> in_time = false             /* has_passed() */
     :: !SPINS && !got -> goal = ticket
     :: !got && may_leave -> leaves = true
     :: !got && EARLY -> goal = ticket - 1           /* TicketAahtm::wait() */
     fi;
     if
     :: goal != kNone -> sleep_until(goal); goal = kNone
     :: else
     fi
  od
}

inline after_release() {
  g = n + 1;
  do
  :: (a & bit_of(g)) != 0 -> a = a & ~bit_of(g); g++
  :: else -> break
  od
}

inline release() {
  atomic { load_grant() };
  atomic { assert(alive); assert(next != n) };
#if SPINS
  if
  :: a == 0 -> atomic { assert(alive && s == 0); now = n + 1; holders--; queued[me] = 0; got = false }
  :: else
  fi;
#endif
  do
  :: !got -> break
  :: else ->
     atomic {
       assert(alive);
       if
       :: grant_is_unchanged ->
          after_release();
          now = g; abandoned = a; holders--; queued[me] = 0; got = false
       :: else -> load_grant()
       fi
     }
  od;
  if
  :: s != 0 ->                                       /* wake_passed() */
     atomic {
       do
       :: n == g -> break
       :: else -> n++; bits = bits | sleep_bit(n)
       od;
       futex_wake_all(WORD, bits)
     }
  :: else
  fi
}

active [THREADS] proctype thread() {
  byte round, ticket, n, a, s, g, bits;
  byte goal = kNone;
  bool timed, got, enrolled, tries, leaves;
  bool in_time = true;
  byte me = _pid;

  do
  :: round < ROUNDS ->
     if
     :: last && me == 0 -> gone == THREADS - 1       /* thread 0 destroys: it has to be the last */
     :: else
     fi;
     if
     :: timed = false
     :: !last && me != 0 -> timed = true
     :: !last && me != 0 -> tries = true
     fi;
     if
     :: tries -> try_acquire()
     :: else ->
        join();
        if
        :: in_time -> await()
        :: else
        fi
     fi;
     if
     :: got ->
        if
        :: last -> gone++
        :: else
        fi;
        release()
     :: else
     fi;
     atomic {
       ticket = 0; n = 0; a = 0; s = 0; g = 0; bits = 0; tries = false; leaves = false; timed = false; in_time = true; round++
     }
  :: else -> break
  od;
  if
  :: me == 0 -> d_step { assert(next == now && abandoned == 0 && sleepers == 0); destroyed = true }
  :: else
  fi
}
