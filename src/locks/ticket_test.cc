// SPDX-License-Identifier: Apache-2.0
// The ticket queue step by step: order, tickets given up, wrap-around, sleepers, and queues inherited by
// the child of a fork; then where ticket-aahtm speculates.
#include "locks/ticket.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "htm/scripted.h"
#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

using Queue = Ticket<Spin>;
using htm::Scripted;
using htm::Status;

constexpr timespec kLongAgo{1, 0};
const Deadline kPassed{CLOCK_MONOTONIC, &kLongAgo};

std::uint32_t join(TicketState& state) {
  std::uint32_t ticket = 0;
  EXPECT_TRUE(Queue::join(state, nullptr, ticket));
  return ticket;
}

class TicketAt : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  TicketAt() {
    state_.next = GetParam();
    state_.grant = Grant{GetParam(), 0, 0}.pack();
  }
  TicketState state_{};
};

TEST_P(TicketAt, ServesInOrder) {
  const std::uint32_t first = join(state_), second = join(state_), third = join(state_);
  EXPECT_EQ(Queue::distance(state_, first), 0u);
  EXPECT_EQ(Queue::distance(state_, second), 1u);
  EXPECT_EQ(Queue::distance(state_, third), 2u);
  EXPECT_TRUE(Queue::release(state_));
  EXPECT_EQ(Queue::distance(state_, second), 0u);
  EXPECT_TRUE(Queue::release(state_));
  EXPECT_TRUE(Queue::release(state_));
  EXPECT_FALSE(Queue::is_held(state_));
  EXPECT_FALSE(Queue::release(state_));
}

TEST_P(TicketAt, SkipsEveryTicketThatWasGivenUp) {
  join(state_);
  const std::uint32_t second = join(state_), third = join(state_), fourth = join(state_);
  EXPECT_EQ(Queue::give_up(state_, third), Outcome::kTimedOut);
  EXPECT_EQ(Queue::give_up(state_, second), Outcome::kTimedOut);
  Queue::release(state_);
  EXPECT_EQ(Queue::distance(state_, fourth), 0u);
  Queue::release(state_);
  EXPECT_FALSE(Queue::is_held(state_));
  EXPECT_EQ(Grant::unpack(state_.grant).abandoned, 0u);
}

TEST_P(TicketAt, ATicketServedAtTheLastMomentIsTheLock) {
  join(state_);
  const std::uint32_t second = join(state_);
  Queue::release(state_);
  EXPECT_EQ(Queue::give_up(state_, second), Outcome::kAcquired);
  EXPECT_TRUE(Queue::is_held(state_));
  Queue::release(state_);
  EXPECT_FALSE(Queue::is_held(state_));
}

TEST_P(TicketAt, AWaiterWithDeadlineJoinsOnlyWithinTheWindow) {
  join(state_);
  std::uint32_t ticket;
  for (std::uint32_t i = 1; i < Grant::kWindow - 1; ++i)
    ASSERT_TRUE(Queue::join(state_, &kPassed, ticket)) << i;
  EXPECT_FALSE(Queue::join(state_, &kPassed, ticket)) << "its bit would be another ticket's";
  join(state_);  // without deadline the queue has no end
}

TEST_P(TicketAt, TheChildOfAForkForgetsThoseWhoWaited) {
  join(state_);
  const std::uint32_t second = join(state_);
  join(state_);
  Queue::give_up(state_, second);
  ++fork_generation;
  EXPECT_TRUE(Queue::is_held(state_)) << "the holder still holds it";
  EXPECT_TRUE(Queue::release(state_));
  EXPECT_FALSE(Queue::is_held(state_));
  EXPECT_TRUE(Queue::try_acquire(state_));
  EXPECT_FALSE(Queue::try_acquire(state_));
  EXPECT_TRUE(Queue::release(state_));
  fork_generation = 0;
}

