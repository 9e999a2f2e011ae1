// SPDX-License-Identifier: Apache-2.0
// The policy of htm-N as a table: how transactions end in, what the lock does out; then nested locks,
// and subscription on the CPU where RTM is live.
#include "locks/elided.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/usable_cpus.h"
#include "htm/cpu.h"
#include "htm/rtm.h"
#include "htm/scripted.h"
#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

using abi::AbortCause;
using htm::Scripted;
using htm::Status;
using Lock = Elided<Scripted, Tatas<Spin>, PlainWait<Tatas<Spin>>>;

constexpr Status kRuns{Status::kStarted};
constexpr Status kConflict{Status::kConflictBit | Status::kRetryBit};
constexpr Status kCapacity{Status::kCapacityBit};
constexpr Status kInterrupt{0};
constexpr Status kBusy = Status::explicit_abort(htm::kCodeLockBusy);
constexpr Status kNestedBusy = Status::explicit_abort(htm::kCodeNestedBusy);
constexpr Status kGiveUp = Status::explicit_abort(htm::kCodeGiveUp);

std::uint64_t aborts(const Thread& thread, AbortCause cause) {
  return thread.counters.aborts[static_cast<std::size_t>(cause)];
}

struct Row {
  const char* name;
  std::uint32_t tries;
  std::vector<Status> script;
  Entry entry;
  std::uint64_t begun;
  std::uint64_t fallbacks;
  Busy busy = Busy::kOutside;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Policy : public ::testing::TestWithParam<Row> {
 protected:
  void SetUp() override { Scripted::reset(); }
};

TEST_P(Policy, AbortSequenceInActionOut) {
  const Row& row = GetParam();
  for (const Status status : row.script) Scripted::script.steps.push_back({status});
  std::atomic<int> word{0};
  Thread me;
  me.tuning.elision_tries = row.tries;
  me.tuning.busy = row.busy;
  EXPECT_EQ(Lock::enter({.word = &word}, me, nullptr), row.entry);
  EXPECT_EQ(Scripted::script.begun, row.begun);
  EXPECT_EQ(me.counters.fallbacks, row.fallbacks);
  EXPECT_EQ(word, row.entry == Entry::kHolding ? kHeld : kFree);
  EXPECT_TRUE(Lock::leave({.word = &word}, me.context));
  EXPECT_EQ(Scripted::script.committed, row.entry == Entry::kElided ? 1u : 0u);
  EXPECT_EQ(me.counters.commits + me.counters.fallbacks, 1u);
  EXPECT_EQ(word, kFree);
  EXPECT_FALSE(me.context.inside());
}

INSTANTIATE_TEST_SUITE_P(
    Table, Policy,
    ::testing::Values(
        Row{"starts at once", 1, {kRuns}, Entry::kElided, 1, 0},
        Row{"one try, conflict", 1, {kConflict}, Entry::kHolding, 1, 1},
        Row{"one try, capacity", 1, {kCapacity}, Entry::kHolding, 1, 1},
        Row{"one try, interrupt", 1, {kInterrupt}, Entry::kHolding, 1, 1},
        Row{"one try, nested lock busy", 1, {kNestedBusy}, Entry::kHolding, 1, 1},
        Row{"a busy lock uses up no try", 1, {kBusy, kBusy, kBusy, kRuns}, Entry::kElided, 4, 0},
        Row{"busy, then conflict", 1, {kBusy, kConflict}, Entry::kHolding, 2, 1},
        Row{"ten tries, the last one runs", 10, std::vector<Status>(9, kConflict), Entry::kElided, 10, 0},
        Row{"ten tries, none runs", 10, std::vector<Status>(10, kConflict), Entry::kHolding, 10, 1},
        Row{"every cause uses up a try",
            4,
            {kConflict, kCapacity, kInterrupt, kNestedBusy},
            Entry::kHolding,
            4,
            1},
        Row{"giving up falls back at once", 10, {kGiveUp}, Entry::kHolding, 1, 1},
        Row{"giving up after a conflict", 10, {kConflict, kGiveUp}, Entry::kHolding, 2, 1},
        Row{"a busy lock uses up a try on request", 2, {kBusy, kRuns}, Entry::kElided, 2, 0, Busy::kAbort},
        Row{"busy alone leads to the lock on request",
            2,
            {kBusy, kBusy},
            Entry::kHolding,
            2,
            1,
            Busy::kAbort},
        Row{"busy and conflict on request", 2, {kBusy, kConflict}, Entry::kHolding, 2, 1, Busy::kAbort}));

class ElidedScripted : public ::testing::Test {
 protected:
  void SetUp() override { Scripted::reset(); }
  std::atomic<int> word_{0};
  Thread me_;

