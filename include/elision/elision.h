/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elision for programs whose source can be changed: locks whose sections run as hardware transactions if
 * the CPU has them, one transaction for a set of locks or for many small sections, and the reasons of
 * aborts. docs/guide/api.md explains all of it with examples.
 *
 * C11, and C++17; elision.hpp is for C++20. GCC and Clang, x86-64 Linux. Link libelision-api. Only
 * elision_speculating() and the markers of a part of a run need nothing to be linked.
 *
 * Every lock here promises the same: sections exclude each other as under an ordinary lock, and later
 * sections see their effects, whether they run as transactions or take the lock. An object of zeros is
 * ready for use, except for barriers and coarseners, which have a number. Only condition variables and
 * barriers must be destroyed. Errors are numbers of errno.h, as in pthreads; errno itself does not change.
 * Objects belong to one process, and must not be copied while in use.
 */
#ifndef ELISION_ELISION_H
#define ELISION_ELISION_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* ---- Version. */

#define ELISION_VERSION_MAJOR 0
#define ELISION_VERSION_MINOR 1
#define ELISION_VERSION_PATCH 0
#define ELISION_VERSION (ELISION_VERSION_MAJOR * 10000 + ELISION_VERSION_MINOR * 100 + ELISION_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The ELISION_VERSION that the library was built with. */
int elision_library_version(void);

/*
 * Ends the process with one line and exit code 2 unless the header's major and minor version are the
 * library's. Every file that includes this header checks this at load.
 */
void elision_require_version(int header_version);

#ifndef ELISION_IN_LIBRARY
/* Through the global offset table, as elision_speculating() below, so that a program without the library
 * runs. */
__attribute__((constructor)) static void elision_check_header(void) {
  void (*library)(int);
  __asm__(".weak elision_require_version\n\t"
          "{movq elision_require_version@GOTPCREL(%%rip), %0|mov %0, elision_require_version@GOTPCREL[rip]}"
          : "=r"(library));
  if (library != 0) library(ELISION_VERSION);
}
#endif

/* ---- Mutex. */

/* Not recursive: a thread that locks it twice deadlocks. */
typedef struct elision_mutex {
  int word;
} elision_mutex;
#define ELISION_MUTEX_INIT {0}

void elision_mutex_lock(elision_mutex* mutex);
/* 0, or EBUSY: it is held, or the calling thread's transaction is in its section. */
int elision_mutex_try_lock(elision_mutex* mutex);
/*
 * 0, or ETIMEDOUT: the time `until` on `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC) came first. EINVAL:
 * another clock, or nanoseconds out of range. A free lock is taken even if the time has passed.
 */
int elision_mutex_lock_until(elision_mutex* mutex, int clock, const struct timespec* until);
/* 0, or EPERM: it was not held. */
int elision_mutex_unlock(elision_mutex* mutex);

/* ---- Shared mutex: readers share, a writer is alone. Arriving readers wait behind a waiting writer. */

typedef struct elision_shared_mutex {
  int state;
  int gate;
  uint32_t generation;
} elision_shared_mutex;
#define ELISION_SHARED_MUTEX_INIT {0, 0, 0}

void elision_shared_mutex_lock(elision_shared_mutex* mutex);
int elision_shared_mutex_try_lock(elision_shared_mutex* mutex);
int elision_shared_mutex_lock_until(elision_shared_mutex* mutex, int clock, const struct timespec* until);
int elision_shared_mutex_unlock(elision_shared_mutex* mutex);

/* A reader must not lock it again for reading: a writer may wait in between. */
void elision_shared_mutex_lock_shared(elision_shared_mutex* mutex);
int elision_shared_mutex_try_lock_shared(elision_shared_mutex* mutex);
int elision_shared_mutex_lock_shared_until(elision_shared_mutex* mutex, int clock,
                                           const struct timespec* until);
int elision_shared_mutex_unlock_shared(elision_shared_mutex* mutex);

/*
 * A reader becomes the writer, with no writer in between: what it has read is still valid. 0: it then
 * leaves by elision_shared_mutex_unlock. EBUSY: another reader is inside, and the caller is still a reader.
 * Never waits, so two callers cannot deadlock. After EBUSY, unlock, lock for writing, and read again.
 */
int elision_shared_mutex_try_upgrade(elision_shared_mutex* mutex);

/* ---- Condition variable (TSX paper, 6.1). */

typedef struct elision_condition {
  uint32_t sequence;
  uint32_t waiters;
} elision_condition;
#define ELISION_CONDITION_INIT {0, 0}

/*
 * Called in a section of `mutex`: commits what the section has done, waits for a signal, and enters a
 * section again, perhaps as another transaction. May return without a signal. A transaction that elides
 * other locks too is aborted, and its sections run with their locks taken.
 */
