// SPDX-License-Identifier: Apache-2.0
// Locks of other projects whose waiters only spin, as a critical section can be built with them
// (alternative_locks.h). Nothing here is elided.
//
//  - TatasForm, TicketForm: the locks that the AAHTM authors measured, written again from a description of
//    their published code. Both are released by a plain store. The back-off of 16 to 1024
//    PAUSEs and the 16 PAUSEs for each place in the queue are theirs. Ours wait in units of time instead.
//  - TbbForm: oneTBB's spin_mutex (WORKLOADS_HAVE_TBB).
//  - CkForm, CkTicketForm: Concurrency Kit's spinlock, which is its fetch-and-store lock, and its ticket lock
//    (WORKLOADS_HAVE_CK).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#ifdef WORKLOADS_HAVE_TBB
#include <oneapi/tbb/spin_mutex.h>
#endif
#ifdef WORKLOADS_HAVE_CK
#include <spinlock/fas.h>  // ck_spinlock.h is not C++
#include <spinlock/ticket.h>

#include <climits>
#endif

namespace workloads {

inline void pause_times(unsigned times) {
  for (unsigned i = 0; i < times; ++i) __builtin_ia32_pause();
}

class TatasWord {
 public:
  void lock() {
    constexpr unsigned kLeast = 16, kMost = 1024;
    for (unsigned pauses = kLeast; !is_taken_by_me(); pauses = std::min(2 * pauses, kMost))
      pause_times(pauses);
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  bool is_taken_by_me() {
    return word_.load(std::memory_order_relaxed) == 0 && word_.exchange(1, std::memory_order_acquire) == 0;
  }

  std::atomic<std::uint32_t> word_{0};
};

class TicketWords {
 public:
  void lock() {
    constexpr unsigned kPausesForAPlace = 16;
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    while (const std::uint32_t places = mine - now_.load(std::memory_order_acquire))
      pause_times(kPausesForAPlace * places);
  }
  void unlock() { now_.store(now_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> now_{0}, next_{0};
};

#ifdef WORKLOADS_HAVE_CK
class CkWord {
 public:
  void lock() { ck_spinlock_fas_lock(&lock_); }
  void unlock() { ck_spinlock_fas_unlock(&lock_); }

 private:
  ck_spinlock_fas_t lock_ = CK_SPINLOCK_FAS_INITIALIZER;
};

class CkTicketWords {
 public:
  void lock() { ck_spinlock_ticket_lock(&lock_); }
  void unlock() { ck_spinlock_ticket_unlock(&lock_); }

 private:
  ck_spinlock_ticket_t lock_ = CK_SPINLOCK_TICKET_INITIALIZER;
};
#endif

/// A lock with lock() and unlock() as a Lock of ../alternative_locks.h.
template <class Words>
struct SpinForm {
  struct PerThread {};

  class Guard {
   public:
    Guard(SpinForm& form, PerThread&) : words_(form.words) { words_.lock(); }
    ~Guard() { words_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Words& words_;
  };

  static bool is_usable() { return true; }

  Words words;
};

using TatasForm = SpinForm<TatasWord>;
using TicketForm = SpinForm<TicketWords>;
#ifdef WORKLOADS_HAVE_TBB
using TbbForm = SpinForm<tbb::spin_mutex>;
#endif
#ifdef WORKLOADS_HAVE_CK
using CkForm = SpinForm<CkWord>;
using CkTicketForm = SpinForm<CkTicketWords>;
#endif

}  // namespace workloads
