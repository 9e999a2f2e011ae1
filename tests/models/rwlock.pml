/* SPDX-License-Identifier: Apache-2.0
 * rwlock: a reader-writer lock on one word and a gate. The gate is any mutex of the lock library. Here it is abstract, and
 * lets in any waiter.
 *
 *   state (32 bits)  | means
 *   -----------------+---------------------------------------------------------------------------------------------
 *   count (low bits) | readers inside
 *   kWriter          | a writer is inside; count is 0
 *   kSleeps          | a thread may sleep on the word: because a writer is inside, or (a writer) because readers are. The
 *                    | thread that ends this reason clears the flag in the same step and then wakes
 *   kWriterFirst     | a writer waits at the head of a lock that prefers writers: new readers queue behind it
 *
 * Writers queue at the gate. Its holder is the head, the only writer that waits on the word. Readers of a lock that
 * prefers writers queue at the gate too. Readers of other locks (pthread_rwlock_t by default) never use the gate: they
 * wait on the word, and only while a writer is inside. Otherwise a reader could stand behind a head that waits for another
 * reader; if that reader waits for the first one, which this kind of lock allows, both wait for ever (the mutant
 * readers_queue).
 *
 *   read_lock     s = state; until s has kWriter or kWriterFirst: CAS(s -> s + 1), done.
 *                 [lock prefers writers: gate.acquire]; s = state; loop: kWriter in s: wait; else CAS(s -> s + 1), done.
 *                 [gate.release]. Behind the gate kWriterFirst is never set: only the head sets it, for itself.
 *   write_lock    CAS(0 -> kWriter), done. A FIFO design leaves this out unless the gate is free.
 *                 gate.acquire; [lock prefers writers: state |= kWriterFirst]; s = state; loop: kWriter or count in s:
 *                 wait; else CAS(s -> kWriter), done: drops kSleeps and kWriterFirst. gate.release
 *   wait          a bounded number of looks; then CAS(s -> s | kSleeps), futex_wait(state, s | kSleeps), look again
 *   give up       a writer that set kWriterFirst: state &= ~kWriterFirst. No wake-up is needed: readers that the flag keeps
 *                 out are at the gate. A thread with the gate: gate.release. kSleeps stays; it goes with its reason.
 *   read_unlock   CAS(s -> s - 1), at count 1 without kSleeps; if that dropped kSleeps: wake one
 *   try_upgrade   s = state; while count in s is 1: CAS(s -> s - 1 | kWriter), done: kSleeps and kWriterFirst stay. Else
 *                 another reader is inside, and this one stays a reader
 *   write_unlock  s = fetch_and(~(kWriter | kSleeps)); if s had kSleeps: wake all
 *   try           the first line of read_lock and of write_lock
 *
 * The wake-up of read_unlock is for the head. It may go to a reader that a write_unlock has freed and not yet woken; then
 * that writer's wake-up of all is still to come. After the releasing step nothing of the lock is touched (it may be
 * destroyed): a wake-up uses only the address.
 *
 * Checked: a writer excludes all others. No thread sleeps for ever. Without PREFER_WRITER, a reader inside enters again
 * without waiting even if others wait, and a reader waits only while a writer is inside. With PREFER_WRITER, no reader
 * passes kWriterFirst. kSleeps lasts no longer than its reason. The word is 0 when all threads are out, even if some gave
 * up. Nothing of a destroyed lock is touched.
 *
 * Configurations: PREFER_WRITER. ROUNDS operations per thread, each of any kind, with or without deadline; the last has
 * none, and then thread 0 destroys the lock. DEPENDENT: two writers, a reader, and a reader that may stay inside until the
 * other one has been. UPGRADE: readers may try to become writers. SPURIOUS: futex.h.pml.
 */
#ifdef DEPENDENT
#define THREADS 4
#else
#define THREADS 3
#endif
#include "futex.h.pml"

#define kCount 7
#define kWriter 8
#define kSleeps 16
#define kWriterFirst 32

#define READERS_QUEUE PREFER_WRITER

#define WORD 1
#define ANY 1

byte state;
byte gate;               /* its holder plus one; 0: free */
byte readers_inside, writers_inside;
byte gone;               /* threads that are in their last section, or past it */
bool destroyed;
bool other_reader_has_been;

#define last (round == ROUNDS - 1)
#define alive (!destroyed)
#define sleeps_for_a_reason ((state & kSleeps) == 0 || (state & (kWriter | kCount)) != 0)

/* Every atomic block below is one access to shared memory with the thread's private work after it. Ghosts change in the
 * same step. */

inline load() {
  assert(alive); s = state
}

/* Compare-and-swap; a failed one loads, as in C++. */
inline cas(desired) {
  assert(alive);
  if
  :: state == s -> state = desired; swapped = true; assert(sleeps_for_a_reason)
  :: else -> s = state; swapped = false
  fi
}

inline read_cas() {
  cas(s + 1);
  if
  :: swapped ->
     got = true; readers_inside++; assert(writers_inside == 0);
     assert((s & kWriterFirst) == 0)           /* no reader passes a writer that goes first */
  :: else
  fi
}

inline write_cas() {
  cas(kWriter);
  if
  :: swapped -> got = true; writers_inside++; assert(writers_inside == 1 && readers_inside == 0)
  :: else
  fi
}

inline gate_acquire() {
  if
  :: atomic { gate == 0 -> assert(alive); gate = me + 1 }
  :: timed -> in_time = false
  fi
}

inline gate_release() {
  d_step { assert(alive); assert(gate == me + 1); gate = 0 }
}

