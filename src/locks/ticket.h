// SPDX-License-Identifier: Apache-2.0
// ticket: a FIFO lock (AAHTM paper, III-C and IV-A; Mellor-Crummey and Scott 1991), back-off linear in
// the distance to the holder; with tickets that can be given up and waiters that can sleep.
//
//   next  (32 bits): the ticket that the next arrival draws.
//   grant (64 bits): now_serving (bits 0-31), abandoned (32-47), sleepers (48-63), changed together.
//
//   state                     | means
//   --------------------------+------------------------------------------------------------------------
//   next == now_serving       | free
//   next != now_serving       | ticket now_serving holds the lock; the later ones wait in order
//   abandoned bit t mod 16    | ticket t, now_serving <= t < now_serving + 16, was given up, and is skipped
//   sleepers > 0              | that many waiters may sleep on the now_serving half of the word, each with
//                             | the bit of the value it waits for; release wakes the bits it passes
//
// The holder changes now_serving by compare-and-swap of the whole word. A waiter that gives up changes
// the same word. So it either marks its ticket before the holder passes it, or finds that the ticket
// was served and holds the lock. After the compare-and-swap the holder does not touch the lock, which may be
// destroyed.
//
// Waiters that spin for ever never sleep. Then the holder, if it sees no ticket given up, stores now_serving
// alone: a compare-and-swap would make it wait until the line is its own. A ticket given up just then may be
// served. Nobody has it, and the next thread that looks skips it (settled()).
//
// The bits must tell tickets apart. So a waiter with a deadline draws a ticket only within 15 of the holder.
// Until then it waits outside the queue.
//
// A thread that leaves its wait for good (if_left.h) gives up its ticket, or releases the lock if the ticket
// is already served. If it is more than 15 places behind the holder, it first waits until it is near enough.
#pragma once

#include <atomic>
#include <cstddef>

#include "locks/alone.h"
#include "locks/entry.h"
#include "locks/fork_generation.h"
#include "locks/futex.h"
#include "locks/if_left.h"
#include "locks/lock_words.h"
#include "locks/waiting.h"

namespace elision::locks {

struct TicketState {
  std::atomic<std::uint32_t> next;
  std::atomic<std::uint32_t> generation;  // see adopt()
  std::atomic<std::uint64_t> grant;
};
static_assert(sizeof(TicketState) == 16 && offsetof(TicketState, grant) == 8);

/// The three fields of `grant`.
struct Grant {
  static constexpr std::uint32_t kWindow = 16;
  static constexpr std::uint32_t kMostSleepers = 0xffff;

  std::uint32_t now_serving;
  std::uint16_t abandoned;
  std::uint16_t sleepers;

  static constexpr Grant unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint16_t>(word >> 32),
            static_cast<std::uint16_t>(word >> 48)};
  }
  constexpr std::uint64_t pack() const {
    return std::uint64_t{now_serving} | std::uint64_t{abandoned} << 32 | std::uint64_t{sleepers} << 48;
  }
  static constexpr std::uint16_t bit_of(std::uint32_t ticket) {
    return static_cast<std::uint16_t>(1u << ticket % kWindow);
  }
  /// The state after a release: serves the next ticket that was not given up.
  constexpr Grant after_release() const {
    Grant result = *this;
    ++result.now_serving;
    while ((result.abandoned & bit_of(result.now_serving)) != 0) {
      result.abandoned = static_cast<std::uint16_t>(result.abandoned & ~bit_of(result.now_serving));
      ++result.now_serving;
    }
    return result;
  }
};
static_assert(Grant::unpack(Grant{7, 3, 9}.pack()).sleepers == 9);
static_assert(Grant{4, Grant::bit_of(5) | Grant::bit_of(6), 0}.after_release().now_serving == 7);
static_assert(Grant{4, Grant::bit_of(6), 0}.after_release().abandoned == Grant::bit_of(6));
static_assert(Grant{~0u, 0, 0}.after_release().now_serving == 0, "tickets wrap around");

/// The state of a waiting thread, for the case that it leaves. Only that thread writes it.
struct TicketPlace {
  TicketState& state;
  std::uint32_t ticket = 0;
  volatile bool has_ticket = false;  // neither given up nor released
  volatile bool asleep = false;      // enrolled as sleeper
};

