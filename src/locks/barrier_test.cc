// SPDX-License-Identifier: Apache-2.0
// The barrier, step by step over scripted transactions, and by threads of its own over every back end and
// waiting policy.
#include "locks/barrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "htm/cpu.h"
#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

using htm::Scripted;
using htm::Status;
using Tested = Barrier<Scripted>;

constexpr Status kConflict{Status::kConflictBit};

std::uint64_t aborts(const Thread& thread, abi::AbortCause cause) {
  return thread.counters.aborts[static_cast<std::size_t>(cause)];
}

class ScriptedBarrier : public ::testing::Test {
 protected:
  void SetUp() override { Scripted::reset(); }

  /// What another thread does meanwhile.
  void other_arrives() { EXPECT_EQ(Tested::wait(state_, 2, Thread()), Passage::kLast); }

  BarrierState state_{};
  Thread me_;
};

TEST_F(ScriptedBarrier, LastThreadReleasesWithoutSpeculating) {
  for (unsigned round = 0; round < 3; ++round) EXPECT_EQ(Tested::wait(state_, 1, me_), Passage::kLast);
  EXPECT_EQ(Scripted::script.begun, 0u);
}

TEST_F(ScriptedBarrier, WaiterRunsAheadInTransaction) {
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kSpeculating);
  EXPECT_TRUE(Scripted::in_always_abort());
  EXPECT_EQ(me_.counters.speculations, 1u);
}

TEST_F(ScriptedBarrier, ReleaseEndsSpeculation) {
  Scripted::script.steps.push_back({kConflict, [&] { other_arrives(); }});
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kReleased);
  EXPECT_EQ(aborts(me_, abi::AbortCause::kConflict), 1u);
}

TEST_F(ScriptedBarrier, RoundEndAtTransactionBeginIsNoticed) {
  Scripted::script.steps.push_back({Status{}, [&] { other_arrives(); }});
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kReleased);
  EXPECT_EQ(aborts(me_, abi::AbortCause::kLockBusy), 1u);
  EXPECT_FALSE(Scripted::in_always_abort());
}

TEST_F(ScriptedBarrier, AfterItsTriesItWaitsPlainly) {
  std::atomic<bool> has_tried{false};
  for (int i = 0; i < 3; ++i) Scripted::script.steps.push_back({kConflict});
  Scripted::script.steps.push_back({kConflict, [&] { has_tried = true; }});
  std::thread other([&] {
    while (!has_tried) std::this_thread::yield();
    other_arrives();
  });
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kReleased);
  other.join();
  EXPECT_EQ(me_.counters.speculations, 4u);
}

TEST_F(ScriptedBarrier, ReleasedThreadDoesNotMove) {
  Scripted::script.steps.push_back({kConflict, [&] {
                                      other_arrives();
                                      Tested::move_away(state_);  // before it arrives in the round after
                                    }});
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kReleased);
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kMoved);
}

TEST_F(ScriptedBarrier, SpeculatingThreadMoves) {
  Scripted::script.steps.push_back({kConflict, [&] { Tested::move_away(state_); }});
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kMoved);
}

TEST_F(ScriptedBarrier, MovedRoundHasNoLastThread) {
  Scripted::script.steps.push_back({kConflict, [&] { Tested::move_away(state_); }});
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kMoved);
  EXPECT_EQ(Tested::wait(state_, 2, Thread()), Passage::kMoved) << "the one that moved them";
}

TEST_F(ScriptedBarrier, MoreThreadsThanItsNumberFormRounds) {
  state_.arrivals = 2;  // of which nobody has released the others yet
  Scripted::script.steps.push_back({kConflict, [&] { state_.release += 2; }});
  Scripted::script.steps.push_back({kConflict, [&] { other_arrives(); }});
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kReleased);
  EXPECT_EQ(me_.counters.speculations, 2u) << "the end of the round before is not the end of this one";
}

TEST_F(ScriptedBarrier, RoundsWrapInReleaseWord) {
  constexpr std::uint32_t kRounds = (1u << 31) - 1;
  state_.arrivals = 2ull * kRounds;
  state_.release = 2 * kRounds;
  for (int round = 0; round < 4; ++round) {
    Scripted::script.steps.push_back({kConflict, [&] { other_arrives(); }});
    EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kReleased);
  }
}

