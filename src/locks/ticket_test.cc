// SPDX-License-Identifier: Apache-2.0
// The ticket queue step by step: order, tickets given up, wrap-around, sleepers, and queues inherited by
// the child of a fork.
#include "locks/ticket.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <thread>
#include <vector>

#include "locks/designs_for_test.h"
#include "locks/tatas.h"

namespace elision::locks::test {
namespace {

using Queue = Ticket<Park>;
using SpinningQueue = Ticket<Spin>;

Outcome give_up(TicketState& state, std::uint32_t ticket) {
  TicketPlace place{state, ticket, true};
  return Queue::give_up(place);
}

void leave(TicketState& state, std::uint32_t ticket) {
  TicketPlace place{state, ticket, true};
  Queue::leave(&place);
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
  EXPECT_EQ(give_up(state_, third), Outcome::kTimedOut);
  EXPECT_EQ(give_up(state_, second), Outcome::kTimedOut);
  Queue::release(state_);
  EXPECT_EQ(Queue::distance(state_, fourth), 0u);
  Queue::release(state_);
  EXPECT_FALSE(Queue::is_held(state_));
  EXPECT_EQ(Grant::unpack(state_.grant).abandoned, 0u);
}

TEST_P(TicketAt, SkipsAThreadThatLeftForGood) {
  join(state_);
  const std::uint32_t second = join(state_), third = join(state_);
  leave(state_, second);
  Queue::release(state_);
  EXPECT_EQ(Queue::distance(state_, third), 0u);
  leave(state_, third);  // which is served
  EXPECT_FALSE(Queue::is_held(state_));
  EXPECT_EQ(Grant::unpack(state_.grant).abandoned, 0u);
}

TEST_P(TicketAt, ThreadLeavesForGoodFromAnySleep) {
  join(state_);
  TicketPlace place{state_, join(state_), true};
  place.asleep = true;  // enrolled
  state_.grant += std::uint64_t{1} << 48;
  Queue::leave(&place);
  EXPECT_EQ(Grant::unpack(state_.grant).sleepers, 0u);
  TicketPlace outside{state_};  // with a deadline, and no room in the window
  outside.asleep = true;
  state_.grant += std::uint64_t{1} << 48;
  Queue::leave(&outside);
  EXPECT_EQ(Grant::unpack(state_.grant).sleepers, 0u);
  Queue::release(state_);
  EXPECT_FALSE(Queue::is_held(state_));
}

TEST_P(TicketAt, DistantThreadLeavesOnceItsTicketIsMarked) {
  join(state_);
  for (std::uint32_t i = 1; i < Grant::kWindow; ++i) join(state_);
  const std::uint32_t far = join(state_);
  std::thread leaver([&] { leave(state_, far); });
  Queue::release(state_);
  leaver.join();
  EXPECT_EQ(Grant::unpack(state_.grant).abandoned, Grant::bit_of(far));
}

TEST_P(TicketAt, TicketServedAtDeadlineTakesLock) {
  join(state_);
  const std::uint32_t second = join(state_);
  Queue::release(state_);
  EXPECT_EQ(give_up(state_, second), Outcome::kAcquired);
  EXPECT_TRUE(Queue::is_held(state_));
  Queue::release(state_);
  EXPECT_FALSE(Queue::is_held(state_));
}

TEST_P(TicketAt, TimedWaiterJoinsOnlyWithinWindow) {
  join(state_);
  std::uint32_t ticket;
  for (std::uint32_t i = 1; i < Grant::kWindow - 1; ++i)
    ASSERT_TRUE(Queue::join(state_, &kPassed, ticket)) << i;
  EXPECT_FALSE(Queue::join(state_, &kPassed, ticket)) << "its bit would be another ticket's";
  join(state_);  // without deadline the queue has no end
}

/// As if the holder had stored now_serving while `ticket` was being given up.
void give_up_as_its_turn_comes(TicketState& state, std::uint32_t ticket) {
  state.grant = Grant{ticket, Grant::bit_of(ticket), 0}.pack();
}

TEST_P(TicketAt, TicketServedAfterItWasGivenUpIsSkipped) {
  join(state_);
  const std::uint32_t second = join(state_), third = join(state_);
  give_up_as_its_turn_comes(state_, second);
  EXPECT_EQ(SpinningQueue::distance(state_, third), 0u);
  EXPECT_EQ(state_.grant, Grant({third, 0, 0}).pack());
  EXPECT_TRUE(SpinningQueue::release(state_));
  EXPECT_FALSE(SpinningQueue::is_held(state_));
}

TEST_P(TicketAt, LastTicketServedAfterItWasGivenUpLeavesTheLockFree) {
  join(state_);
  const std::uint32_t second = join(state_);
  give_up_as_its_turn_comes(state_, second);
  EXPECT_FALSE(SpinningQueue::is_held(state_));
  give_up_as_its_turn_comes(state_, second);
  EXPECT_TRUE(SpinningQueue::try_acquire(state_));
  EXPECT_TRUE(SpinningQueue::release(state_));
  EXPECT_FALSE(SpinningQueue::release(state_));
}

TEST_P(TicketAt, UnlockOfALockWithATicketGivenUpInFrontChangesNothing) {
  join(state_);
  const std::uint32_t second = join(state_);
  give_up_as_its_turn_comes(state_, second);
  EXPECT_FALSE(SpinningQueue::release(state_)) << "nobody holds it";
  EXPECT_EQ(state_.grant, Grant({second + 1, 0, 0}).pack());
}

/// A thread that leaves between marking its ticket and noting that down gives the ticket up once more.
TEST_P(TicketAt, TicketGivenUpBeforeIsNoTurn) {
  join(state_);
  const std::uint32_t second = join(state_);
  give_up_as_its_turn_comes(state_, second);
  EXPECT_EQ(give_up(state_, second), Outcome::kTimedOut) << "another thread skips it";
  EXPECT_FALSE(SpinningQueue::is_held(state_));
  EXPECT_EQ(give_up(state_, second), Outcome::kTimedOut) << "it was passed";
  EXPECT_EQ(state_.grant, Grant({second + 1, 0, 0}).pack()) << "a mark would be that of a later ticket";
}

/// A ticket state on a page that can only be read, so that a thread that writes it ends by SIGSEGV.
class ReadOnlyState {
 public:
  explicit ReadOnlyState(const TicketState& from) {
    state_.next = from.next.load();
    state_.grant = from.grant.load();
    mprotect(page_, kBytes, PROT_READ);
  }
  ~ReadOnlyState() { munmap(page_, kBytes); }
  ReadOnlyState(const ReadOnlyState&) = delete;
  ReadOnlyState& operator=(const ReadOnlyState&) = delete;