template <class Waiting_>
class Ticket {
 public:
  using Waiting = Waiting_;
  /// Units of back-off for each place between a waiter and the holder.
  static constexpr std::uint32_t kUnitsPerPlace = 16;

  static bool try_acquire(TicketState& state) {
    adopt(state);
    return try_acquire_adopted(state);
  }
  /// The same for a lock that is_adopted().
  [[gnu::always_inline]] static bool try_acquire_adopted(TicketState& state) {
    // now_serving never passes next. So if next still has the value read, the lock is still free.
    std::uint32_t now = serving(state);
    return state.next.compare_exchange_strong(now, now + 1, std::memory_order_acquire,
                                              std::memory_order_relaxed);
  }

  static bool is_held(TicketState& state) {
    return serving(state) != state.next.load(std::memory_order_relaxed);
  }

  /// Draws the next ticket. The lock must be adopted (adopt()).
  [[gnu::always_inline]] static std::uint32_t draw(TicketState& state) {
    if (!is_single_threaded()) [[likely]]
      return state.next.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t ticket = state.next.load(std::memory_order_relaxed);
    state.next.store(ticket + 1, std::memory_order_relaxed);
    return ticket;
  }

  /// Joins the queue by drawing `ticket`. False: the deadline passed before the queue had room.
  static bool join(TicketState& state, const Deadline* deadline, std::uint32_t& ticket) {
    adopt(state);
    if (deadline == nullptr) {
      ticket = draw(state);
      return true;
    }
    // A ticket that may be given up must lie in the window.
    return draw_within_window(state, ticket) || join_late(state, deadline, ticket);
  }

  /// Places between `ticket` and the holder. 0: the ticket is served.
  static std::uint32_t distance(TicketState& state, std::uint32_t ticket) { return ticket - serving(state); }

  /// Waits until the ticket of `place` is served. At the deadline the ticket is given up. The caller covers a
  /// thread that leaves (leave()).
  static Outcome await(TicketPlace& place, const Deadline* deadline) {
    std::uint32_t spun = 0;
    SpinDeadline until(deadline);
    for (std::uint32_t places; (places = distance(place.state, place.ticket)) != 0;) {
      if (Waiting::spun_enough(spun)) {
        if (!sleep_until(place, place.ticket, deadline)) return give_up(place);
        continue;
      }
      if (until.has_passed(spun)) return give_up(place);
      spun += pause_for(places);
    }
    return Outcome::kAcquired;
  }

  /// For IfLeft: the thread of the TicketPlace `argument` leaves its wait.
  static void leave(void* argument) {
    TicketPlace& place = *static_cast<TicketPlace*>(argument);
    if (place.asleep) strike_sleeper(place);
    if (!place.has_ticket || static_cast<std::int32_t>(place.ticket - serving(place.state)) < 0) return;
    if (distance(place.state, place.ticket) >= Grant::kWindow)
      sleep_until(place, place.ticket + 1 - Grant::kWindow, nullptr);
    if (give_up(place) == Outcome::kAcquired) release(place.state);
  }

  /// Sleeps until ticket `target` is served or passed. False: the deadline passed first.
  [[gnu::noinline]] static bool sleep_until(TicketPlace& place, std::uint32_t target,
                                            const Deadline* deadline) {
    TicketState& state = place.state;
    const bool enrolled = Waiting::kSleeps && enrol_sleeper(state);
    place.asleep = enrolled;
    bool in_time = true;
    while (in_time) {
      const std::uint32_t now = serving(state);
      if (static_cast<std::int32_t>(now - target) >= 0) break;
      if (enrolled) {
        in_time = futex_wait(now_word(state), now, sleep_bit(target), deadline);
      } else {
        pause_units(Backoff::kLast);
        in_time = deadline == nullptr || !deadline->has_passed();
      }
    }
    if (enrolled) strike_sleeper(place);
    return in_time;
  }

  /// Gives up a ticket that is not yet served. If it is served, the lock is held (kAcquired). A thread that
  /// left while it gave the ticket up finds it marked or passed.
  static Outcome give_up(TicketPlace& place) {
    TicketState& state = place.state;
    const std::uint32_t ticket = place.ticket;
    std::uint64_t word = state.grant.load(std::memory_order_acquire);
    Grant grant;
    do {
      grant = Grant::unpack(word);
      const bool passed = static_cast<std::int32_t>(ticket - grant.now_serving) < 0;
      if (passed || (grant.abandoned & Grant::bit_of(ticket)) != 0) break;
      if (grant.now_serving == ticket) return Outcome::kAcquired;
      grant.abandoned = static_cast<std::uint16_t>(grant.abandoned | Grant::bit_of(ticket));
    } while (!state.grant.compare_exchange_weak(word, grant.pack(), std::memory_order_acquire));
    place.has_ticket = false;
    return Outcome::kTimedOut;
  }

