/* SPDX-License-Identifier: Apache-2.0
 * hle-scm: elision with software-assisted conflict management (Afek, Levy, Morrison: the transactions that conflict take
 * turns at an auxiliary lock). Main locks are abstract words here (tatas.pml has the real one), aux locks abstract mutexes.
 *
 *   enter(lock)   tries = kTries; loop: wait until the main lock is free; begin; subscribe to it; if held: abort, which uses
 *                 up no try. After an abort by conflict without aux: acquire aux, continue. After another: --tries; at 0:
 *                 acquire the main lock, release aux if mine, inside.
 *   inside        a transaction subscribes to further locks; a held one aborts it and uses up a try
 *   leave         commit, then release aux if mine. A holder releases the main lock
 *   give up       release aux if mine
 *
 * Two findings of the model determine where an aux lock must lie.
 *  1. It is released after the commit, when the mutex may be gone. So it must not lie in the mutex (mutant
 *     aux_in_the_mutex).
 *  2. In a table, two mutexes may share an aux lock. A holder of the first mutex that waits for the aux lock, and the owner
 *     of the aux lock that waits for the first mutex, deadlock (mutant shared_aux_waits_for_ever).
 * So a table needs either a bounded wait for aux, after which the thread continues without it (SHARED, BOUNDED), or places
 * that serve one lock at a time, so that no thread waits for another lock's aux (the configurations without SHARED, in
 * which each lock has its own aux that outlives it). src/locks/auxiliary_queue.h does the latter. This model does not have
 * threads that continue without an aux while another lock has the place.
 *
 * Checked: exclusion of holders, and no update is lost by sections, elided or not. No thread waits for ever, even with two
 * locks nested. Words and aux locks are free at the end. A mutex's memory is not touched after its release.
 *
 * Configurations: LOCKS, THREADS, ROUNDS sections per thread: of lock 0, of lock 1, or of 1 inside 0. DESTROYS: the last
 * section is of all locks, with no deadline, and thread 0 destroys them after its own.
 */
#define alive (!destroyed)

#include "htm.h.pml"

bool destroyed;
byte gone;                 /* threads that are in their last section, or past it */
byte finished;
byte word[LOCKS];          /* the main locks: the holder plus one, 0: free */
byte data[LOCKS], sections[LOCKS];
#ifdef SHARED
byte aux[1];
#define aux_of(l) aux[0]
#else
byte aux[LOCKS];
#define aux_of(l) aux[l]
#endif

#define AUX_IN_MUTEX false
#ifndef BOUNDED
#define BOUNDED false
#endif
#ifndef kTries
#define kTries 2
#endif

#define bit_of_word(l) (1 << (l))
#define bit_of_data(l) (16 << (l))
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

/* The transaction of lock `l` and all further ones up to `end`. */
inline run_elided() {
  {
    atomic { transaction[me] = kInside; k = l };
    do
    :: k == end -> break
    :: else ->
       atomic {
         assert(alive);
         has_read[me] = has_read[me] | bit_of_word(k);
         if
         :: word[k] != 0 && k == l -> transaction[me] = kDoomed; busy = true
         :: word[k] != 0 && k != l -> transaction[me] = kDoomed
         :: else -> k++
         fi
       }
    od;
    k = first;
    do
    :: k == end -> break
    :: else ->
       atomic {
         doom_by_load(bit_of_data(k)); has_read[me] = has_read[me] | bit_of_data(k);
         seen[k] = data[k];
         may_abort()
       };
       atomic { runs_on -> doom_by_store(bit_of_data(k)); has_written[me] = has_written[me] | bit_of_data(k); k++ }
    od;
    atomic {
      runs_on ->
      k = first;
      do
      :: k == end -> break
      :: else -> data[k] = seen[k] + 1; sections[k]++; k++
      od;
      if
      :: last -> gone++
      :: else
      fi;
      transaction_ends();
      committed = true
    }
  } unless {
    atomic { is_doomed -> transaction_ends() }
  }
}

/* The section of a thread that holds all its locks. */
inline run_as_holder() {
  k = first;
  do
  :: k == end -> break
  :: else ->
     atomic { doom_by_load(bit_of_data(k)); seen[k] = data[k] };
     atomic { doom_by_store(bit_of_data(k)); data[k] = seen[k] + 1; sections[k]++; k++ }
  od;
  if
  :: last -> gone++
  :: else
  fi
}

inline acquire_main() {
  if
  :: atomic { word[l] == 0 -> assert(alive); word[l] = me + 1; doom_by_store(bit_of_word(l)) }
  :: timed -> in_time = false
  fi
}

inline acquire_aux() {
  if
  :: atomic { aux_of(l) == 0 -> aux_of(l) = me + 1; mine = true }
  :: BOUNDED -> left--
  :: timed -> in_time = false
  fi
}

inline release_aux() {
  if
  :: mine -> atomic { assert(!AUX_IN_MUTEX || alive); assert(aux_of(l) == me + 1); aux_of(l) = 0; mine = false }
  :: else
  fi
}

/* After an abort that was not for a held lock. */
inline conflict_or_other() {
  if
  :: !mine -> acquire_aux()
  :: left--
  fi;
  if
  :: left == 0 && in_time ->
     acquire_main();
     if
     :: in_time -> release_aux(); l++; left = kTries
     :: else
     fi
  :: else
  fi
}

inline choose() {
  if
  :: last && me == 0 -> gone == THREADS - 1        /* thread 0 destroys: it has to be the last */
  :: else
  fi;
  if
  :: timed = false
  :: !last -> timed = true
  fi;
  if
  :: first = 0; end = LOCKS
  :: LOCKS > 1 && !last && me != 0 -> first = 0; end = 1       /* thread 0 always nests: fewer states */
  :: LOCKS > 1 && !last && me != 0 -> first = 1; end = 2
  fi
}

inline locks_are_clean() {
  d_step { assert(word[0] == 0); assert(data[0] == sections[0]) };
#if LOCKS > 1
  d_step { assert(word[1] == 0); assert(data[1] == sections[1]) }
#endif
}

active [THREADS] proctype thread() {
  byte round, first, end, l, k, left;
  byte seen[LOCKS];
  bool timed, mine, committed, busy;
  bool in_time = true;
  byte me = _pid;

  do
  :: round < ROUNDS ->
     choose();
     l = first; left = kTries;
     do
     :: committed || !in_time -> break
     :: !committed && in_time && l == end -> run_as_holder(); break
     :: !committed && in_time && l < end ->
        if
        :: word[l] == 0 -> assert(alive)           /* wait_until_free() */
        :: timed -> in_time = false
        fi;
        if
        :: in_time -> run_elided()
        :: else
        fi;
        if
        :: committed || busy || !in_time -> busy = false
        :: else -> conflict_or_other()
        fi
     od;
     release_aux();
     do
     :: l > first -> atomic { l--; assert(alive); assert(word[l] == me + 1); word[l] = 0; doom_by_store(bit_of_word(l)) }
     :: else -> break
     od;
     atomic {
       k = 0; seen[0] = 0;
#if LOCKS > 1
       seen[1] = 0;
#endif
       in_time = true; timed = false; committed = false; left = 0; l = 0; first = 0; end = 0; round++
     }
  :: else -> break
  od;
#ifdef DESTROYS
  if
  :: me == 0 -> locks_are_clean(); destroyed = true
  :: else
  fi;
#endif
  finished++;
  if
  :: finished == THREADS -> locks_are_clean(); assert(aux[0] == 0); assert(aux_of(LOCKS - 1) == 0)
  :: else
  fi
}
