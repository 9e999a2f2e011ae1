/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elision for programs that can be changed: locks whose sections run as hardware transactions where the CPU
 * has them, and what only the source can ask for: one transaction for a set of locks or for many small
 * sections, the reasons of aborts, other ways through a section. docs/guide/api.md has the whole with examples.
 *
 * C11, and C++17; elision.hpp is for C++20. GCC and Clang, x86-64 Linux. Link libelision-api. Only
 * elision_speculating() needs nothing to be linked.
 *
 * What every lock here promises: a section excludes what the lock would have excluded, and what it did is
 * visible to whoever is in afterwards, whether it ran as a transaction or with the lock really taken. An
 * object that is all zero is ready for use, but for barriers and coarseners, which have a number. Only
 * condition variables and barriers are to be destroyed. Errors are numbers of errno.h, as with pthreads;
 * errno is left alone. Objects are for one process, and may not be copied while in use.
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
 * Ends the process with one line and exit code 2 unless a program built with this header's version fits the
 * library: the same major and minor number. Every file that includes this header asks at load.
 */
void elision_require_version(int header_version);

#ifndef ELISION_IN_LIBRARY
/* Through the global offset table, as elision_speculating() below: a program without the library goes on. */
__attribute__((constructor)) static void elision_check_header(void) {
  void (*library)(int);
  __asm__(".weak elision_require_version\n\t"
          "{movq elision_require_version@GOTPCREL(%%rip), %0|mov %0, elision_require_version@GOTPCREL[rip]}"
          : "=r"(library));
  if (library != 0) library(ELISION_VERSION);
}
#endif

/* ---- Mutex. */

/* Not recursive: whoever locks it twice waits for itself. */
typedef struct elision_mutex {
  int word;
} elision_mutex;
#define ELISION_MUTEX_INIT {0}

void elision_mutex_lock(elision_mutex* mutex);
/* 0, or EBUSY: somebody holds it, or the calling thread's transaction is in it. */
int elision_mutex_try_lock(elision_mutex* mutex);
/*
 * 0, or ETIMEDOUT: `until` came first, a time on `clock`, CLOCK_REALTIME or CLOCK_MONOTONIC. EINVAL: another
 * clock, or nanoseconds out of range. A lock that is free is taken whatever the time.
 */
int elision_mutex_lock_until(elision_mutex* mutex, int clock, const struct timespec* until);
/* 0, or EPERM: it was not held. */
int elision_mutex_unlock(elision_mutex* mutex);

/* ---- Shared mutex: readers share, a writer is alone. A waiting writer keeps arriving readers out. */

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

/* A thread must not read twice at a time: a writer may have come in between. */
void elision_shared_mutex_lock_shared(elision_shared_mutex* mutex);
int elision_shared_mutex_try_lock_shared(elision_shared_mutex* mutex);
int elision_shared_mutex_lock_shared_until(elision_shared_mutex* mutex, int clock,
                                           const struct timespec* until);
int elision_shared_mutex_unlock_shared(elision_shared_mutex* mutex);

/*
 * A reader becomes the writer, with no writer in between: what it has read still holds. 0, and it leaves by
 * elision_shared_mutex_unlock; or EBUSY, and it still reads: another reader is inside. Never waits, so two
 * that try cannot wait for each other; whoever fails leaves, locks, and reads again.
 */
int elision_shared_mutex_try_upgrade(elision_shared_mutex* mutex);

/* ---- Condition variable (TSX paper, 6.1). */

typedef struct elision_condition {
  uint32_t sequence;
  uint32_t waiters;
} elision_condition;
#define ELISION_CONDITION_INIT {0, 0}

/*
 * In a section of `mutex`: waits for a signal and is in a section again, which may be another transaction
 * than before. What the section did until then is committed first. May return without a signal. In a
 * transaction that covers other locks too it ends that one, whose sections then run with their locks really
 * taken.
 */
void elision_condition_wait(elision_condition* condition, elision_mutex* mutex);
/* 0, or ETIMEDOUT: `until` came first, or EINVAL (elision_mutex_lock_until). In the section again all the
 * same. */