void elision_condition_wait(elision_condition* condition, elision_mutex* mutex);
/* 0, ETIMEDOUT: `until` came first, or EINVAL (elision_mutex_lock_until). Always returns in the section. */
int elision_condition_wait_until(elision_condition* condition, elision_mutex* mutex, int clock,
                                 const struct timespec* until);
/* Wakes one waiter, or all. Inside a transaction: after its commit. */
void elision_condition_signal(elision_condition* condition);
void elision_condition_broadcast(elision_condition* condition);
/* Returns when no woken thread uses it any more. No thread may wait. */
void elision_condition_destroy(elision_condition* condition);

/* ---- Barrier (AAHTM paper, III-D). */

typedef struct elision_barrier {
  uint64_t state[16];
  unsigned threads;
} __attribute__((aligned(64))) elision_barrier;
#define ELISION_BARRIER_INIT(threads) {{0}, threads}

/* `threads`: per round; 0 threads behaves like 1. */
void elision_barrier_init(elision_barrier* barrier, unsigned threads);
/*
 * Returns when all threads of the round have called: 1 to one of them, 0 to the others. On a CPU with
 * always-abort transactions a waiting thread runs ahead in one (elision_speculating()). Aborts the calling
 * thread's transaction.
 */
int elision_barrier_wait(elision_barrier* barrier);
/* Waits until the threads of the last round have left. 0, or EBUSY: threads wait at the barrier. */
int elision_barrier_destroy(elision_barrier* barrier);

/* ---- Lock sets: one section under several mutexes (TSX paper, 5.2.1). */

/*
 * One transaction elides all mutexes. If they are taken instead, then in the order of their addresses, so
 * threads that take sets and hold no other lock cannot deadlock. A mutex may be named twice. Sets of more
 * than 16 mutexes are always taken.
 */
void elision_lockset_lock(elision_mutex* const* mutexes, size_t count);
/* Locks all (0) or none (EBUSY). Does not wait. */
int elision_lockset_try_lock(elision_mutex* const* mutexes, size_t count);
/* 0, or EPERM: one of them was not held; the others are released. Each may also be unlocked separately. */
int elision_lockset_unlock(elision_mutex* const* mutexes, size_t count);

/* ---- Coarsening: one transaction for several sections (TSX paper, 5.2.2). */

/*
 * Between begin and end, the sections of all locks of this header become one transaction. If it fails, the
 * sections run one by one, as without begin and end, so do not rely on the region to be atomic. Regions may
 * be nested. Two threads must not use the same region object at a time.
 */
typedef struct elision_region {
  elision_mutex own; /* the region's own lock, always free */
} elision_region;
#define ELISION_REGION_INIT {ELISION_MUTEX_INIT}

void elision_region_begin(elision_region* region);
void elision_region_end(elision_region* region);

/*
 * The same for the sections of a loop: a transaction stays open for as many sections as the granularity
 * says. Owned by one thread. A failed transaction is tried again. If it fails for good, as many sections
 * run one by one before the next transaction. Code between the sections runs in the transaction too.
 */
typedef struct elision_coarsener {
  elision_region region;
  uint32_t open;       /* sections left in the open transaction; 0: none is open */
  uint32_t one_by_one; /* sections to run one by one before the next transaction */
  uint32_t granularity;
  uint32_t most; /* the largest granularity; 0: it is fixed */
  uint32_t commits_in_a_row;
} elision_coarsener;

#define ELISION_COARSENER_ADAPTS 0
/* `granularity`: sections per transaction. ELISION_COARSENER_ADAPTS: it grows while transactions commit,
 * and halves when they abort by conflict, capacity or an instruction that no transaction may execute. */
void elision_coarsener_init(elision_coarsener* coarsener, uint32_t granularity);

/* For the functions below. */
void elision_coarsener_open(elision_coarsener* coarsener);
void elision_coarsener_close(elision_coarsener* coarsener);

/* Around each section, outside of its locks. Sections of one coarsener must not be nested. */
static inline void elision_coarsener_begin(elision_coarsener* coarsener) {
  if (coarsener->open == 0) elision_coarsener_open(coarsener);
}
static inline void elision_coarsener_end(elision_coarsener* coarsener) {
  if (coarsener->open > 1)
    --coarsener->open;
  else
    elision_coarsener_close(coarsener);
}
/*
 * Call it after the last section, and before waiting for another thread. Without it, the next operation
 * that no transaction survives aborts the transaction, and its sections run again; nothing else is lost.
 */
static inline void elision_coarsener_flush(elision_coarsener* coarsener) {
  if (coarsener->open != 0) elision_coarsener_close(coarsener);
}

/* Aborts a transaction that found a lock held. Does nothing outside of transactions. */
void elision_give_way(void);

/*
 * A section of a coarsener under one mutex: cheaper than begin and lock, unlock and end. The thread does
 * not record that it holds the mutex, so elision_mutex_try_lock of it inside may succeed.
 */