INSTANTIATE_TEST_SUITE_P(Tickets, TicketAt, ::testing::Values(0u, 13u, ~0u, ~0u - 1, 0x7fffffffu));

/// A waiter that sleeps is seen to sleep in the state word; a release that forgot it would leave it asleep,
/// and the test would never end.
TEST(TicketSleepers, AReleaseWakesTheOneWhoseTurnItIs) {
  using Sleepy = Ticket<Park>;
  TicketState state{};
  join(state);
  std::vector<std::thread> sleepers;
  std::atomic<int> served{0};
  for (std::uint16_t i = 1; i <= 3; ++i) {
    sleepers.emplace_back([&] {
      EXPECT_EQ(Sleepy::acquire(state, nullptr), Outcome::kAcquired);
      ++served;
      EXPECT_TRUE(Sleepy::release(state));
    });
    while (Grant::unpack(state.grant).sleepers != i) std::this_thread::yield();
  }
  EXPECT_EQ(served, 0);
  EXPECT_TRUE(Sleepy::release(state));
  for (std::thread& sleeper : sleepers) sleeper.join();
  EXPECT_EQ(served, 3);
  EXPECT_EQ(Grant::unpack(state.grant).sleepers, 0u);
}

TEST(TicketSleepers, ASleeperBehindTicketsGivenUpIsWoken) {
  using Sleepy = Ticket<Park>;
  TicketState state{};
  join(state);
  const std::uint32_t second = join(state), third = join(state);
  std::thread sleeper([&] {
    EXPECT_EQ(Sleepy::acquire(state, nullptr), Outcome::kAcquired);
    EXPECT_TRUE(Sleepy::release(state));
  });
  // One that only wants to come near, and is passed over in one step.
  std::thread near([&] { EXPECT_TRUE(Sleepy::sleep_until(state, second, nullptr)); });
  while (Grant::unpack(state.grant).sleepers != 2) std::this_thread::yield();
  EXPECT_EQ(Queue::give_up(state, second), Outcome::kTimedOut);
  EXPECT_EQ(Queue::give_up(state, third), Outcome::kTimedOut);
  EXPECT_TRUE(Sleepy::release(state));
  sleeper.join();
  near.join();
}

TEST(TatasSleepers, AReleaseWakesOneAndThatOneTheNext) {
  using Sleepy = Tatas<Park>;
  std::atomic<int> word{kHeld};
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 3; ++i) {
    sleepers.emplace_back([&] {
      EXPECT_EQ(Sleepy::acquire(word, nullptr), Outcome::kAcquired);
      EXPECT_TRUE(Sleepy::release(word));
    });
  }
  while (word != kHeldWithSleepers) std::this_thread::yield();
  EXPECT_TRUE(Sleepy::release(word));
  for (std::thread& sleeper : sleepers) sleeper.join();
  EXPECT_EQ(word, kFree);
}

TEST(TatasSleepers, OneThatDoesNotTakeTheLockHandsTheWakeUpOn) {
  using Sleepy = Tatas<Park>;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> word{kHeld};
    std::vector<std::thread> sleepers;
    for (int i = 0; i < 3; ++i)
      sleepers.emplace_back([&] { EXPECT_TRUE(Sleepy::wait_until_free(word, nullptr)); });
    while (word != kHeldWithSleepers) std::this_thread::yield();
    for (int i = 0; i < 100; ++i)
      std::this_thread::yield();  // likely all of them sleep; if not, it is only easier
    EXPECT_TRUE(Sleepy::release(word));
    for (std::thread& sleeper : sleepers) sleeper.join();
  }
}

/// What ticket-aahtm does at each distance, as a table: speculations begun before the ticket is served.
struct Row {
  std::uint32_t places;
  std::uint32_t min_distance;
  std::uint32_t max_distance;
  std::uint64_t speculations;
};

