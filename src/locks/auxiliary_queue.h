// SPDX-License-Identifier: Apache-2.0
// hle-scm: software-assisted conflict management (Afek, Levy, Morrison: "Software-improved hardware lock
// elision", PODC 2014; the ALE paper's comparison, section 3). A thread whose transaction aborted by conflict
// takes an auxiliary FIFO lock before it tries again: those that conflict go one by one, the others are left
// alone, and the lock itself stays free for both.
//
// Invariants:
//  - The auxiliary locks lie in a table, not in the lock: they go back after the commit, when the lock may
//    have been destroyed already.
//  - A place of the table serves one lock at a time. If another lock has it, a thread goes on without: to
//    wait there could close a circle (the other lock's waiters wait for a lock that this thread holds).
//  - It is held across attempts only: it goes back after the commit, once the real lock is taken, or when
//    the thread gives up, or leaves for good (if_left.h). So a thread that holds it waits at most
//    for the holder of the same lock.
//  - finished() is the only undo of the use of a place, and the number of the ticket tells whether the ticket
//    is still to be given back. So it may run again wherever it was interrupted. A thread that left between
//    serving the next ticket and waking its waiter has not woken it: left() wakes again.
//  - Only the wait and what follows in the same call are covered (if_left.h). A thread that leaves after the
//    commit, in finished(), keeps its ticket or leaves the next waiter asleep: the queue of this lock stops.
//    Waiters with a deadline then go on without, and the lock itself stays free.
//  - A thread that leaves for good between the step that counts it as a user, or no longer, and the record of
//    that stays counted: the place serves this lock alone from then on, and threads of others go on without.
//    Between the drawing of a ticket and its record, it blocks the queue, as any of tickets (if_left.h).
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

  /// For IfLeft: the thread leaves for good, from its wait or from between two attempts.
  static void left(TransactionContext& me) {
    if (me.auxiliary != nullptr && me.has_auxiliary_ticket) Queue::wake(me.auxiliary->queue);
    finished(me);
  }

  /// Outside of the transaction; the section has ended or holds the real lock.
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

  /// False: the place serves another lock, or more threads than it can count.
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

/// In the child of a fork: threads that waited in the parent are gone. Nobody holds a place across a fork,
/// a system call that no transaction survives.
inline void reset_auxiliary_places() {
  for (AuxiliaryPlace& place : auxiliary_places) {
    place.users.store(0, std::memory_order_relaxed);
    Ticket<Spin>::forget(place.queue);
  }
}

}  // namespace elision::locks