int elision_condition_wait_until(elision_condition* condition, elision_mutex* mutex, int clock,
                                 const struct timespec* until);
/* Wakes one that waits, all that wait; inside a transaction: once it has committed. */
void elision_condition_signal(elision_condition* condition);
void elision_condition_broadcast(elision_condition* condition);
/* Returns when nobody that was woken uses it any more. Nobody may wait. */
void elision_condition_destroy(elision_condition* condition);

/* ---- Barrier (AAHTM paper, III-D). */

typedef struct elision_barrier {
  uint64_t state[16];
  unsigned threads;
} __attribute__((aligned(64))) elision_barrier;
#define ELISION_BARRIER_INIT(threads) {{0}, threads}

/* `threads`: of a round; 0 is taken as 1. */
void elision_barrier_init(elision_barrier* barrier, unsigned threads);
/*
 * Returns when as many have called: 1 to one of them, 0 to the others. On a CPU with transactions that never
 * commit a waiting thread runs ahead in one (elision_speculating()). Ends a transaction that the thread is
 * in.
 */
int elision_barrier_wait(elision_barrier* barrier);
/* 0, when the threads of the last round have left it; EBUSY: some wait. */
int elision_barrier_destroy(elision_barrier* barrier);

/* ---- Lock sets: one section under several mutexes (TSX paper, 5.2.1). */

/*
 * One transaction for all of them, in place of one after the other. Where they are really taken, in the order
 * of addresses: threads that take sets, and hold nothing else meanwhile, never wait for each other in a
 * circle. A mutex may be named twice. Of more than 16 no transaction is made.
 */
void elision_lockset_lock(elision_mutex* const* mutexes, size_t count);
/* All or none: 0 or EBUSY. Does not wait. */
int elision_lockset_try_lock(elision_mutex* const* mutexes, size_t count);
/* 0, or EPERM: one of them was not held; the others were released. Each may also be unlocked alone. */
int elision_lockset_unlock(elision_mutex* const* mutexes, size_t count);

/* ---- Coarsening: one transaction for several sections (TSX paper, 5.2.2). */

/*
 * Between begin and end, sections become one transaction, whatever locks of this header they take. Where that
 * transaction fails, they run one by one as if begin and end were not there: so what counts on the whole
 * being atomic is wrong. Regions may be nested. One per thread at a time.
 */
typedef struct elision_region {
  elision_mutex own; /* nobody else's: a lock that is always free */
} elision_region;
#define ELISION_REGION_INIT {ELISION_MUTEX_INIT}

void elision_region_begin(elision_region* region);
void elision_region_end(elision_region* region);

/*
 * The same for the sections of a loop: the transaction stays open across them until their number is the
 * granularity. Owned by one thread. A transaction that fails is tried again; then as many sections run one by
 * one, and the next opens a transaction again. Code between the sections runs in the transaction too.
 */
typedef struct elision_coarsener {
  elision_region region;
  uint32_t open;       /* sections that the transaction may still take; 0: none is open */
  uint32_t one_by_one; /* sections to run by themselves before the next transaction */
  uint32_t granularity;
  uint32_t most; /* to which the granularity may grow; 0: it is fixed */
  uint32_t commits_in_a_row;
} elision_coarsener;

#define ELISION_COARSENER_ADAPTS 0
/* `granularity`: sections a transaction, or ELISION_COARSENER_ADAPTS: grows while they commit, halves as they
   abort by conflict, capacity or what no transaction survives. */
void elision_coarsener_init(elision_coarsener* coarsener, uint32_t granularity);

/* These two are what the functions below are made of. */
void elision_coarsener_open(elision_coarsener* coarsener);
void elision_coarsener_close(elision_coarsener* coarsener);

/* Around each section, outside of its locks. Sections of one coarsener are not nested. */
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
 * After the last section, and before anything that waits for another thread. Whoever forgets it loses an
 * abort and nothing else: what no transaction survives ends the transaction, and the sections run again.
 */
