// SPDX-License-Identifier: Apache-2.0
// hle-scm: software-assisted conflict management (Afek, Levy, Morrison: "Software-improved hardware lock
// elision", PODC 2014; the ALE paper's comparison, section 3). A thread whose transaction aborted by conflict
// takes an auxiliary FIFO lock before it tries again. Threads that conflict run one after the other, other
// threads are not disturbed, and the lock itself stays free for all.
//
// Invariants:
//  - The auxiliary locks lie in a table, not in the lock, because they are released after the commit, when
//    the lock may already be destroyed.
//  - A place of the table serves one lock at a time. If another lock uses it, a thread continues without an
//    auxiliary lock. Waiting for the place could deadlock: its users may wait for a lock that this thread
//    holds.
//  - An auxiliary lock is held between attempts only. It is released after the commit, when the real lock is
//    taken, when the thread gives up, and when the thread leaves for good (if_left.h). So its holder waits at
//    most for the holder of the same lock.
//  - Only finished() undoes the use of a place. The ticket's number tells whether the ticket is still to be
//    released, so finished() may run again wherever it was interrupted. left() wakes the next waiter once
//    more, because the thread may have left between serving the next ticket and waking its waiter.
//  - The cover (if_left.h) ends with the call that waits. A thread that leaves later, in finished() after the
//    commit, keeps its ticket or leaves the next waiter asleep, and the queue stops. Waiters with a deadline
//    then continue without it, and the lock itself stays free.
//  - A thread that leaves between a change of `users` and the record of it stays counted. From then on the
//    place serves only this lock, and threads of other locks continue without it. A thread that leaves
//    between drawing a ticket and recording it blocks the queue, as in every ticket lock (if_left.h).
#pragma once

#include "locks/elided.h"
#include "locks/if_left.h"
#include "locks/ticket.h"

namespace elision::locks {

struct alignas(64) AuxiliaryPlace {
  std::atomic<std::uint64_t> users;  // bits 0-47: the lock served; 48-63: threads that wait or hold
  TicketState queue;
};

inline constexpr std::size_t kAuxiliaryPlaces = 64;
inline constinit AuxiliaryPlace auxiliary_places[kAuxiliaryPlaces]{};

template <class Waiting>
struct AuxiliaryQueue {
  static constexpr bool kWaits = true;

  /// False: the deadline passed first.
  static bool after_conflict(LockWords words, TransactionContext& me, const Deadline* deadline) {
    if (me.auxiliary != nullptr) return true;
    AuxiliaryPlace& place = place_of(words.word);
    me.has_auxiliary_ticket = false;
    if (!join(place, address_of(words.word))) return true;
    me.auxiliary = &place;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    TicketPlace wait{place.queue};
    if (!Queue::join(place.queue, deadline, wait.ticket)) return give_up(me);
    wait.has_ticket = true;
    const IfLeft if_left(&Queue::leave, &wait);
    if (Queue::await(wait, deadline) == Outcome::kTimedOut) return give_up(me);
    me.auxiliary_ticket = wait.ticket;
    me.has_auxiliary_ticket = true;
    return true;
  }

  /// For IfLeft: the thread leaves for good, during its wait or between two attempts.
  static void left(TransactionContext& me) {
    if (me.auxiliary != nullptr && me.has_auxiliary_ticket) Queue::wake(me.auxiliary->queue);
    finished(me);
  }

  /// Outside of transactions: the section has ended or holds the real lock.
  static void finished(TransactionContext& me) {
    if (me.auxiliary == nullptr) [[likely]]
      return;
    AuxiliaryPlace& place = *me.auxiliary;
    if (me.has_auxiliary_ticket && Queue::distance(place.queue, me.auxiliary_ticket) == 0)
      Queue::release(place.queue);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    me.auxiliary = nullptr;
    leave(place);
  }

 private:
  using Queue = Ticket<Waiting>;

  static constexpr std::uint64_t kOneUser = std::uint64_t{1} << 48;
  static constexpr std::uint64_t kLockBits = kOneUser - 1;
  static constexpr std::uint64_t kMostUsers = 0xffff;

  static std::uint64_t address_of(const void* word) {
    return reinterpret_cast<std::uint64_t>(word) & kLockBits;  // addresses of user space have 47 bits
  }
  static AuxiliaryPlace& place_of(const void* word) {
    return auxiliary_places[address_of(word) * 0x9e3779b97f4a7c15ULL >> 58];
  }
  static_assert(kAuxiliaryPlaces == 1u << (64 - 58));

  /// False: the place serves another lock, or as many threads as it can count.
  static bool join(AuxiliaryPlace& place, std::uint64_t lock) {
    std::uint64_t users = place.users.load(std::memory_order_relaxed);
    std::uint64_t joined;
    do {
      const std::uint64_t served = users & kLockBits;
      if ((users != 0 && served != lock) || users >> 48 == kMostUsers) return false;
      joined = (users == 0 ? lock : users) + kOneUser;
    } while (!place.users.compare_exchange_weak(users, joined, std::memory_order_acquire,
                                                std::memory_order_relaxed));
    return true;
  }

  static bool give_up(TransactionContext& me) {
    finished(me);
    return false;
  }

  static void leave(AuxiliaryPlace& place) {
    std::uint64_t users = place.users.load(std::memory_order_relaxed);
    std::uint64_t left;
    do {
      left = users >> 48 == 1 ? 0 : users - kOneUser;
    } while (!place.users.compare_exchange_weak(users, left, std::memory_order_release,
                                                std::memory_order_relaxed));
  }
};

/// In the child of a fork: the parent's waiters are gone. No thread holds a place across a fork, since fork
/// is a system call and aborts transactions.
inline void reset_auxiliary_places() {
  for (AuxiliaryPlace& place : auxiliary_places) {
    place.users.store(0, std::memory_order_relaxed);
    Ticket<Spin>::forget(place.queue);
  }
}

}  // namespace elision::locks