  static Outcome acquire(TicketState& state, const Deadline* deadline) {
    TicketPlace place{state};
    if (!join(state, deadline, place.ticket)) return Outcome::kTimedOut;
    place.has_ticket = true;
    const IfLeft if_left(&leave, &place);
    return await(place, deadline);
  }

  /// Waits in proportion to the distance; returns the units waited.
  static std::uint32_t pause_for(std::uint32_t places) {
    constexpr std::uint32_t kFarthest = 64;  // longer waits only add latency
    const std::uint32_t units = kUnitsPerPlace * (places < kFarthest ? places : kFarthest);
    pause_units(units);
    return units;
  }

  /// Serves the next ticket if no thread sleeps and no ticket was given up. The lock must be adopted. False:
  /// nothing was done.
  [[gnu::always_inline]] static bool release_plainly(TicketState& state) {
    std::uint64_t word = state.grant.load(std::memory_order_relaxed);
    // Not below `next`: the lock is free, or the other fields are not zero. Nor are tickets that wrapped
    // around.
    if (word >= state.next.load(std::memory_order_relaxed)) [[unlikely]]
      return false;
    const std::uint64_t next = static_cast<std::uint32_t>(word + 1);
    if constexpr (!Waiting::kSleeps) {
      serve(state, static_cast<std::uint32_t>(next));
      return true;
    }
    if (!is_single_threaded()) [[likely]]
      return state.grant.compare_exchange_strong(word, next, std::memory_order_release,
                                                 std::memory_order_relaxed);
    state.grant.store(next, std::memory_order_relaxed);
    return true;
  }

  /// Serves the next ticket. False: the lock was not held.
  static bool release(TicketState& state) {
    adopt(state);
    if (release_plainly(state)) return true;
    serving(state);  // a ticket that was given up as its turn came is no holder
    std::uint64_t word = state.grant.load(std::memory_order_relaxed);
    if (static_cast<std::uint32_t>(word) == state.next.load(std::memory_order_relaxed)) return false;
    Grant before, after;
    do {
      before = Grant::unpack(word);
      after = before.after_release();
    } while (!state.grant.compare_exchange_weak(word, after.pack(), std::memory_order_release,
                                                std::memory_order_relaxed));
    if (after.sleepers != 0) wake_passed(state, before.now_serving, after.now_serving);
    return true;
  }

  /// Wakes all sleepers. For a thread that may have left between serving a ticket and waking its waiter.
  static void wake(const TicketState& state) { futex_wake(now_word(state), kAllSleepers, kAnyBit); }

  /// Frees the lock. Its holder and its waiters are gone.
  static void forget(TicketState& state) {
    state.next.store(serving(state), std::memory_order_relaxed);
    state.grant.store(Grant{serving(state), 0, 0}.pack(), std::memory_order_relaxed);
    state.generation.store(fork_generation(), std::memory_order_relaxed);
  }

  /// In the child of a fork the other waiters are gone, but their tickets are still drawn: a release would
  /// serve a thread that does not exist. The first operation on a lock with another generation resets the
  /// queue, so that next is the holder's ticket plus one.
  static void adopt(TicketState& state) {
    if (!is_adopted(state)) [[unlikely]]
      adopt_slow(state);
  }
  /// Whether the lock has this process's generation.
  [[gnu::always_inline]] static bool is_adopted(const TicketState& state) {
    return is_fork_generation(state.generation.load(std::memory_order_acquire));
  }

