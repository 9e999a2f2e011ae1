/* SPDX-License-Identifier: Apache-2.0
 * Condition variables for elided sections (src/locks/condition.h): enrol(), sleep(), withdraw(), notify(),
 * send_deferred(), wait_until_left(). The mutex is abstract. An elided section is one step, taken while the mutex is free,
 * since its commit publishes all of its stores at once, and an abort none.
 *
 * Two consumers wait for tokens. Two producers put tokens and signal after each, inside the section or after it, or
 * broadcast. One of each kind has ROUNDS rounds, the other one round, so there is a token for each. Any section may be
 * elided. Checked: every consumer without a deadline gets its tokens, so no wake-up is lost. A signal wakes no thread that
 * came after it while an earlier one sleeps. At the end no waiter is counted. With DESTROYS nothing is touched after the
 * last broadcaster has seen all waiters leave.
 *
 * Four bits of a futex stand for 32, and kAhead is 2. Configurations: ROUNDS, TIMED (the waits of consumer 1 have a
 * deadline), DESTROYS.
 */
#define THREADS 4
#define kNobody 255
#define kAll 15
#define bit_of(number) (1 << ((number) % 4))
#define bits_before(number) (kAll & ~(bit_of(number) | bit_of((number) + 1)))

#include "futex.h.pml"

#define SEQUENCE 1         /* the number of the futex */

byte mutex = kNobody;
byte tokens;
byte sequence, waiters;
byte seen_by[THREADS];     /* the sequence with which a thread sleeps */
byte broadcasts_left = 2;  /* producers that have not ended */
byte finished;
bool destroyed;

#define alive (!destroyed)
#define timed (TIMED && me == 1)
#define rounds (me == 1 || me == 2 -> ROUNDS : 1)

inline unlock() {
  d_step { assert(mutex == me); mutex = kNobody }
}

/* Part of a section's step. */
inline enrol() {
  assert(alive); seen = sequence; seen_by[me] = seen; waiters++
}

inline sleep() {
  if
  :: sequence != seen
  :: else -> FUTEX_WAIT(SEQUENCE, sequence == seen, bit_of(seen), timed, in_time)
  fi
}

inline withdraw() {
  d_step { assert(alive); waiters--; seen = 0; seen_by[me] = 0 }
}

#define is_one(thread, mask) (IS_ASLEEP(thread, SEQUENCE, mask))
#define came_before(thread) (asleep_on[thread] == SEQUENCE && seen_by[thread] < raised)
#define somebody_came_before (came_before(0) || came_before(1))

/* A wake of one: the woken thread slept before the signal, unless none did. */
inline wake_one(mask) {
  atomic {
    if
    :: is_one(0, mask) -> assert(came_before(0) || !somebody_came_before); asleep_on[0] = 0; woken = true
    :: is_one(1, mask) -> assert(came_before(1) || !somebody_came_before); asleep_on[1] = 0; woken = true
    :: else -> woken = false
    fi
  }
}

/* wake() of one thread. */
inline wake_those_before() {
  wake_one(bits_before(raised));
  if
  :: !woken -> futex_wake_all(SEQUENCE, kAll)
  :: else
  fi;
  d_step { raised = 0; woken = false }
}

/* notify() of one thread, and of all. */
inline notify_one() {
  assert(alive);
  if
  :: waiters == 0
  :: else ->
     d_step { sequence++; raised = sequence };
     wake_those_before()
  fi
}

inline notify_all() {
  assert(alive);
  if
  :: waiters == 0
  :: else ->
     sequence++;
     futex_wake_all(SEQUENCE, kAll)
  fi
}

inline finishes() {
  d_step {
    finished++;
    assert(finished < THREADS || (waiters == 0 && mutex == kNobody))
  }
}

active [2] proctype consumer() {
  byte me = _pid;
  byte seen, taken;
  bool in_time = true;

  do
  :: taken == rounds -> break
  :: !in_time && tokens == 0 -> break
  :: else ->
     if
     :: atomic { mutex == kNobody -> mutex = me };
        if
        :: d_step { tokens > 0 -> tokens--; taken++ }; unlock()
        :: d_step { tokens == 0 -> enrol() };
           unlock();
           sleep();
           withdraw()
        fi
     :: atomic { mutex == kNobody && tokens > 0 -> tokens--; taken++ }
     :: atomic { mutex == kNobody && tokens == 0 -> enrol() };  /* the commit of a wait */
        sleep();
        withdraw()
     fi
  od;
  assert(taken == rounds || timed);
  finishes()
}

active [2] proctype producer() {
  byte me = _pid;
  byte raised, put;
  bool woken, is_last;

  do
  :: put == rounds -> break
  :: else ->
     put++;
     if
     :: atomic { mutex == kNobody -> mutex = me };
        tokens++;
        if
        :: notify_one(); unlock()
        :: unlock(); notify_one()
        :: notify_all(); unlock()
        fi
     :: atomic {
          mutex == kNobody -> tokens++;
          if
          :: waiters > 0 -> sequence++; raised = sequence
          :: else
          fi
        };                                         /* the commit; now the noted wakes are sent, by address only */
        if
        :: raised == 0
        :: raised != 0 -> wake_those_before()
        :: raised != 0 -> futex_wake_all(SEQUENCE, kAll); raised = 0
        fi
     fi
  od;
#ifdef DESTROYS
  atomic { broadcasts_left--; is_last = (broadcasts_left == 0) };
  if
  :: is_last ->
     atomic { mutex == kNobody -> mutex = me };
     notify_all();
     unlock();
     waiters == 0;                                 /* wait_until_left() */
     destroyed = true
  :: else
  fi;
#endif
  finishes()
}