static inline void elision_coarsener_lock(elision_coarsener* coarsener, elision_mutex* mutex) {
  elision_coarsener_begin(coarsener);
  if (coarsener->open == 0)
    elision_mutex_lock(mutex);
  else if (__atomic_load_n(&mutex->word, __ATOMIC_ACQUIRE) != 0)
    elision_give_way();
}
static inline void elision_coarsener_unlock(elision_coarsener* coarsener, elision_mutex* mutex) {
  if (coarsener->open == 0) (void)elision_mutex_unlock(mutex);
  elision_coarsener_end(coarsener);
}

/* ---- Transactions, seen from inside and afterwards. */

/* Non-zero in any RTM transaction, by whatever code it was begun. */
int elision_in_transaction(void);

/*
 * Aborts the transaction, for a section that cannot or should not run as one. The section runs again from
 * its start with the lock taken (a region: section by section), and elision_in_transaction() is then 0.
 * Does nothing outside of transactions.
 */
void elision_abort(void);
static inline void elision_abort_if(int condition) {
  if (__builtin_expect(condition, 0)) elision_abort();
}
/* The same, with a constant from 0 to 127 that elision_last_abort() returns. */
#define ELISION_ABORT_IF(condition, code)                                          \
  do {                                                                             \
    if (__builtin_expect(!!(condition), 0) && elision_in_transaction())            \
      __asm__ volatile(".byte 0xc6, 0xf8, %c0" : : "i"((code) & 0x7f) : "memory"); \
  } while (0)

enum elision_cause {
  ELISION_CAUSE_NONE,      /* no transaction of this thread has aborted */
  ELISION_CAUSE_LOCK_BUSY, /* a lock was held */
  ELISION_CAUSE_EXPLICIT,  /* elision_abort(), ELISION_ABORT_IF, or another library's XABORT */
  ELISION_CAUSE_CONFLICT,  /* another thread accessed one of its lines */
  ELISION_CAUSE_CAPACITY,  /* it accessed too many lines */
  ELISION_CAUSE_NESTED,
  ELISION_CAUSE_DEBUG,
  ELISION_CAUSE_OTHER /* a system call, an interrupt, a fault, an instruction that aborts */
};

typedef struct elision_abort_status {
  uint64_t number;          /* aborts of this thread so far */
  uint32_t raw;             /* EAX after XBEGIN (Intel SDM volume 1, 16.3.5) */
  enum elision_cause cause; /* derived from it */
  int code;                 /* the code of ELISION_ABORT_IF; else -1 */
} elision_abort_status;

/* The calling thread's last abort of a transaction that this library began, at any lock. Speculation at a
 * barrier does not count. */
elision_abort_status elision_last_abort(void);

typedef struct elision_counts {
  uint64_t commits;   /* transactions */
  uint64_t fallbacks; /* locks taken: transactions failed or are off, or the process has one thread */
  uint64_t busy;      /* times that a lock was held */
  uint64_t aborts[8]; /* by enum elision_cause */
} elision_counts;

/* Counts of the calling thread since it began. On a CPU without transactions only `busy` counts. */
elision_counts elision_thread_counts(void);

/*
 * Non-zero only inside an always-abort transaction. Such a transaction runs ahead while another thread
 * holds the lock, and its writes never become visible. So the program may leave out code that would only
 * abort it early (input and output, writes to contended data). Zero in a transaction that may commit (an
 * elided lock), where every write counts.
 *
 * The preload library defines the function if it is loaded, else libelision-api, for its barriers. Without
 * both it is always zero. (A statically linked libelision-api comes first, and does not know of speculation
 * that the preload library imitates by ordinary RTM.) The function is found through the global offset
 * table, since an ordinary weak reference would be resolved to 0 when a position-dependent program is
 * linked.
 */
static inline int elision_speculating(void) __asm__("elision_speculating_in_program");
static inline int elision_speculating(void) {
  int (*library)(void);
  __asm__(".weak elision_speculating\n\t"
          "{movq elision_speculating@GOTPCREL(%%rip), %0|mov %0, elision_speculating@GOTPCREL[rip]}"
          : "=r"(library));
  return library != 0 && library();
}

/*
 * Markers of the part of a run that `elision vm` and `elision compare` simulate with --start marker and --stop
 * marker. Elsewhere they change nothing: each is the magic instruction of the simulator Sniper (sim_api.h) with
 * a number in RAX. Inside a transaction they do not count.
 */
static inline void elision_simulation_start(void) {
  unsigned long command = 1;
  __asm__ volatile("xchg{w %%bx, %%bx| bx, bx}" : "+a"(command) : : "memory");
}
static inline void elision_simulation_stop(void) {
  unsigned long command = 2;
  __asm__ volatile("xchg{w %%bx, %%bx| bx, bx}" : "+a"(command) : : "memory");
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
