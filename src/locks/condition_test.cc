// SPDX-License-Identifier: Apache-2.0
// Condition variables that know of transactions: who is signalled when, step by step, and a bounded buffer
// under every kind of design.
#include "locks/condition.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>
#include <vector>

#include "htm/cpu.h"
#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

using htm::Scripted;
using ScriptedElided = HtmN<Scripted, Spin>;

class Deferred : public ::testing::Test {
 protected:
  void SetUp() override {
    Scripted::reset();
    ASSERT_EQ(ScriptedElided::enter(words_.lock_words(), me_, nullptr), Entry::kElided);
  }
  std::uint32_t signals() const { return state_.sequence; }

  Words words_;
  Thread me_;
  ConditionState state_{};
};

TEST_F(Deferred, SignalInTransactionWakesAfterCommit) {
  state_.waiters = 1;
  Condition<ScriptedElided>::signal(state_, me_.context);
  EXPECT_EQ(signals(), 1u);
  EXPECT_EQ(me_.context.deferred_count, 1u);
  EXPECT_TRUE(ScriptedElided::leave(words_.lock_words(), me_.context));
  EXPECT_EQ(me_.context.deferred_count, 0u);
}

/// Whoever sees what the commit publishes may destroy the condition variable, and give its memory back.
TEST_F(Deferred, AfterTheCommitTheStateIsNotTouched) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const state = new (page) ConditionState{};
  state->waiters = 1;
  Condition<ScriptedElided>::signal(*state, me_.context);
  Condition<ScriptedElided>::broadcast(*state, me_.context);
  munmap(page, 4096);
  EXPECT_TRUE(ScriptedElided::leave(words_.lock_words(), me_.context));
}

TEST_F(Deferred, UnawaitedSignalsTakeNoRoom) {
  for (std::uint32_t i = 0; i <= TransactionContext::kMostDeferred; ++i)
    Condition<ScriptedElided>::signal(state_, me_.context);
  EXPECT_EQ(me_.context.deferred_count, 0u);
  EXPECT_TRUE(ScriptedElided::leave(words_.lock_words(), me_.context));
}

TEST_F(Deferred, SignalWithoutWaiterWritesNothing) {
  Condition<ScriptedElided>::broadcast(state_, me_.context);
  EXPECT_TRUE(ScriptedElided::leave_quickly(words_.lock_words(), me_.context));
  EXPECT_EQ(signals(), 0u);
}

TEST_F(Deferred, MoreSignalsThanHaveRoomEndTheTransaction) {
  state_.waiters = 1;
  for (std::uint32_t i = 0; i < TransactionContext::kMostDeferred; ++i)
    Condition<ScriptedElided>::signal(state_, me_.context);
  EXPECT_THROW(Condition<ScriptedElided>::signal(state_, me_.context), Scripted::AbortedByItself);
}

TEST_F(Deferred, WaitWithOtherElidedLocksEndsTransaction) {
  Words other;
  ASSERT_EQ(ScriptedElided::enter(other.lock_words(), me_, nullptr), Entry::kElided);
  EXPECT_THROW(Condition<ScriptedElided>::wait(state_, other.lock_words(), me_, nullptr),
               Scripted::AbortedByItself);
}

TEST_F(Deferred, WaitCommitsAndEntersAgain) {
  EXPECT_FALSE(Condition<ScriptedElided>::wait(state_, words_.lock_words(), me_, &kPassed));
  EXPECT_TRUE(me_.context.has_only(words_.lock_words().word));
  EXPECT_EQ(me_.counters.commits, 1u);
  EXPECT_EQ(state_.waiters, 0u);
  EXPECT_TRUE(ScriptedElided::leave(words_.lock_words(), me_.context));
}

TEST(ConditionQueue, SignalBeforeSleepKeepsAwake) {
  ConditionState state{};
  Thread me;
  const std::uint32_t seen = ConditionQueue::enrol(state, me.context);
  ConditionQueue::notify(state, false);
  EXPECT_TRUE(ConditionQueue::sleep(state, seen, &kPassed));
  ConditionQueue::withdraw(state);
  EXPECT_FALSE(ConditionQueue::has_waiters(state));
}

