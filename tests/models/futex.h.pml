/* SPDX-License-Identifier: Apache-2.0
 * futex(2) as locks see it (src/locks/futex.h). THREADS is set before this file is included.
 *
 * A wait compares and enqueues in one step. It may end spuriously, at most SPURIOUS times in a run by all threads
 * together; without this limit a lost wake-up would not be found. A thread's deadline may pass at any time while it
 * sleeps. A wake takes any sleeper, since the kernel promises no order. A sleeper that was woken returns as woken even if
 * its deadline passed in between, as in the kernel.
 */
#ifndef SPURIOUS
#define SPURIOUS 1
#endif

byte asleep_on[THREADS];     /* the number of the word, from 1; 0: awake */
byte asleep_bits[THREADS];
byte spurious_left = SPURIOUS;

/* `holds`: the condition on word `number` at the moment of sleeping. `in_time` false: the deadline passed. */
#define FUTEX_WAIT(number, holds, bits, timed, in_time)                        \
  atomic {                                                                     \
    if                                                                         \
    :: (holds) -> asleep_on[me] = number; asleep_bits[me] = bits               \
    :: else                                                                    \
    fi                                                                         \
  };                                                                           \
  atomic {                                                                     \
    if                                                                         \
    :: asleep_on[me] == 0 -> in_time = true                                    \
    :: asleep_on[me] != 0 && spurious_left > 0 ->                              \
       spurious_left--; asleep_on[me] = 0; in_time = true                      \
    :: asleep_on[me] != 0 && timed -> asleep_on[me] = 0; in_time = false       \
    fi;                                                                        \
    asleep_bits[me] = 0                                                        \
  }

#define IS_ASLEEP(thread, number, bits) \
  (asleep_on[thread] == number && (asleep_bits[thread] & (bits)) != 0)

inline futex_wake_one(number, bits) {
  atomic {
    if
    :: IS_ASLEEP(0, number, bits) -> asleep_on[0] = 0
    :: IS_ASLEEP(1, number, bits) -> asleep_on[1] = 0
#if THREADS > 2
    :: IS_ASLEEP(2, number, bits) -> asleep_on[2] = 0
#endif
#if THREADS > 3
    :: IS_ASLEEP(3, number, bits) -> asleep_on[3] = 0
#endif
    :: else
    fi
  }
}

inline futex_wake_all(number, bits) {
  d_step {
    if
    :: IS_ASLEEP(0, number, bits) -> asleep_on[0] = 0
    :: else
    fi;
    if
    :: IS_ASLEEP(1, number, bits) -> asleep_on[1] = 0
    :: else
    fi;
#if THREADS > 2
    if
    :: IS_ASLEEP(2, number, bits) -> asleep_on[2] = 0
    :: else
    fi;
#endif
#if THREADS > 3
    if
    :: IS_ASLEEP(3, number, bits) -> asleep_on[3] = 0
    :: else
    fi;
#endif
    skip
  }
}
