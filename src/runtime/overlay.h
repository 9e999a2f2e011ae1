// SPDX-License-Identifier: Apache-2.0
// Where our lock state lies inside pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t and
// pthread_barrier_t, and what their kinds mean.
//
//   mutex
//   bytes  glibc       ours
//    0- 3  __lock      the word of tatas and htm-N: glibc's own protocol (locks/tatas.h)
//    4- 7  __count     depth of a recursive mutex, as in glibc
//    8-11  __owner     recursive and error-checking mutexes: thread id of the holder, as in glibc. In other
//                      mutexes only glibc writes it, after a wait on a condition, and our unlock clears it
//   12-15  __nusers    unused: zero, so that glibc's destroy finds no users
//   16-19  __kind      glibc's, never written
//   20-23  __spins, __elision: unused
//   24-39  __list      the state of ticket designs (locks/ticket.h) or the count of warm threads
//                      (locks/priority_wait.h); only robust mutexes use the list
//
//   reader-writer lock
//    0- 3  __readers          the state (locks/rwlock.h)
//    4- 7  __writers          the gate of designs that are not FIFO
//    8-11  __wrphase_futex    exclusive only: how often its holder entered again to read
//   12-15  __writers_futex    the fork generation of the waiters
//   24-27  __cur_writer       thread id of the writer, as in glibc
//   28-31  __shared           glibc's, never written
//   32-47  __rwelision, pads  the gate of FIFO designs; exclusive: bytes 24-39 of the mutex design
//   48-51  __flags            the kind: glibc's, never written
//
//   barrier
//    0-19  glibc's, which initialises it; __shared (12-15) says whether it is process-shared
//   20-23  0, or the number of the cell with our state (runtime/barrier.h)
//   24-31  a mark that tells our barriers from the rubbish that glibc's initialisation leaves here
//
// Zeros are a free lock, so static initialisers work unchanged. A spin lock is one word with glibc's protocol
// (locks/spin_word.h).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "locks/lock_words.h"
#include "locks/ticket.h"

namespace elision::runtime {

struct MutexOverlay {
  std::atomic<int> word;
  std::uint32_t count;
  std::atomic<int> owner;
  std::uint32_t users;
  int kind;
  std::uint32_t unused;
  union {
    locks::TicketState ticket;
    std::atomic<std::uint32_t> warm;
  };
};
static_assert(sizeof(MutexOverlay) == sizeof(pthread_mutex_t));
static_assert(offsetof(MutexOverlay, word) == offsetof(pthread_mutex_t, __data.__lock));
static_assert(offsetof(MutexOverlay, count) == offsetof(pthread_mutex_t, __data.__count));
static_assert(offsetof(MutexOverlay, owner) == offsetof(pthread_mutex_t, __data.__owner));
static_assert(offsetof(MutexOverlay, users) == offsetof(pthread_mutex_t, __data.__nusers));
static_assert(offsetof(MutexOverlay, kind) == offsetof(pthread_mutex_t, __data.__kind));
static_assert(offsetof(MutexOverlay, ticket) == offsetof(pthread_mutex_t, __data.__list));

inline MutexOverlay& overlay_of(pthread_mutex_t* mutex) { return *reinterpret_cast<MutexOverlay*>(mutex); }
inline constexpr locks::WordOffsets kMutexOffsets{.ticket = offsetof(MutexOverlay, ticket),
                                                  .warm = offsetof(MutexOverlay, warm)};
static_assert(offsetof(MutexOverlay, word) == 0);
inline locks::LockWords words_of(MutexOverlay& mutex) { return {&mutex.word, &kMutexOffsets}; }

/// The kind word (glibc nptl/pthreadP.h): type in bits 0-1, then robust, priority inheritance,
/// priority protection, process-shared, and two flags of glibc's own elision, which we ignore.
class MutexKind {
 public:
  explicit MutexKind(int raw) : raw_(static_cast<unsigned>(raw)) {}

  /// Whether we may lock it ourselves. Robust, priority and process-shared mutexes are glibc's, and so are
  /// destroyed ones (kind -1), for which glibc returns EINVAL.
  bool is_ours() const { return (raw_ & ~(kTypeBits | kGlibcElisionBits)) == 0; }
  /// Whether it is ours and has no owner to check. Adaptive mutexes differ only in glibc's way to wait.
  bool is_plain() const {
    const unsigned kind = raw_ & ~kGlibcElisionBits;
    return kind == PTHREAD_MUTEX_NORMAL || kind == PTHREAD_MUTEX_ADAPTIVE_NP;
  }
  bool is_normal() const { return (raw_ & ~kGlibcElisionBits) == PTHREAD_MUTEX_NORMAL; }
  bool is_recursive() const { return (raw_ & kTypeBits) == PTHREAD_MUTEX_RECURSIVE; }
  bool is_error_checking() const { return (raw_ & kTypeBits) == PTHREAD_MUTEX_ERRORCHECK; }