TEST_F(ScriptedBarrier, DestroyAwaitsDeparturesAndReportsUnfinishedRound) {
  Scripted::script.steps.push_back({kConflict, [&] { other_arrives(); }});
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kReleased);
  Tested::depart(state_);
  std::thread late([&] { Tested::depart(state_); });
  EXPECT_TRUE(Tested::await_departures(state_, 2));
  EXPECT_EQ(state_.departures & ~(std::uint64_t{1} << 63), 2u);
  late.join();
  EXPECT_EQ(Tested::wait(state_, 2, me_), Passage::kSpeculating);
  EXPECT_FALSE(Tested::await_departures(state_, 2));
}

// ---- Threads.

template <class Htm>
class EveryBarrier : public ::testing::Test {
 protected:
  using Waited = Barrier<Htm>;

  void SetUp() override {
    pause_ticks = htm::measure_pause_ticks();
    const htm::CpuFeatures cpu = htm::detect_cpu();
    if (NeedsVirtualCpu<Htm>::value && !cpu.virtual_always_abort)
      GTEST_SKIP() << "only the virtual CPU has always-abort transactions";
    if (!NeedsRtm<Htm>::value) return;
    if (!cpu.has_rtm) GTEST_SKIP() << "no live RTM on this CPU";
    htm::nested_rtm_depth = htm::measure_nesting_depth();
  }

  /// Passes as a pthread barrier does; true: as the last one. A speculation goes on in the caller.
  static bool pass(BarrierState& state, std::uint32_t total, Thread& me) {
    if (Htm::in_always_abort()) return false;
    const Passage passage = Waited::wait(state, total, me);
    if (passage != Passage::kSpeculating) Waited::depart(state);
    return passage == Passage::kLast;
  }
  static void end_speculation() {
    if (Htm::in_always_abort()) (void)Htm::template abort<htm::kCodeGiveUp>();
  }
};

using Backends = ::testing::Types<htm::None, htm::NestedRtm, htm::VirtualAlwaysAbort>;
TYPED_TEST_SUITE(EveryBarrier, Backends);

unsigned rounds() {
  const char* given = std::getenv("ELISION_TEST_ROUNDS");
  return given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 400;
}

/// What a thread wrote before a barrier, all see behind it; one of them is the last.
TYPED_TEST(EveryBarrier, NoThreadPassesBeforeAllArrive) {
  constexpr std::uint32_t kThreads = 4;
  BarrierState state{};
  std::vector<unsigned> written(kThreads);
  std::atomic<unsigned> lasts{0}, wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Thread me;
      for (unsigned round = 1; round <= rounds(); ++round) {
        written[t] = round;
        if (this->pass(state, kThreads, me)) lasts.fetch_add(1, std::memory_order_relaxed);
        unsigned late = 0;
        for (const unsigned& by : written) late += *const_cast<const volatile unsigned*>(&by) != round;
        this->pass(state, kThreads, me);
        this->end_speculation();
        if (late != 0) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(lasts, rounds());
  EXPECT_EQ(state.sleepers, 0u);
}

/// Whoever was last destroys it at once, and the memory becomes something else.
TYPED_TEST(EveryBarrier, LastThreadMayDestroyIt) {
  for (unsigned round = 0; round < rounds(); ++round) {
    auto state = std::make_unique<BarrierState>();
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 2; ++t) {
      threads.emplace_back([&, where = state.get()] {
        Thread me;
        const bool last = this->pass(*where, 2, me);
        this->end_speculation();
        if (!last) return;
        EXPECT_TRUE(TestFixture::Waited::await_departures(*where, 2));
        state->release = state->sleepers = 0x5a5a5a5a;
        state->arrivals = state->departures = 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(state->arrivals, 0u);
    EXPECT_EQ(state->departures, 0u) << "somebody touched it afterwards";
    EXPECT_EQ(state->sleepers, 0x5a5a5a5au);
  }
}

}  // namespace
}  // namespace elision::locks::test