  TicketState& state() { return state_; }

 private:
  static constexpr std::size_t kBytes = 4096;
  void* const page_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TicketState& state_ = *new (page_) TicketState{};
};

TEST_P(TicketAt, SpinningWaitersNeverEnrolAsSleepers) {
  join(state_);
  const std::uint32_t second = join(state_);
  ReadOnlyState read_only(state_);
  TicketPlace place{read_only.state(), second, true};
  EXPECT_EXIT(_exit(SpinningQueue::sleep_until(place, second, &kPassed) ? 1 : 0),
              ::testing::ExitedWithCode(0), "");
}

TEST_P(TicketAt, SpinningThreadThatLeavesForGoodIsSkipped) {
  join(state_);
  const std::uint32_t second = join(state_), third = join(state_);
  TicketPlace place{state_, second, true};
  SpinningQueue::leave(&place);
  EXPECT_FALSE(place.has_ticket);
  EXPECT_TRUE(SpinningQueue::release(state_));
  EXPECT_EQ(SpinningQueue::distance(state_, third), 0u);
  TicketPlace served{state_, third, true};
  SpinningQueue::leave(&served);
  EXPECT_FALSE(SpinningQueue::is_held(state_));
  SpinningQueue::leave(&place);  // its ticket is long passed
  EXPECT_EQ(state_.grant, Grant({third + 1, 0, 0}).pack());
}

TEST_P(TicketAt, SpinningReleaseSkipsTicketsGivenUp) {
  join(state_);
  const std::uint32_t second = join(state_), third = join(state_);
  TicketPlace place{state_, second, true};
  EXPECT_EQ(SpinningQueue::give_up(place), Outcome::kTimedOut);
  EXPECT_TRUE(SpinningQueue::release(state_));
  EXPECT_EQ(state_.grant, Grant({third, 0, 0}).pack());
}

TEST_P(TicketAt, ForkedChildForgetsWaiters) {
  join(state_);
  const std::uint32_t second = join(state_);
  join(state_);
  give_up(state_, second);
  EXPECT_TRUE(Queue::is_adopted(state_));
  pretend_fork();
  EXPECT_FALSE(Queue::is_adopted(state_));
  EXPECT_TRUE(Queue::is_held(state_)) << "the holder still holds it";
  EXPECT_TRUE(Queue::release(state_));
  EXPECT_TRUE(Queue::is_adopted(state_));
  EXPECT_FALSE(Queue::is_held(state_));
  EXPECT_TRUE(Queue::try_acquire(state_));
  EXPECT_FALSE(Queue::try_acquire(state_));
  EXPECT_TRUE(Queue::release(state_));
  end_pretended_fork();
}

INSTANTIATE_TEST_SUITE_P(Tickets, TicketAt, ::testing::Values(0u, 13u, ~0u, ~0u - 1, 0x7fffffffu));

/// A waiter that sleeps is seen to sleep in the state word; a release that forgot it would leave it asleep,
/// and the test would never end.
TEST(TicketSleepers, ReleaseWakesNextTicket) {
  TicketState state{};
  join(state);
  std::vector<std::thread> sleepers;
  std::atomic<int> served{0};
  for (std::uint16_t i = 1; i <= 3; ++i) {
    sleepers.emplace_back([&] {
      EXPECT_EQ(Queue::acquire(state, nullptr), Outcome::kAcquired);
      ++served;
      EXPECT_TRUE(Queue::release(state));
    });
    while (Grant::unpack(state.grant).sleepers != i) std::this_thread::yield();
  }
  EXPECT_EQ(served, 0);
  EXPECT_TRUE(Queue::release(state));
  for (std::thread& sleeper : sleepers) sleeper.join();
  EXPECT_EQ(served, 3);
  EXPECT_EQ(Grant::unpack(state.grant).sleepers, 0u);
}

TEST(TicketSleepers, SleeperBehindAbandonedTicketsIsWoken) {
  TicketState state{};
  join(state);
  const std::uint32_t second = join(state), third = join(state);
  std::thread sleeper([&] {
    EXPECT_EQ(Queue::acquire(state, nullptr), Outcome::kAcquired);
    EXPECT_TRUE(Queue::release(state));
  });
  // One that only wants to come near, and is passed over in one step.
  TicketPlace place{state};
  std::thread near([&] { EXPECT_TRUE(Queue::sleep_until(place, second, nullptr)); });
  while (Grant::unpack(state.grant).sleepers != 2) std::this_thread::yield();
  EXPECT_EQ(give_up(state, second), Outcome::kTimedOut);
  EXPECT_EQ(give_up(state, third), Outcome::kTimedOut);
  EXPECT_TRUE(Queue::release(state));
  sleeper.join();
  near.join();
}

TEST(TatasSleepers, ReleaseWakesOneAtATime) {
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

TEST(TatasSleepers, WokenThreadWithoutLockPassesWakeUpOn) {
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

}  // namespace
}  // namespace elision::locks::test