 private:
  static constexpr unsigned kTypeBits = 3;
  static constexpr unsigned kGlibcElisionBits = 256 | 512;
  unsigned raw_;
};

struct RwlockOverlay {
  std::atomic<int> state;
  std::atomic<int> gate;
  std::uint32_t depth;
  std::atomic<std::uint32_t> generation;
  std::uint32_t unused[2];
  std::atomic<int> writer;
  int shared;
  union {
    locks::TicketState ticket;
    std::atomic<std::uint32_t> warm;  // exclusive only
  };
  unsigned flags;

  /// Whether we may lock it ourselves. Process-shared ones are glibc's.
  bool is_ours() const { return shared == PTHREAD_PROCESS_PRIVATE; }
};
static_assert(sizeof(RwlockOverlay) <= sizeof(pthread_rwlock_t));
static_assert(offsetof(RwlockOverlay, writer) == offsetof(pthread_rwlock_t, __data.__cur_writer));
static_assert(offsetof(RwlockOverlay, shared) == offsetof(pthread_rwlock_t, __data.__shared));
static_assert(offsetof(RwlockOverlay, ticket) == offsetof(pthread_rwlock_t, __data.__rwelision));
static_assert(offsetof(RwlockOverlay, flags) == offsetof(pthread_rwlock_t, __data.__flags));

inline RwlockOverlay& overlay_of(pthread_rwlock_t* lock) { return *reinterpret_cast<RwlockOverlay*>(lock); }
inline constexpr locks::WordOffsets rwlock_offsets(bool writers_first) {
  return {.gate = offsetof(RwlockOverlay, gate),
          .ticket = offsetof(RwlockOverlay, ticket),
          .warm = offsetof(RwlockOverlay, warm),
          .generation = offsetof(RwlockOverlay, generation),
          .writers_first = writers_first};
}
inline constexpr locks::WordOffsets kRwlockOffsets = rwlock_offsets(false);
inline constexpr locks::WordOffsets kWritersFirstOffsets = rwlock_offsets(true);
static_assert(offsetof(RwlockOverlay, state) == 0);
inline locks::LockWords words_of(RwlockOverlay& lock) {
  const bool writers_first = lock.flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  return {&lock.state, writers_first ? &kWritersFirstOffsets : &kRwlockOffsets};
}

/// glibc's spin lock is a plain int.
inline locks::LockWords words_of(pthread_spinlock_t* lock) {
  return {.word = const_cast<std::atomic<int>*>(reinterpret_cast<volatile std::atomic<int>*>(lock))};
}
static_assert(sizeof(pthread_spinlock_t) == sizeof(std::atomic<int>));

/// The offset of the word with a condition variable's attributes and, in the bits above, its waiters
/// (__wrefs; nptl/pthreadP.h, nptl/pthread_cond_common.c). The word moved in 2.42, and distributions
/// backported that, so it is found by trial (find_condition_layout).
inline constinit std::size_t condition_kind_at = offsetof(pthread_cond_t, __data.__wrefs);

class CondKind {
 public:
  explicit CondKind(const pthread_cond_t* cond)
      : raw_(__atomic_load_n(
            reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(cond) + condition_kind_at),
            __ATOMIC_RELAXED)) {}
  bool is_shared() const { return (raw_ & 1) != 0; }
  clockid_t clock() const { return (raw_ & kMonotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME; }
  bool has_waiters() const { return raw_ >> 3 != 0; }

  static constexpr unsigned kMonotonic = 2;

 private:
  unsigned raw_;
};

struct BarrierOverlay {
  unsigned in, round, count;
  int shared;
  unsigned out;
  std::uint32_t cell;
  std::uint64_t mark;

  bool is_ours() const { return cell != 0 && mark == mark_of(cell); }
  void own(std::uint32_t number) {
    cell = number;
    mark = mark_of(number);
  }
  /// Returns the cell's number.
  std::uint32_t disown() {
    const std::uint32_t number = cell;
    mark = cell = 0;
    return number;
  }

 private:
  /// Different for each barrier, so that a copy or the rest of an old barrier is not taken for ours.
  std::uint64_t mark_of(std::uint32_t number) const {
    return (reinterpret_cast<std::uint64_t>(this) + number) * 0x9e3779b97f4a7c15ULL;
  }
};
static_assert(sizeof(BarrierOverlay) == sizeof(pthread_barrier_t));

inline BarrierOverlay& overlay_of(pthread_barrier_t* barrier) {
  return *reinterpret_cast<BarrierOverlay*>(barrier);
}

}  // namespace elision::runtime
