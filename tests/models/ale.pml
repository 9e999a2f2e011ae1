/* SPDX-License-Identifier: Apache-2.0
 * Amalgamated lock elision (ALE; Afek, Matveev, Moll, Shavit, DISC 2015), with the names of the paper.
 *
 *   fast path   a transaction (ale_fast.h.pml). It subscribes to section-lock, stores directly and logs which stripes it
 *               writes. If a fallback runs, the commit aborts if one of these stripes is locked
 *   fallback    one at a time, by ticket (ale_fallback.h.pml), beside fast paths. It writes its turn into the lock of a
 *               stripe and then reads the stripe; it buffers its writes. It runs in segments, which end at any operation.
 *               A segment is a transaction or runs in software
 *   write-back  at the end of the fallback: one transaction, or stores under section-lock
 *
 * A transaction commits in one step (htm.h.pml). In software, stores to locks go through a store buffer, as on x86: a
 * later load may come before them. Line 38 of the paper, the barrier after the store to fallback-lock, is left out. It is
 * not necessary, because stores keep their order: the next barrier or commit makes that store visible too.
 *
 * Checked: no update is lost. Every section sees consistent data, even a transaction that will abort. A section reads its
 * own writes. Fallbacks run one at a time, in the order of their tickets. A fast path aborts for a locked stripe only if the
 * fallback that runs has locked it. The write-back leaves its own stack frame alone. No thread waits for ever. Locks are
 * free at the end.
 *
 * Configurations: THREADS; ROUNDS sections per thread; kTries attempts in the fast path; STRIPES: 2, or 1 if both data share
 * a lock. A section reads both data and increments both or none. SKEW: it increments the thread's own if both are 0.
 * PRIVATE: thread 0 sets data 1 in its section and then increments data 0 outside; other threads increment data 0 in
 * sections if data 1 is 0. BEYOND: two fast paths that the paper does not have (ale_fast.h.pml).
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef kTries
#define kTries 1
#endif
#ifndef STRIPES
#define STRIPES 2
#endif
#ifndef BEYOND
#define BEYOND false
#endif

#include "htm.h.pml"

/* Places of shared variables. */
#define kSectionLock 1
#define kFallbackLock 2
#define stripe_of(a) ((a) % STRIPES)
#define bit_of_lock(a) (4 << stripe_of(a))
#define bit_of(a) (16 << (a))

/* Addresses: two data, and one in the fallback's stack. There, a function that the section calls has a local variable.
 * After its return the frame of the write-back lies at the same place. */
#define kData 2
#define kCallee 2
#define kAddresses 3
#define kCall 2            /* operations of a section in the fallback */
#define kReadsAgain 4
#define kEnd 6
#define kLocal 7           /* what that function stores */
#define kRuntime 9         /* what the write-back stores there */

byte memory[kAddresses];
byte lock_array[STRIPES];
byte fallback_lock, section_lock;
byte acquire_counter = 1, release_counter = 1;
chan store_buffer = [3] of { byte, byte };      /* the fallback's: where, value */

byte increments;           /* of data, in sections or outside */
byte finished;
byte fallbacks, served;    /* fallbacks inside, and the last ticket served */
byte locked;               /* the stripes that the fallback has locked */

#define value_of(a) ((a) == kCallee -> kLocal : seen[a] + 1)
#define in_software (transaction[me] == kOutside)

/* Aborts spuriously, or not. */
inline may_abort() {
  if
  :: true
  :: transaction[me] = kDoomed
  fi
}

/* What the data always fulfil, and what a section writes after it has read them. */
#if defined(SKEW)
#define is_consistent(first, second) (first + second <= 1)
#define change (seen[0] + seen[1] == 0 -> bit_of(me % kData) : 0)
#elif defined(PRIVATE)
#define is_consistent(first, second) (second <= 1)
#define change (me == 0 -> bit_of(1) : (seen[1] == 0 -> bit_of(0) : 0))
#else
#define is_consistent(first, second) (first == second)
#define change (bit_of(0) | bit_of(1))
#endif

inline decide() {
  assert(is_consistent(seen[0], seen[1]));
  if
  :: looks
  :: !looks -> writes = change
  fi
}

/* Part of the step that makes the writes visible: a commit. */
inline store_all(mask) {
  a = 0;
  do
  :: a == kAddresses -> break
  :: a < kAddresses && ((mask) & bit_of(a)) != 0 -> memory[a] = value_of(a); a++
  :: a < kAddresses && ((mask) & bit_of(a)) == 0 -> a++
  od
}

#include "ale_fast.h.pml"
#include "ale_fallback.h.pml"

/* Thread 0 increments data 0 outside of sections, if it has set data 1. */
inline use_privately() {
  d_step { doom_by_load(bit_of(0)); value = memory[0] };
  d_step { doom_by_store(bit_of(0)); assert(memory[0] == value); memory[0] = value + 1; increments++ }
}

active [THREADS] proctype thread() {
  byte round, left, turn, step, start, writes, log, log_at_start, address, value, a;
  byte seen[kData];
  bool looks, plain, unlogged, beside, committed;
  byte me = _pid;

  do
  :: round < ROUNDS ->
     atomic {
       left = kTries;
       if
       :: looks = true
       :: looks = false
       fi
     };
     do
     :: committed || left == 0 -> break
     :: else ->
        atomic {
          if
          :: plain = false
          :: BEYOND -> plain = true
          fi
        };
        run_fast();
        atomic {
          if
          :: left--                                  /* the hardware advises to retry */
          :: left = 0
          fi
        }
     od;
     if
     :: committed
     :: else -> run_fallback()
     fi;
#ifdef PRIVATE
     if
     :: me == 0 && !looks -> use_privately()
     :: else
     fi;
#endif
     atomic {
       increments = increments + ((writes & bit_of(0)) != 0 -> 1 : 0) + ((writes & bit_of(1)) != 0 -> 1 : 0);
       committed = false; looks = false; plain = false; left = 0; turn = 0; step = 0; writes = 0; log = 0;
       value = 0; a = 0; seen[0] = 0; seen[1] = 0; round++
     }
  :: else -> break
  od;
  finished++;
  if
  :: finished == THREADS ->
     d_step {
       assert(fallback_lock == 0 && section_lock == 0);
       assert(memory[0] + memory[1] == increments);
       assert(is_consistent(memory[0], memory[1]))
     }
  :: else
  fi
}

/* Makes the stores in the buffer visible, one by one. */
active proctype memory_system() {
  byte place, value;
  byte me = THREADS;

end:
  do
  :: atomic {
       store_buffer?place, value ->
       if
       :: place == kFallbackLock -> fallback_lock = value
       :: place == bit_of_lock(0) -> lock_array[0] = value
       :: STRIPES == 2 && place == bit_of_lock(1) -> lock_array[STRIPES - 1] = value
       fi;
       doom_by_store(place); place = 0; value = 0
     }
  :: finished == THREADS -> break
  od
}