  Entry enter(std::atomic<int>& word) {
    if (me_.context.inside()) return Lock::enter_further({.word = &word}, me_.context);
    return Lock::enter({.word = &word}, me_, nullptr);
  }
};

TEST_F(ElidedScripted, EveryCauseIsCounted) {
  me_.tuning.elision_tries = 5;
  for (const Status status : {kConflict, kCapacity, kInterrupt, kNestedBusy, kBusy, kGiveUp}) {
    Scripted::script.steps.push_back({status});
  }
  EXPECT_EQ(enter(word_), Entry::kHolding);
  EXPECT_EQ(aborts(me_, AbortCause::kConflict), 1u);
  EXPECT_EQ(aborts(me_, AbortCause::kCapacity), 1u);
  EXPECT_EQ(aborts(me_, AbortCause::kOther), 1u);
  EXPECT_EQ(aborts(me_, AbortCause::kLockBusy), 2u);
  EXPECT_EQ(aborts(me_, AbortCause::kExplicit), 1u);
  EXPECT_GT(me_.counters.longest_wait_ticks, 0u);
  EXPECT_EQ(me_.counters.longest_wait_ticks, me_.counters.wait_ticks);
}

TEST_F(ElidedScripted, LockTakenBeforeSubscriptionCostsNoTry) {
  me_.tuning.elision_tries = 1;
  // Someone takes the lock between our look and the start of the transaction, and frees it later on.
  Scripted::script.steps.push_back({kRuns, [&] { word_ = kHeld; }});
  std::thread holder([&] {
    while (is_unseen(me_)) std::this_thread::yield();
    word_ = kFree;
  });
  EXPECT_EQ(enter(word_), Entry::kElided);
  holder.join();
  EXPECT_EQ(Scripted::script.begun, 2u);
  EXPECT_EQ(Scripted::script.aborted_by_itself, 1u);
  EXPECT_EQ(aborts(me_, AbortCause::kLockBusy), 1u);
  Lock::leave({.word = &word_}, me_.context);
}

struct InsideRow {
  bool busy_counts;
  Entry entry;
};

TEST_F(ElidedScripted, AbortInsideBusyLoopCountsOnRequest) {
  for (const InsideRow row : {InsideRow{false, Entry::kElided}, InsideRow{true, Entry::kHolding}}) {
    Scripted::reset();
    Thread me;
    me.tuning.elision_tries = 1;
    me.tuning.busy = Busy::kInside;
    me.tuning.busy_counts = row.busy_counts;
    word_ = kHeld;
    // While it loops inside, the holder's release aborts the transaction.
    Scripted::script.steps.push_back({kConflict, [&] { word_ = kFree; }});
    EXPECT_EQ(Lock::enter({.word = &word_}, me, nullptr), row.entry);
    EXPECT_EQ(me.counters.busy, 1u);
    Lock::leave({.word = &word_}, me.context);
  }
}

TEST_F(ElidedScripted, BeginsUnderAHeldLockOnRequest) {
  me_.tuning.elision_tries = 2;
  me_.tuning.busy = Busy::kAbort;
  word_ = kHeld;
  // The first transaction finds the lock held, the second one does not.
  Scripted::script.steps.push_back({kRuns});
  Scripted::script.steps.push_back({kRuns, [&] { word_ = kFree; }});
  EXPECT_EQ(enter(word_), Entry::kElided);
  EXPECT_EQ(Scripted::script.begun, 2u);
  EXPECT_EQ(Scripted::script.aborted_by_itself, 1u);
  EXPECT_EQ(aborts(me_, AbortCause::kLockBusy), 1u);
  Lock::leave({.word = &word_}, me_.context);
}

TEST_F(ElidedScripted, LockHeldThroughAllTriesIsWaitedForOnRequest) {
  me_.tuning.elision_tries = 2;
  me_.tuning.busy = Busy::kAbort;
  word_ = kHeld;
  Scripted::script.steps.assign({{kRuns}, {kRuns}, {kRuns, [&] { word_ = kFree; }}});
  EXPECT_EQ(Lock::enter({.word = &word_}, me_, &kPassed), Entry::kTimedOut);
  EXPECT_EQ(Scripted::script.begun, 2u);
  EXPECT_EQ(me_.counters.fallbacks, 0u);
}

TEST_F(ElidedScripted, CommitsWhenLastLockIsReleased) {
  std::atomic<int> second{0}, third{0};
  EXPECT_EQ(enter(word_), Entry::kElided);
  EXPECT_EQ(enter(second), Entry::kElided);
  EXPECT_EQ(enter(third), Entry::kElided);
  EXPECT_EQ(Scripted::script.begun, 1u);
  EXPECT_TRUE(Lock::leave({.word = &word_}, me_.context));
  EXPECT_TRUE(Lock::leave({.word = &third}, me_.context));
  EXPECT_EQ(Scripted::script.committed, 0u);
  EXPECT_TRUE(Lock::leave({.word = &second}, me_.context));
  EXPECT_EQ(Scripted::script.committed, 1u);
}

TEST_F(ElidedScripted, SecondHeldLockEndsTransaction) {
  std::atomic<int> second{kHeld};
  ASSERT_EQ(enter(word_), Entry::kElided);
  try {
    enter(second);
    FAIL() << "the transaction went on beside the holder of the second lock";
  } catch (const Scripted::AbortedByItself& aborted) {
    EXPECT_EQ(aborted.code, htm::kCodeNestedBusy);
  }
}

TEST_F(ElidedScripted, TryLockInsideTellsHeldFromOwn) {
  std::atomic<int> second{kHeld}, third{0};
  ASSERT_EQ(enter(word_), Entry::kElided);
  EXPECT_EQ(Lock::try_enter_further({.word = &second}, me_.context), Entry::kBusy);
  EXPECT_EQ(Lock::try_enter_further({.word = &word_}, me_.context), Entry::kOwn);
  EXPECT_EQ(Lock::try_enter_further({.word = &third}, me_.context), Entry::kElided);
  EXPECT_EQ(enter(third), Entry::kOwn) << "the second lock of a normal mutex is the caller's to judge";
}

TEST_F(ElidedScripted, MoreLocksThanTheContextHoldsGiveUp) {
  std::vector<std::atomic<int>> words(TransactionContext::kMostLocks + 1);
  for (std::uint32_t i = 0; i < TransactionContext::kMostLocks; ++i)
    ASSERT_EQ(enter(words[i]), Entry::kElided);
  EXPECT_THROW(enter(words.back()), Scripted::AbortedByItself);
}

TEST_F(ElidedScripted, LockHeldBeforeMayBeReleasedInside) {
  std::atomic<int> earlier{kHeld};
  ASSERT_EQ(enter(word_), Entry::kElided);
  EXPECT_TRUE(Lock::leave({.word = &earlier}, me_.context));
  EXPECT_EQ(earlier, kFree);
  EXPECT_EQ(Scripted::script.committed, 0u);
  EXPECT_TRUE(Lock::leave({.word = &word_}, me_.context));
  EXPECT_EQ(Scripted::script.committed, 1u);
}

TEST_F(ElidedScripted, ReleaseInsideLeavesTheAttempt) {
  std::atomic<int> earlier{kHeld};
  me_.took();
  ASSERT_EQ(enter(word_), Entry::kElided);
  EXPECT_TRUE(Lock::leave({.word = &earlier}, me_.context));
  note_released(*me_.activity().thread, me_.context);
  EXPECT_EQ(me_.depth(), 0);
  EXPECT_EQ(me_.seen().activity, abi::Activity::kAttempt);
  EXPECT_TRUE(Lock::leave({.word = &word_}, me_.context));
  EXPECT_EQ(me_.depth(), 0);
  EXPECT_EQ(me_.seen().activity, abi::Activity::kIdle);
  EXPECT_EQ(me_.seen().lock, 0u);
}

TEST_F(ElidedScripted, AbortedTryLockOfALockThenTakenIsOver) {
  Scripted::script.steps.push_back({kConflict, [&] { word_ = kHeld; }});
  EXPECT_EQ(Lock::try_enter({.word = &word_}, me_), Entry::kBusy);
  EXPECT_EQ(me_.seen().activity, abi::Activity::kIdle);
  EXPECT_EQ(me_.depth(), 0);
  EXPECT_EQ(aborts(me_, AbortCause::kConflict), 1u);
}

TEST_F(ElidedScripted, FallbackIsNotedAndCountedOnce) {
  me_.tuning.elision_tries = 1;
  Scripted::script.steps.push_back({kConflict});
  ASSERT_EQ(enter(word_), Entry::kHolding);
  EXPECT_EQ(me_.seen().activity, abi::Activity::kFallback);
  EXPECT_EQ(me_.counters.fallbacks, 1u);
  EXPECT_TRUE(Lock::leave({.word = &word_}, me_.context));
  note_released(*me_.activity().thread, me_.context);
  me_.took();
  EXPECT_EQ(me_.seen().activity, abi::Activity::kIdle) << "a lock that is not elided";
  EXPECT_NE(me_.seen().lock, 0u);
}

TEST_F(ElidedScripted, FallbackAfterAWaitIsNotedAndTimeoutIsNot) {
  me_.tuning.elision_tries = 1;
  Scripted::script.steps.push_back({kConflict, [&] { word_ = kHeld; }});
  EXPECT_EQ(Lock::enter({.word = &word_}, me_, &kPassed), Entry::kTimedOut);
  EXPECT_EQ(me_.seen().activity, abi::Activity::kIdle);
  EXPECT_EQ(me_.counters.fallbacks, 0u);
  word_ = kFree;
  Scripted::script.steps.push_back({kConflict, [&] { word_ = kHeld; }});
  std::thread holder([&, before = me_.counters.busy] {
    while (__atomic_load_n(&me_.counters.busy, __ATOMIC_RELAXED) == before) std::this_thread::yield();
    word_ = kFree;
  });
  EXPECT_EQ(enter(word_), Entry::kHolding);
  holder.join();
  EXPECT_EQ(me_.seen().activity, abi::Activity::kFallback);
  EXPECT_EQ(me_.counters.fallbacks, 1u);
}

TEST_F(ElidedScripted, KernelWorkAndReportsHappenOutside) {
  std::atomic<int> with_sleepers{kHeldWithSleepers}, free{0};
  ASSERT_EQ(enter(word_), Entry::kElided);
  EXPECT_THROW(Lock::leave({.word = &with_sleepers}, me_.context), Scripted::AbortedByItself);
  EXPECT_EQ(with_sleepers, kHeldWithSleepers);
  me_.context.count = 0;  // as the abort does
  ASSERT_EQ(enter(word_), Entry::kElided);
  EXPECT_THROW(Lock::leave({.word = &free}, me_.context), Scripted::AbortedByItself);
  me_.context.count = 0;
  ASSERT_EQ(enter(word_), Entry::kElided);
  EXPECT_THROW(Lock::require_real_locks(me_.context), Scripted::AbortedByItself);
}

TEST_F(ElidedScripted, TryLockElidesOrTakesOrSaysBusy) {
  EXPECT_EQ(Lock::try_enter({.word = &word_}, me_), Entry::kElided);
  EXPECT_TRUE(Lock::leave({.word = &word_}, me_.context));
  for (int i = 0; i < 4; ++i) Scripted::script.steps.push_back({kConflict});
  EXPECT_EQ(Lock::try_enter({.word = &word_}, me_), Entry::kHolding);
  EXPECT_EQ(Lock::try_enter({.word = &word_}, me_), Entry::kBusy);
  EXPECT_TRUE(Lock::leave({.word = &word_}, me_.context));
}

/// One thread takes the lock for real, the other elides it until the first is done. The holder's window
/// between load and store is long, so that whole transactions of the other fit into it. The holder yields in
/// its window and the other between its sections, so that both meet on one CPU, too.
/// @param rounds the sections of the holder.
/// @return the updates that are missing in the end.
template <class Design>
std::uint64_t lost_updates(std::uint64_t rounds, Busy busy) {
  struct alignas(128) Shared {
    Locked<Design> lock;
    alignas(128) volatile std::uint64_t counter = 0;
    alignas(128) std::atomic<int> arrived{0};
    std::atomic<bool> holder_done{false};
  };
  constexpr std::uint64_t kSectionsBetweenYields = 64;
  Shared shared;
  const auto meet = [&] {
    ++shared.arrived;
    while (shared.arrived != 2) std::this_thread::yield();
  };
  const auto hold = [&] {
    Thread me;
    me.tuning.elision_tries = 0;
    me.tuning.busy = busy;
    meet();
    for (std::uint64_t i = 0; i < rounds; ++i) {
      shared.lock.lock_until(me, nullptr);
      const std::uint64_t value = shared.counter;
      for (int spin = 0; spin < 2000; ++spin) asm volatile("" : : : "memory");
      std::this_thread::yield();
      shared.counter = value + 1;
      shared.lock.unlock(me);
    }
    shared.holder_done = true;
  };
  std::uint64_t elided = 0;
  const auto elide = [&] {
    Thread me;
    me.tuning.elision_tries = 1000;
    me.tuning.busy = busy;
    meet();
    while (!shared.holder_done) {
      shared.lock.lock_until(me, nullptr);
      shared.counter = shared.counter + 1;
      shared.lock.unlock(me);
      if (++elided % kSectionsBetweenYields == 0) std::this_thread::yield();
    }
  };
  std::thread holder(hold);
  std::thread elider(elide);
  holder.join();
  elider.join();
  return rounds + elided - shared.counter;
}

class SubscriptionOnTheCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!htm::detect_cpu().has_rtm) GTEST_SKIP() << "no live RTM on this CPU";
    if (usable_cpus() < 2) GTEST_SKIP() << "needs two CPUs";
  }
};

TEST_F(SubscriptionOnTheCpu, KeepsEveryUpdate) {
  EXPECT_EQ((lost_updates<HtmN<htm::Rtm, Spin>>(5000, Busy::kOutside)), 0u);
  EXPECT_EQ((lost_updates<HtmN<htm::Rtm, Spin>>(5000, Busy::kInside)), 0u);
}

TEST_F(SubscriptionOnTheCpu, RemovedLosesUpdates) {
  std::uint64_t lost = 0;
  for (int attempt = 0; attempt < 200 && lost == 0; ++attempt) {
    // Inside: it begins while the lock is held, and nothing then keeps it from running beside the holder.
    lost = lost_updates<HtmN<htm::Rtm, Spin, Subscription::kRemoved>>(5000, Busy::kInside);
  }
  EXPECT_GT(lost, 0u);
}

}  // namespace
}  // namespace elision::locks::test