TEST(ConditionQueue, DestroySleepsUntilAllHaveLeft) {
  ConditionState state{};
  Thread me;
  (void)ConditionQueue::enrol(state, me.context);
  (void)ConditionQueue::enrol(state, me.context);
  std::atomic<bool> gone{false};
  std::thread destroyer([&] {
    ConditionQueue::wait_until_left(state);
    gone = true;
  });
  ConditionQueue::withdraw(state);
  EXPECT_FALSE(gone);
  ConditionQueue::withdraw(state);
  destroyer.join();
  EXPECT_TRUE(gone);
}

TEST(ConditionQueue, ForkedChildForgetsWaiters) {
  ConditionState state{};
  Thread me;
  (void)ConditionQueue::enrol(state, me.context);
  EXPECT_TRUE(ConditionQueue::has_waiters(state));
  pretend_fork();
  EXPECT_FALSE(ConditionQueue::has_waiters(state));
  ConditionQueue::wait_until_left(state);
  (void)ConditionQueue::enrol(state, me.context);
  EXPECT_TRUE(ConditionQueue::has_waiters(state));
  ConditionQueue::withdraw(state);
  EXPECT_FALSE(ConditionQueue::has_waiters(state));
  end_pretended_fork();
}

/// What one signal may wake: a thread that slept before it, whatever sequences the two had.
TEST(ConditionQueue, SignalWakesEveryEarlierSequence) {
  for (std::uint32_t seen = 0; seen < 64; ++seen) {
    EXPECT_NE(bits_before(seen + 1) & bit_of_sequence(seen), 0u);
    for (std::uint32_t later = 0; later < kAhead; ++later)
      EXPECT_EQ(bits_before(seen) & bit_of_sequence(seen + later), 0u);
  }
}

/// Producers and consumers of a buffer with room for two, signals inside and outside of the section, timed
/// waits between. Everything arrives, and the threads end: no wake-up was lost.
template <class Design>
class Buffer : public ::testing::Test {
 protected:
  static constexpr int kItems = 2000, kThreads = 2, kRoom = 2;
  using Waits = Condition<Design>;

  void produce() {
    Thread me;
    for (int i = 0; i < kItems; ++i) {
      lock_.lock_until(me, nullptr);
      while (filled_ == kRoom) Waits::wait(has_room_, lock_.words.lock_words(), me, nullptr);
      filled_ = filled_ + 1;
      if (i % 2 == 0) Waits::signal(has_item_, me.context);
      lock_.unlock(me);
      if (i % 2 != 0) Waits::broadcast(has_item_, me.context);
    }
  }
  void consume() {
    Thread me;
    for (int i = 0; i < kItems; ++i) {
      lock_.lock_until(me, nullptr);
      while (filled_ == 0)
        Waits::wait(has_item_, lock_.words.lock_words(), me, i % 8 == 0 ? &kPassed : nullptr);
      filled_ = filled_ - 1;
      taken_ = taken_ + 1;
      Waits::signal(has_room_, me.context);
      lock_.unlock(me);
    }
  }

  Locked<Design> lock_;
  ConditionState has_item_{}, has_room_{};
  volatile int filled_ = 0, taken_ = 0;
};

using Designs = ::testing::Types<TatasPlain<Park>, TatasPlain<Spin>, TicketPlain<Park>, HtmN<htm::Rtm, Park>,
                                 HtmN<htm::Rtm, Spin>, HleScm<htm::Rtm, Park>>;
TYPED_TEST_SUITE(Buffer, Designs);

TYPED_TEST(Buffer, LosesNoItemAndNoThread) {
  if (NeedsRtm<TypeParam>::value && !htm::detect_cpu().has_rtm) GTEST_SKIP() << "no live RTM on this CPU";
  std::vector<std::thread> threads;
  for (int i = 0; i < this->kThreads; ++i) {
    threads.emplace_back([this] { this->produce(); });
    threads.emplace_back([this] { this->consume(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->taken_, this->kThreads * this->kItems);
  EXPECT_EQ(this->filled_, 0);
  EXPECT_FALSE(ConditionQueue::has_waiters(this->has_item_) || ConditionQueue::has_waiters(this->has_room_));
  EXPECT_TRUE(this->lock_.is_free());
}

}  // namespace
}  // namespace elision::locks::test
