/* SPDX-License-Identifier: Apache-2.0
 * The barrier (src/locks/barrier.h): wait with speculation, parking and moving away, depart, await_departures. A round is
 * over when arrival TOTAL - 1 of it has added 2 to `release`; bit 0 of that says moved.
 *
 * A speculation aborts by a store to the word that it has read, or spuriously, at most ABORTS times in a run. (Without
 * this limit the model would not find a speculation that no store aborts.)
 *
 * Checked: no thread passes before its round has all arrivals. A round has one last thread. No thread waits for ever, even
 * if one moves all of them to another barrier before it arrives. Each round uses only one barrier. After the last thread
 * of the last round has destroyed the barrier, nothing of it is touched.
 *
 * Configurations: THREADS, TOTAL, ROUNDS passes per thread; DESTROYS; MOVES: any thread may move before any round; kTries
 * speculations per wait.
 */
#define alive (!destroyed)

#include "futex.h.pml"

#define ANY 1
#define RELEASE 1
#define DEPARTURES 2

bool destroyed;
byte release, arrivals, departures, sleepers;
bool awaited;                       /* bit 63 of departures */
bool speculates[THREADS], doomed[THREADS];
byte aborts_left = ABORTS;

/* Ghost state, which no thread reads. */
byte came;                          /* arrivals at any barrier */
bool ended[ROUNDS * THREADS];       /* rounds that had their last thread */
byte came_to_other[ROUNDS];
byte finished;

/* Part of the step of a store to `release`. */
inline doom() {
  d_step {
    doomed[0] = doomed[0] || speculates[0];
    doomed[1] = doomed[1] || speculates[1];
#if THREADS > 2
    doomed[2] = doomed[2] || speculates[2];
#endif
#if THREADS > 3
    doomed[3] = doomed[3] || speculates[3];
#endif
    skip
  }
}

#define is_over (seen >= goal)
#define is_moved ((seen & 1) != 0)

inline look() {
  atomic { assert(alive); seen = release }
}

inline wake() {
  atomic { assert(alive); count = sleepers };
  if
  :: count != 0 -> futex_wake_all(RELEASE, ANY)
  :: else
  fi
}

inline end_round() {
  atomic { assert(alive); release = release + 2; doom() };
  wake()
}

inline move_away() {
  look();
  if
  :: is_moved
  :: else ->
     atomic { assert(alive); release = release | 1; doom() };
     wake()
  fi
}

inline speculate() {
  atomic { assert(alive); seen = release; speculates[me] = true };
  if
  :: is_over || is_moved -> skip                     /* XABORT */
  :: else ->
     if
     :: doomed[me]
     :: aborts_left > 0 -> aborts_left--
     fi
  fi;
  d_step { speculates[me] = false; doomed[me] = false }
}

inline await_plainly() {
  if
  :: SPINS -> atomic { release >= goal || (release & 1) != 0 -> assert(alive) }
  :: atomic { assert(alive); sleepers++ };
     do
     :: look();
        if
        :: is_over || is_moved -> break
        :: else -> FUTEX_WAIT(RELEASE, release == seen, ANY, false, in_time)
        fi
     od;
     atomic { assert(alive); sleepers-- }
  fi
}

inline await() {
  do
  :: look();
     if
     :: is_over || is_moved -> break
     :: else ->
        if
        :: tries == kTries -> await_plainly(); break
        :: else -> speculate(); tries++
        fi
     fi
  od;
  look();
  tries = 0
}

inline depart() {
  atomic { assert(alive); departures++; wakes = awaited };
  if
  :: wakes -> futex_wake_one(DEPARTURES, ANY)
  :: else
  fi
}

inline await_departures() {
  do
  :: departures == arrivals -> break
  :: departures != arrivals ->
     atomic { awaited = true; seen = departures };
     if
     :: seen == arrivals -> break
     :: else -> FUTEX_WAIT(DEPARTURES, departures == seen, ANY, false, in_time)
     fi
  od
}

inline wait_at_the_other() {
  came_to_other[pass]++;
  came_to_other[pass] == TOTAL
}

active [THREADS] proctype thread() {
  byte pass, number, goal, seen, count, tries;
  bool in_time, wakes, last;
  byte me = _pid;

  do
  :: pass < ROUNDS ->
     if
     :: MOVES -> move_away()
     :: true
     fi;
     last = false;
     look();
     if
     :: is_moved -> came++; wait_at_the_other()
     :: else ->
        atomic { assert(alive); number = arrivals; arrivals++; came++ };
        goal = 2 * (number / TOTAL + 1);
        if
        :: number % TOTAL == TOTAL - 1 ->
           d_step { assert(!ended[number / TOTAL]); ended[number / TOTAL] = true };
           end_round(); last = true; seen = goal
        :: else -> await()
        fi;
        if
        :: is_over -> assert(came >= goal / 2 * TOTAL); depart()
        :: else -> wait_at_the_other()
        fi
     fi;
     pass++
  :: else -> break
  od;
  if
  :: DESTROYS && last ->
     await_departures();
     atomic { assert(sleepers == 0 && arrivals == ROUNDS * TOTAL); destroyed = true }
  :: else
  fi;
  d_step {
    finished++;
    if
    :: finished == THREADS -> assert(sleepers == 0 && came == ROUNDS * THREADS && (DESTROYS == destroyed))
    :: else
    fi
  }
}