static inline void elision_coarsener_flush(elision_coarsener* coarsener) {
  if (coarsener->open != 0) elision_coarsener_close(coarsener);
}

/* Of a lock that a transaction found held: ends it. Outside of transactions nothing. */
void elision_give_way(void);

/*
 * A section of a coarsener under one mutex: begin and lock, unlock and end, for less. Nothing remembers that
 * the thread is in it, so a try to lock the mutex again inside may say that it is free.
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

/* Non-zero in any transaction of RTM, whoever began it. */
int elision_in_transaction(void);

/*
 * Ends the transaction, if the thread is in one, for a section that cannot or should not run as one: it runs
 * again from its start with the lock really taken (a region: section by section), and then
 * elision_in_transaction() says no. Outside of transactions nothing happens.
 */
void elision_abort(void);
static inline void elision_abort_if(int condition) {
  if (__builtin_expect(condition, 0)) elision_abort();
}
/* The same with a constant from 0 to 127, for elision_last_abort(). */
#define ELISION_ABORT_IF(condition, code)                                          \
  do {                                                                             \
    if (__builtin_expect(!!(condition), 0) && elision_in_transaction())            \
      __asm__ volatile(".byte 0xc6, 0xf8, %c0" : : "i"((code) & 0x7f) : "memory"); \
  } while (0)

enum elision_cause {
  ELISION_CAUSE_NONE,      /* no attempt of this thread has failed */
  ELISION_CAUSE_LOCK_BUSY, /* a lock was held */
  ELISION_CAUSE_EXPLICIT,  /* elision_abort() and its like, or another library's XABORT */
  ELISION_CAUSE_CONFLICT,  /* another thread wanted one of its lines */
  ELISION_CAUSE_CAPACITY,  /* it touched more than fits */
  ELISION_CAUSE_NESTED,
  ELISION_CAUSE_DEBUG,
  ELISION_CAUSE_OTHER /* a system call, an interrupt, a fault, an instruction that aborts */
};

typedef struct elision_abort_status {
  uint64_t number;          /* failed attempts of this thread so far: changes with each */
  uint32_t raw;             /* EAX after XBEGIN (Intel SDM volume 1, 16.3.5) */
  enum elision_cause cause; /* made of it */
  int code;                 /* what ELISION_ABORT_IF gave; else -1 */
} elision_abort_status;

/* How the calling thread's last attempt failed that this library began, at whatever lock. (Speculation at a
 * barrier is no attempt.) */
elision_abort_status elision_last_abort(void);

typedef struct elision_counts {
  uint64_t commits;   /* transactions */
  uint64_t fallbacks; /* locks really taken: transactions failed or are off, or no other thread lives */
  uint64_t busy;      /* times that a lock was found held */
  uint64_t aborts[8]; /* by enum elision_cause */
} elision_counts;

/* Of the calling thread, since it began. On a CPU without transactions only `busy` counts. */
elision_counts elision_thread_counts(void);

/*
 * Non-zero inside an always-abort transaction, and only there. Such a transaction runs ahead while
 * another thread holds the lock, and nothing that it writes ever becomes visible: so it may leave out
 * what would only end it early (input and output, writes to contended data). In a transaction that may
 * commit (an elided lock) the answer is zero: there every write counts.
 *
 * The preload library answers if it is there, else libelision-api for its barriers, and without either the
 * answer is always no. (Linked statically, libelision-api answers first, and does not know of speculation
 * that the preload library imitates by ordinary RTM.) The function is found through the global offset table:
 * an ordinary weak reference would be settled as "not there" when a position-dependent program is linked.
 */
static inline int elision_speculating(void) __asm__("elision_speculating_in_program");
static inline int elision_speculating(void) {
  int (*library)(void);
  __asm__(".weak elision_speculating\n\t"
          "{movq elision_speculating@GOTPCREL(%%rip), %0|mov %0, elision_speculating@GOTPCREL[rip]}"
          : "=r"(library));
  return library != 0 && library();
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
