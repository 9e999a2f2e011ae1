/* SPDX-License-Identifier: Apache-2.0
 * The gate of a condition variable (src/runtime/condition.cc): wait_at_gate() with leave_gate(), signal_at_gate(),
 * broadcast_at_gate(). The gate and the program's mutex are abstract mutexes. glibc's condition variable is a set of
 * registered waiters: pthread_cond_wait() registers, then releases the gate, then sleeps, then takes the gate again. A
 * wait may time out or be cancelled, which goes the same way, and end for no reason, SPURIOUS times.
 *
 * Consumers wait for tokens that producers put under the mutex; each producer then signals, with the mutex held or not, or
 * broadcasts. There is a token for each consumer. Checked: every consumer without deadline gets its token, so no signal is
 * lost between the release of the mutex and the registration; nobody waits for ever; no thread holds a gate as it begins
 * to wait for a mutex or for a gate; gate and mutex are free in the end.
 *
 * Configurations: CONDITIONS 1: two consumers, two producers. 2: a consumer and a producer for each of two condition
 * variables with a mutex each, which share one gate. TIMED: the waits of consumer 1 have a deadline.
 */
#define THREADS 4
#define kNobody 255

byte gate = kNobody;
byte mutex[CONDITIONS] = kNobody;
byte tokens[CONDITIONS];
byte waits_for[THREADS];           /* the condition variable plus one; 0: not registered, or signalled */
byte spurious_left = SPURIOUS;
byte finished;

#define timed (TIMED && me == 1)
#define condition_of(thread) ((thread) % CONDITIONS)

inline lock_mutex(which) {
  assert(gate != me);
  atomic { mutex[which] == kNobody -> mutex[which] = me }
}

inline unlock_mutex(which) {
  d_step { assert(mutex[which] == me); mutex[which] = kNobody }
}

inline lock_gate() {
  assert(gate != me);
  atomic { gate == kNobody -> gate = me }
}

inline unlock_gate() {
  d_step { assert(gate == me); gate = kNobody }
}

/* glibc's pthread_cond_wait(cond, gate) and its timed and cancelled ends. */
inline wait_in_glibc(which) {
  d_step { assert(gate == me); waits_for[me] = which + 1 };
  unlock_gate();
  atomic {
    if
    :: waits_for[me] == 0
    :: waits_for[me] != 0 && timed -> waits_for[me] = 0; in_time = false
    :: waits_for[me] != 0 && spurious_left > 0 -> spurious_left--; waits_for[me] = 0
    fi
  };
  lock_gate()
}

/* `owns`: without the mutex its unlock fails (EPERM), and the wait with it. */
inline wait_at_gate(which) {
  lock_gate();
  if
  :: owns ->
     unlock_mutex(which);
     wait_in_glibc(which);
     unlock_gate();                /* leave_gate() */
     lock_mutex(which)
  :: else -> unlock_gate()
  fi
}

inline cond_signal(which) {
  atomic {
    if
    :: waits_for[0] == which + 1 -> waits_for[0] = 0
    :: waits_for[1] == which + 1 -> waits_for[1] = 0
    :: else
    fi
  }
}

inline cond_broadcast(which) {
  d_step {
    if
    :: waits_for[0] == which + 1 -> waits_for[0] = 0
    :: else
    fi;
    if
    :: waits_for[1] == which + 1 -> waits_for[1] = 0
    :: else
    fi
  }
}

/* signal_at_gate() and broadcast_at_gate(). */
inline wake_at_gate(which) {
  lock_gate();
  if
  :: cond_broadcast(which)
  :: cond_signal(which)
  fi;
  unlock_gate()
}

inline finishes() {
  finished++;
  if
  :: finished == THREADS -> assert(gate == kNobody && mutex[0] == kNobody && mutex[CONDITIONS - 1] == kNobody)
  :: else
  fi
}

active [2] proctype consumer() {
  bool owns, got;
  bool in_time = true;
  byte me = _pid;

  if
  :: owns = true
  :: me == 0 -> owns = false       /* a mistake of the program, before it does it right */
  fi;
  if
  :: owns -> lock_mutex(condition_of(me))
  :: else
  fi;
  do
  :: owns && tokens[condition_of(me)] > 0 -> tokens[condition_of(me)]--; got = true; break
  :: owns && !in_time && tokens[condition_of(me)] == 0 -> break
  :: !owns || (in_time && tokens[condition_of(me)] == 0) ->
     wait_at_gate(condition_of(me));
     if
     :: owns
     :: else -> owns = true; lock_mutex(condition_of(me))
     fi
  od;
  unlock_mutex(condition_of(me));
  assert(got || timed);
  finishes()
}

active [2] proctype producer() {
  bool inside;
  byte me = _pid;

  lock_mutex(condition_of(me));
  tokens[condition_of(me)]++;
  if
  :: inside = true
  :: unlock_mutex(condition_of(me))
  fi;
  wake_at_gate(condition_of(me));
  if
  :: inside -> inside = false; unlock_mutex(condition_of(me))
  :: else
  fi;
  finishes()
}