TEST(TicketAahtm, SpeculatesOnlyWithinItsWindow) {
  const Row rows[] = {
      {1, 2, 4, 0},                              // too near the head: the lock will be free before it pays
      {2, 2, 4, 4},                              // NUM_TRIES speculations, all aborted
      {3, 2, 4, 4}, {1, 1, 4, 4}, {3, 3, 3, 0},  // an empty window
      {1, 0, 2, 4},
  };
  for (const Row& row : rows) {
    Scripted::reset();
    TicketState state{};
    for (std::uint32_t i = 0; i < row.places; ++i) join(state);
    const std::uint32_t ticket = join(state);
    for (int i = 0; i < 4; ++i) Scripted::script.steps.push_back({Status{Status::kConflictBit}});
    Thread me;
    me.parameters.min_distance = row.min_distance;
    me.parameters.max_distance = row.max_distance;
    // The deadline has passed: when speculation is over the ticket is given up, and the test ends.
    using Lock = TicketAahtm<Scripted, Spin>;
    EXPECT_EQ(Lock::wait(state, ticket, me.parameters, me.recorder(), &kPassed), SpeculativeEntry::kTimedOut);
    EXPECT_EQ(me.counters.speculations, row.speculations) << row.places << " places";
    EXPECT_EQ(me.counters.aborts[static_cast<std::size_t>(abi::AbortCause::kConflict)], row.speculations);
  }
}

TEST(TicketAahtm, StopsSpeculatingWhenServed) {
  Scripted::reset();
  TicketState state{};
  join(state);
  join(state);
  const std::uint32_t ticket = join(state);
  Scripted::script.steps.push_back({Status{0}, [&] {
                                      Queue::release(state);
                                      Queue::release(state);
                                    }});
  Thread me;
  me.parameters.min_distance = 1;
  EXPECT_EQ((TicketAahtm<Scripted, Spin>::wait(state, ticket, me.parameters, me.recorder(), nullptr)),
            SpeculativeEntry::kHolding);
  EXPECT_EQ(me.counters.speculations, 1u);
  EXPECT_EQ(me.counters.acquisitions, 1u);
}

TEST(TatasAahtm, SpeculatesWhileHeldAndThenTakesIt) {
  Scripted::reset();
  std::atomic<int> word{kHeld};
  Scripted::script.steps.push_back({Status{Status::kConflictBit}});
  Scripted::script.steps.push_back({Status{Status::kCapacityBit}, [&] { word = kFree; }});
  Thread me;
  EXPECT_EQ((TatasAahtm<Scripted, Spin>::enter(word, me.parameters, me.recorder(), nullptr)),
            SpeculativeEntry::kHolding);
  EXPECT_EQ(me.counters.speculations, 2u);
  EXPECT_EQ(word, kHeld);
}

TEST(TatasAahtm, ARunningSpeculationReturnsToTheProgramWithoutTheLock) {
  Scripted::reset();
  std::atomic<int> word{kHeld};
  Thread me;
  EXPECT_EQ((TatasAahtm<Scripted, Spin>::enter(word, me.parameters, me.recorder(), nullptr)),
            SpeculativeEntry::kSpeculating);
  EXPECT_TRUE(Scripted::in_always_abort());
  EXPECT_EQ(me.counters.acquisitions, 0u);
}

TEST(TatasAahtm, AfterItsTriesItOnlyWaits) {
  Scripted::reset();
  std::atomic<int> word{kHeld};
  for (int i = 0; i < 4; ++i) Scripted::script.steps.push_back({Status{0}});
  Thread me;
  // A deadline that passes at the fifth look ends the wait: the first four lead to speculations.
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += 1000;
  Scripted::script.steps.back().meanwhile = [&] { at = kLongAgo; };
  const Deadline deadline{CLOCK_MONOTONIC, &at};
  EXPECT_EQ((TatasAahtm<Scripted, Spin>::enter(word, me.parameters, me.recorder(), &deadline)),
            SpeculativeEntry::kTimedOut);
  EXPECT_EQ(me.counters.speculations, 4u);
}

}  // namespace
}  // namespace elision::locks::test