/* `s` keeps the thread out: it looks again, or sleeps first. */
inline wait_on_word() {
  if
  :: skip
  :: timed -> in_time = false                  /* passed while it looked */
  :: atomic { cas(s | kSleeps) };
     if
     :: swapped -> FUTEX_WAIT(WORD, state == (s | kSleeps), ANY, timed, in_time)
     :: else
     fi
  fi;
  if
  :: in_time -> atomic { load(); swapped = false }
  :: else
  fi
}

inline read_lock() {
  atomic { load(); swapped = false };
  do                                           /* the fast path */
  :: got || (s & (kWriter | kWriterFirst)) != 0 -> break
  :: else -> atomic { read_cas() }
  od;
  if
  :: got
  :: else ->
     assert(depth == 0 || PREFER_WRITER);      /* a reader inside never waits */
     choose_deadline();
     if
     :: READERS_QUEUE -> gate_acquire(); queued = in_time
     :: else
     fi;
     if
     :: in_time -> atomic { load() }
     :: else
     fi;
     do
     :: !in_time || got -> break
     :: else ->
        assert(!queued || (s & kWriterFirst) == 0);
        if
        :: (s & kWriter) != 0 -> wait_on_word()
        :: else -> atomic { read_cas() }
        fi
     od;
     if
     :: queued -> gate_release(); queued = false
     :: else
     fi
  fi
}

inline write_lock() {
  if
  :: s = 0; atomic { write_cas() }
  :: skip                                      /* FIFO: a thread is at the gate */
  fi;
  if
  :: got
  :: else ->
     choose_deadline();
     gate_acquire();
     if
     :: in_time ->
        if
        :: PREFER_WRITER -> d_step { assert(alive); state = state | kWriterFirst }
        :: else
        fi;
        atomic { load() };
        do
        :: !in_time || got -> break
        :: else ->
           if
           :: (s & (kWriter | kCount)) != 0 -> wait_on_word()
           :: else -> atomic { write_cas() }
           fi
        od;
        if
        :: PREFER_WRITER && !got -> d_step { assert(alive); state = state & ~kWriterFirst }
        :: else
        fi;
        gate_release()
     :: else
     fi
  fi
}

inline read_unlock() {
  atomic { load(); assert((s & kCount) != 0); swapped = false };
  do
  :: swapped -> break
  :: else ->
     atomic {
       if
       :: (s & kCount) == 1 -> t = (s - 1) & ~kSleeps
       :: else -> t = s - 1
       fi;
       cas(t);
       if
       :: swapped -> readers_inside--
       :: else
       fi
     }
  od;
  if
  :: (s & kCount) == 1 && (s & kSleeps) != 0 -> futex_wake_one(WORD, ANY)
  :: else
  fi
}

#ifdef UPGRADE
inline try_upgrade() {
  atomic { load(); swapped = false };
  do
  :: swapped || (s & kCount) != 1 -> break
  :: else ->
     atomic {
       cas((s & ~kCount) | kWriter);
       if
       :: swapped ->
          writes = true; readers_inside--; writers_inside++;
          assert(writers_inside == 1 && readers_inside == 0)
       :: else
       fi
     }
  od
}
#endif

inline write_unlock() {
  d_step {
    assert(alive);
    s = state; state = state & ~(kWriter | kSleeps); writers_inside--; assert(sleeps_for_a_reason)
  };
  if
  :: (s & kSleeps) != 0 -> futex_wake_all(WORD, ANY)
  :: else
  fi
}

/* The operation of thread `me` in this round. */
inline choose() {
#ifdef DEPENDENT
  writes = me < 2
#else
  if                                           /* thread 0 writes only: fewer states */
  :: writes = true
  :: me != 0 -> writes = false
  fi;
  if
  :: last && me == 0 -> gone == THREADS - 1    /* thread 0 destroys: it has to be the last */
  :: else
  fi
#endif
}

inline choose_deadline() {
#ifdef DEPENDENT
  timed = false
#else
  if
  :: timed = false
  :: !last -> timed = true
  fi
#endif
}

/* The section of a thread. */
inline section() {
#ifdef DEPENDENT
  if
  :: me == 2 -> other_reader_has_been
  :: me == 2
  :: me == 3 -> other_reader_has_been = true
  :: else
  fi
#else
  if
  :: last -> gone++
  :: else
  fi
#endif
}

active [THREADS] proctype thread() {
  byte s, t, round, depth;
  bool writes, timed, got, swapped, queued;
  bool in_time = true;
  byte me = _pid;

  do
  :: round < ROUNDS ->
     choose();
     if
     :: writes -> write_lock()
     :: else ->
        do
        :: read_lock();
           if
           :: got && depth == 0 && !PREFER_WRITER && !last -> depth = 1; got = false   /* again, inside */
           :: !got || depth == 1 || PREFER_WRITER || last -> break
           fi
        od
     fi;
     if
     :: got ->
#ifdef UPGRADE
        if
        :: !writes && depth == 0 -> try_upgrade()
        :: skip
        fi;
#endif
        section();
        if
        :: writes -> write_unlock()
        :: else ->
           do
           :: read_unlock();
              if
              :: depth == 1 -> depth = 0
              :: else -> break
              fi
           od
        fi
     :: else
     fi;
     atomic { in_time = true; timed = false; writes = false; got = false; swapped = false; s = 0; t = 0; round++ }
  :: else -> break
  od;
#ifndef DEPENDENT
  if
  :: me == 0 -> d_step { assert(state == 0); assert(gate == 0); destroyed = true }
  :: else
  fi
#endif
  skip
}
