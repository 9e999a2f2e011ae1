/* SPDX-License-Identifier: Apache-2.0
 * htm-N (src/locks/elided.h): enter() and try_enter() with their subscription, the wait for a held lock, before or inside
 * of the transaction, and the fallback; leave(). A holder's wait is one step: tatas.pml has the sleepers.
 *
 * Every section does data[0]++ and data[1]++. Checked: no update is lost, and no section, elided or not, sees the two
 * differ. No thread waits for ever; in particular, no loop inside a transaction outlives the holder that it waits for. The
 * word is 0 at the end. After a commit or a release nothing of the lock is touched.
 *
 * Configurations: BUSY_INSIDE, BUSY_ABORTS (Busy::kInside, Busy::kAbort) and BUSY_COUNTS (the parameter busy_counts),
 * kTries, THREADS, ROUNDS sections per thread, by enter() or try_enter(). DESTROYS: the last is by enter(), and thread 0
 * destroys the lock after it.
 */
#ifndef BUSY_ABORTS
#define BUSY_ABORTS false
#endif
#define alive (!destroyed)

#include "htm.h.pml"

bool destroyed;
byte gone;                 /* threads that are in their last section, or past it */
byte finished;
byte word;                 /* 0: free, 1: held */
byte holders;
byte data[2];
byte sections;

#define kWord 1
#define kData0 2
#define kData1 4

#ifdef DESTROYS
#define last (round == ROUNDS - 1)
#else
#define last false
#endif

/* Aborts spuriously, or not. */
inline may_abort() {
  if
  :: true
  :: transaction[me] = kDoomed
  fi
}

/* begin(), the section and leave(), as a transaction. It ends with committed or without. */
inline run_elided() {
  {
    atomic { transaction[me] = kInside };
    atomic {                                         /* the subscription */
      runs_on -> assert(alive); has_read[me] = kWord;
      if
      :: word != 0 && !loops -> code_busy = true; transaction[me] = kDoomed
      :: word != 0 && loops -> looping = true
      :: word == 0
      fi
    };
    if
    :: looping -> false                              /* only the holder's release ends this, by its store */
    :: else
    fi;
    atomic { runs_on -> doom_by_load(kData0); has_read[me] = has_read[me] | kData0; seen0 = data[0]; may_abort() };
    atomic { runs_on -> doom_by_load(kData1); has_read[me] = has_read[me] | kData1; seen1 = data[1] };
    assert(seen0 == seen1);                          /* consistent even in a transaction that will abort */
    atomic { runs_on -> doom_by_store(kData0); has_written[me] = has_written[me] | kData0; may_abort() };
    atomic { runs_on -> doom_by_store(kData1); has_written[me] = has_written[me] | kData1 };
    atomic {                                         /* XEND */
      runs_on -> data[0] = seen0 + 1; data[1] = seen1 + 1; sections++;
      if
      :: last -> gone++
      :: else
      fi;
      transaction_ends();
      committed = true
    }
  } unless {
    atomic { is_doomed -> looping = false; transaction_ends() }
  }
}

/* Tatas::try_acquire(); in the fallback, Tatas::acquire(). */
inline take() {
  assert(alive); word = 1; holders++; assert(holders == 1); doom_by_store(kWord)
}

inline run_as_holder() {
  d_step { doom_by_load(kData0); seen0 = data[0] };
  d_step { doom_by_load(kData1); seen1 = data[1]; assert(seen0 == seen1) };
  d_step { doom_by_store(kData0); data[0] = seen0 + 1 };
  d_step { doom_by_store(kData1); data[1] = seen1 + 1; sections++ };
  if
  :: last -> gone++
  :: else
  fi;
  d_step { assert(alive); holders--; word = 0; doom_by_store(kWord) }
}

/* enter() or, if `tries`, try_enter(); the section and leave(). */
inline section() {
  do
  :: committed || left == 0 -> break
  :: else ->
     atomic { assert(alive); held = (word != 0) };
     if
     :: held && tries -> break
     :: held && !tries && !BUSY_INSIDE && !BUSY_ABORTS -> word == 0  /* wait_until_free() */
     :: else
     fi;
     loops = held && BUSY_INSIDE;
     run_elided();
     if
     :: committed -> break
     :: !committed && !tries && ((code_busy && !BUSY_ABORTS) || (held && BUSY_INSIDE && !BUSY_COUNTS))  /* was_waiting() */
     :: else -> left--
     fi;
     code_busy = false
  od;
  if
  :: committed
  :: atomic { !committed && word == 0 -> take() }; run_as_holder()             /* fall_back() */
  :: !committed && tries && word != 0                                          /* kBusy */
  fi
}

inline lock_is_clean() {
  d_step { assert(word == 0); assert(data[0] == sections && data[1] == sections) }
}

active [THREADS] proctype thread() {
  byte round, left, seen0, seen1;
  bool held, loops, looping, code_busy, committed, tries;
  byte me = _pid;

  do
  :: round < ROUNDS ->
     if
     :: last && me == 0 -> gone == THREADS - 1       /* thread 0 destroys: it has to be the last */
     :: else
     fi;
     left = kTries;
     if
     :: tries = false
     :: !last -> tries = true
     fi;
     section();
     atomic { committed = false; code_busy = false; held = false; loops = false; seen0 = 0; seen1 = 0; left = 0; round++ }
  :: else -> break
  od;
#ifdef DESTROYS
  if
  :: me == 0 -> lock_is_clean(); destroyed = true
  :: else
  fi;
#endif
  finished++;
  if
  :: finished == THREADS -> lock_is_clean()
  :: else
  fi
}