 private:
  /// Draws `ticket` if the window has room for it. If not, `ticket` is the first one without room.
  static bool draw_within_window(TicketState& state, std::uint32_t& ticket) {
    ticket = state.next.load(std::memory_order_relaxed);
    while (ticket - serving(state) < Grant::kWindow - 1) {
      if (state.next.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// For a thread with a deadline for which the window has no room yet.
  [[gnu::noinline]] static bool join_late(TicketState& state, const Deadline* deadline,
                                          std::uint32_t& ticket) {
    TicketPlace place{state};
    const IfLeft if_left(&leave, &place);
    std::uint32_t spun = 0;
    for (SpinDeadline until(deadline); !until.has_passed(spun);) {
      if (!Waiting::spun_enough(spun)) {
        spun += pause_units(kUnitsPerPlace);
      } else if (!sleep_until(place, opens_window(ticket), deadline)) {
        break;
      }
      if (draw_within_window(state, ticket)) return true;
    }
    return false;
  }
  /// The window has room for `ticket` once the returned ticket is served.
  static constexpr std::uint32_t opens_window(std::uint32_t ticket) { return ticket + 2 - Grant::kWindow; }

  [[gnu::always_inline]] static std::uint32_t serving(TicketState& state) {
    const std::uint64_t word = state.grant.load(std::memory_order_acquire);
    if (!Waiting::kSleeps && word >> 32 != 0) [[unlikely]]
      return settled(state, word);
    return static_cast<std::uint32_t>(word);
  }
  /// now_serving, after skipping a ticket that was given up as its turn came.
  [[gnu::noinline, gnu::cold]] static std::uint32_t settled(TicketState& state, std::uint64_t word) {
    for (Grant grant = Grant::unpack(word); (grant.abandoned & Grant::bit_of(grant.now_serving)) != 0;
         grant = Grant::unpack(word)) {
      grant.abandoned = static_cast<std::uint16_t>(grant.abandoned & ~Grant::bit_of(grant.now_serving));
      const std::uint64_t after = grant.after_release().pack();
      if (state.grant.compare_exchange_weak(word, after, std::memory_order_acq_rel,
                                            std::memory_order_acquire))
        word = after;
    }
    return static_cast<std::uint32_t>(word);
  }
  /// Stores now_serving alone (x86 is little-endian).
  static void serve(TicketState& state, std::uint32_t ticket) {
    using Half [[gnu::may_alias]] = std::uint32_t;
    __atomic_store_n(reinterpret_cast<Half*>(&state.grant), ticket, __ATOMIC_RELEASE);
  }

  /// The half of `grant` that sleepers wait on: now_serving (x86 is little-endian).
  static const void* now_word(const TicketState& state) { return &state.grant; }
  /// Sleepers wait with one of 32 bits. A release wakes only those with the served ticket's bit.
  static std::uint32_t sleep_bit(std::uint32_t ticket) { return 1u << ticket % 32; }

  [[gnu::noinline]] static void wake_passed(TicketState& state, std::uint32_t before, std::uint32_t now) {
    std::uint32_t bits = 0;
    for (std::uint32_t ticket = before + 1; ticket != now + 1; ++ticket) bits |= sleep_bit(ticket);
    futex_wake(now_word(state), kAllSleepers, bits);
  }

  static void strike_sleeper(TicketPlace& place) {
    place.asleep = false;
    place.state.grant.fetch_sub(std::uint64_t{1} << 48, std::memory_order_acquire);
  }
  /// False if the field is full.
  static bool enrol_sleeper(TicketState& state) {
    std::uint64_t word = state.grant.load(std::memory_order_relaxed);
    Grant grant;
    do {
      grant = Grant::unpack(word);
      if (grant.sleepers == Grant::kMostSleepers) return false;
      ++grant.sleepers;
    } while (!state.grant.compare_exchange_weak(word, grant.pack(), std::memory_order_relaxed));
    return true;
  }

  [[gnu::noinline, gnu::cold]] static void adopt_slow(TicketState& state) {
    std::uint32_t seen = state.generation.load(std::memory_order_acquire);
    if (seen == fork_generation()) return;  // another thread was faster, or this process had no number yet
    if (seen != adopting() &&
        state.generation.compare_exchange_strong(seen, adopting(), std::memory_order_acquire)) {
      const std::uint32_t now = serving(state);
      if (state.next.load(std::memory_order_relaxed) != now)
        state.next.store(now + 1, std::memory_order_relaxed);
      state.grant.store(Grant{now, 0, 0}.pack(), std::memory_order_relaxed);
      state.generation.store(fork_generation(), std::memory_order_release);
      return;
    }
    while (state.generation.load(std::memory_order_acquire) == adopting()) pause_units(1);
  }
};

}  // namespace elision::locks
