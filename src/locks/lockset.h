// SPDX-License-Identifier: Apache-2.0
// A set of locks as one lock, so that elided.h makes one transaction in place of taking them one by one
// (lockset elision: TSX paper, 5.2.1).
//
// Invariants:
//  - The set is free if all its locks are free; the transaction reads every word of the set.
//  - The fallback takes the locks in the order of their addresses. So threads that hold no other lock do not
//    deadlock, in whatever order they name their locks. A lock that is named twice is taken once.
//  - Nothing is copied, and a set may have any size: the next lock is searched for each time. That is
//    quadratic in the size of the set, which is small.
//
// `Member` is a structure with a lock's word: `int word`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/entry.h"
#include "locks/lock_words.h"
#include "locks/plain_wait.h"

namespace elision::locks {

template <class Member>
struct LockSet {
  Member* const* members;
  std::size_t count;

  static LockWords words_of(Member* member) {
    static_assert(sizeof member->word == sizeof(std::atomic<int>) && alignof(Member) >= 4);
    return {reinterpret_cast<std::atomic<int>*>(&member->word)};
  }

  /// The member with the next address; null: there is none.
  Member* next_after(const Member* previous) const {
    const auto address = [](const Member* member) { return reinterpret_cast<std::uintptr_t>(member); };
    Member* next = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      if (address(members[i]) > address(previous) && (next == nullptr || address(members[i]) < address(next)))
        next = members[i];
    }
    return next;
  }

  /// Calls `use(member)` for each member once, the one named last first.
  template <class Use>
  void for_each_backwards(Use use) const {
    for (std::size_t i = count; i-- > 0;) {
      if (!is_named_before(i)) use(members[i]);
    }
  }

 private:
  bool is_named_before(std::size_t i) const {
    for (std::size_t j = 0; j < i; ++j) {
      if (members[j] == members[i]) return true;
    }
    return false;
  }
};

/// The protocol of `Lock` on all words of a set. Its LockWords points to the set instead of a word, and is
/// valid during the call that it is passed to.
template <class Lock, class Member>
struct OnLockSet {
  using Waiting = typename Lock::Waiting;
  using Set = LockSet<Member>;

  static LockWords words_of(const Set& set) {
    return {reinterpret_cast<std::atomic<int>*>(const_cast<Set*>(&set))};
  }

  static bool is_held(LockWords words) {
    const Set& set = set_of(words);
    for (std::size_t i = 0; i < set.count; ++i) {
      if (Lock::is_held(Set::words_of(set.members[i]))) return true;
    }
    return false;
  }

  /// All of them or none.
  static bool try_acquire(LockWords words) {
    const Set& set = set_of(words);
    for (Member* next = set.next_after(nullptr); next != nullptr; next = set.next_after(next)) {
      if (!Lock::try_acquire(Set::words_of(next))) return release_before(set, next);
    }
    return true;
  }

  [[gnu::noinline]] static Outcome acquire(LockWords words, const Deadline* deadline) {
    const Set& set = set_of(words);
    for (Member* next = set.next_after(nullptr); next != nullptr; next = set.next_after(next)) {
      if (Lock::acquire(Set::words_of(next), deadline) == Outcome::kTimedOut) {
        release_before(set, next);
        return Outcome::kTimedOut;
      }
    }
    return Outcome::kAcquired;
  }

  /// Waits until each lock was free once, but not necessarily all at the same time.
  static bool wait_until_free(LockWords words, const Deadline* deadline) {
    const Set& set = set_of(words);
    for (std::size_t i = 0; i < set.count; ++i) {
      if (!Lock::wait_until_free(Set::words_of(set.members[i]), deadline)) return false;
    }
    return true;
  }

 private:
  static const Set& set_of(LockWords words) { return *reinterpret_cast<const Set*>(words.word); }

  /// Releases the locks with addresses below `end`.
  static bool release_before(const Set& set, const Member* end) {
    for (Member* next = set.next_after(nullptr); next != end; next = set.next_after(next))
      (void)Lock::release(Set::words_of(next));
    return false;
  }
};

/// Sections under several locks of `Design`, elided (designs.h). The locks are left one by one.
template <class Design, class Member>
struct LockSetDesign {
  using Set = LockSet<Member>;

  /// As Design::enter. kOwn: the calling thread's transaction already elides one of them. The others may or
  /// may not be entered, so the transaction must end.
  template <Caller C>
  static Entry enter(const Set& set, C caller, const Deadline* deadline) {
    TransactionContext& me = caller.transaction();
    if (me.inside()) return enter_further(set, me);
    if (!fits(set)) return take_really(set, caller, deadline);
    const Entry entry = Together::enter(OnSet::words_of(set), caller, deadline);
    if (entry == Entry::kElided) name_each(set, me);
    return entry;
  }

  template <Caller C>
  static Entry try_enter(const Set& set, C caller) {
    TransactionContext& me = caller.transaction();
    if (me.inside()) return try_enter_further(set, me);
    if (!fits(set)) return try_take_really(set, caller);
    const Entry entry = Together::try_enter(OnSet::words_of(set), caller);
    if (entry == Entry::kElided) name_each(set, me);
    return entry;
  }

  /// As enter(), without transactions.
  template <Caller C>
  static Entry take_really(const Set& set, C caller, const Deadline* deadline) {
    const LockWords words = OnSet::words_of(set);
    if (Wait::try_first(words)) {
      caller.took();
      return Entry::kHolding;
    }
    WaitClock clock;
    return Wait::enter(words, caller, clock, deadline);
  }

  template <Caller C>
  static Entry try_take_really(const Set& set, C caller) {
    if (!OnSet::try_acquire(OnSet::words_of(set))) return Entry::kBusy;
    caller.took();
    return Entry::kHolding;
  }

 private:
  using OnSet = OnLockSet<typename Design::Lock, Member>;
  using Wait = PlainWait<OnSet>;
  using Together = typename Design::template On<OnSet, true>::Algorithm;

  /// Whether one transaction can elide the set. A transaction without a lock would never be committed.
  static bool fits(const Set& set) { return set.count > 0 && set.count <= TransactionContext::kMostLocks; }

  /// Replaces the set, the transaction's only lock so far, by its members.
  static void name_each(const Set& set, TransactionContext& me) {
    me.count = 0;
    for (std::size_t i = 0; i < set.count; ++i) {
      const LockWords words = Set::words_of(set.members[i]);
      if (me.find(words.word) == nullptr) me.add(words.word, true);
    }
  }

  static Entry enter_further(const Set& set, TransactionContext& me) {
    Entry entry = Entry::kElided;
    set.for_each_backwards([&](Member* member) {
      if (Design::Algorithm::enter_further(Set::words_of(member), me) == Entry::kOwn) entry = Entry::kOwn;
    });
    return entry;
  }

  static Entry try_enter_further(const Set& set, TransactionContext& me) {
    const std::uint32_t before = me.count;
    Entry entry = Entry::kElided;
    set.for_each_backwards([&](Member* member) {
      if (entry == Entry::kElided) entry = Design::Algorithm::try_enter_further(Set::words_of(member), me);
    });
    if (entry != Entry::kElided) me.count = before;  // new records are at the end
    return entry;
  }
};

}  // namespace elision::locks
