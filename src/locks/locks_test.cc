// SPDX-License-Identifier: Apache-2.0
// One suite run over every lock design, back end and waiting policy: exclusion, trylock, deadlines,
// waiters that give up, and a lock that disappears right after it was released.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <new>
#include <thread>
#include <vector>

#include "base/random.h"
#include "htm/cpu.h"
#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

constexpr timespec kLongAgo{1, 0};
const Deadline kPassed{CLOCK_MONOTONIC, &kLongAgo};

template <class Lock>
class EveryLock : public ::testing::Test {
 protected:
  void SetUp() override {
    pause_ticks = htm::measure_pause_ticks();
    if (!Lock::kNeedsRtm) return;
    if (!htm::detect_cpu().has_rtm) GTEST_SKIP() << "no live RTM on this CPU";
    htm::nested_rtm_depth = htm::measure_nesting_depth();
  }
};

using Designs = ::testing::Types<
    TatasLock<Spin>, TatasLock<Park>, TicketLock<Spin>, TicketLock<Park>, ElidedLockDesign<htm::None, Spin>,
    ElidedLockDesign<htm::None, Park>, ElidedLockDesign<htm::Rtm, Spin>, ElidedLockDesign<htm::Rtm, Park>,
    ElidedLockDesign<htm::Rtm, Spin, true>, ElidedLockDesign<htm::Rtm, Park, true>,
    TatasAahtmLock<htm::None, Spin>, TatasAahtmLock<htm::None, Park>, TatasAahtmLock<htm::NestedRtm, Spin>,
    TatasAahtmLock<htm::NestedRtm, Park>, TicketAahtmLock<htm::None, Spin>, TicketAahtmLock<htm::None, Park>,
    TicketAahtmLock<htm::NestedRtm, Spin>, TicketAahtmLock<htm::NestedRtm, Park>>;
TYPED_TEST_SUITE(EveryLock, Designs);

/// Spinning FIFO locks crawl when threads outnumber CPUs: then two threads, and few rounds.
template <class Lock>
constexpr unsigned kThreads = Lock::Waiting::kParks ? 4 : 2;
template <class Lock>
constexpr int kRounds = Lock::Waiting::kParks ? 3000 : 500;

/// A section with a window between its load and its store that any overlap hits.
void increment_slowly(volatile std::uint64_t& counter) {
  const std::uint64_t value = counter;
  for (int i = 0; i < 20; ++i) asm volatile("" : : : "memory");
  counter = value + 1;
}

TYPED_TEST(EveryLock, LosesNoUpdate) {
  TypeParam lock;
  volatile std::uint64_t counter = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads<TypeParam>; ++t) {
    threads.emplace_back([&] {
      Thread me;
      for (int i = 0; i < kRounds<TypeParam>; ++i) {
        lock.lock_until(me, nullptr);
        increment_slowly(counter);
        lock.unlock(me);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, std::uint64_t{kThreads<TypeParam>} * kRounds<TypeParam>);
  EXPECT_TRUE(lock.is_free());
}

TYPED_TEST(EveryLock, TryLockFailsExactlyWhileHeld) {
  TypeParam lock;
  Thread me, other;
  other.parameters.tries = 0;  // the other one really takes it
  ASSERT_TRUE(lock.lock_until(other, nullptr));
  EXPECT_FALSE(lock.try_lock(me));
  EXPECT_TRUE(lock.unlock(other));
  ASSERT_TRUE(lock.try_lock(me));
  EXPECT_TRUE(lock.unlock(me));
  EXPECT_TRUE(lock.is_free());
}

TYPED_TEST(EveryLock, APassedDeadlineGivesUpAHeldLockAndTakesAFreeOne) {
  TypeParam lock;
  Thread me, other;
  other.parameters.tries = 0;
  ASSERT_TRUE(lock.lock_until(other, nullptr));
  me.parameters.tries = 0;  // a speculation would run on into this very test
  EXPECT_FALSE(lock.lock_until(me, &kPassed));
  EXPECT_FALSE(lock.lock_until(me, &kPassed));
  EXPECT_TRUE(lock.unlock(other));
  ASSERT_TRUE(lock.lock_until(me, &kPassed));
  EXPECT_TRUE(lock.unlock(me));
  EXPECT_TRUE(lock.is_free()) << "waiters that gave up must leave nothing behind";
}

TYPED_TEST(EveryLock, UnlockOfAFreeLockSaysSoAndChangesNothing) {
  TypeParam lock;
  Thread me;
  EXPECT_FALSE(lock.unlock(me));
  ASSERT_TRUE(lock.try_lock(me));
  EXPECT_TRUE(lock.unlock(me));
  EXPECT_FALSE(lock.unlock(me));
  EXPECT_TRUE(lock.is_free());
}

TYPED_TEST(EveryLock, StaysConsistentWhileWaitersGiveUp) {
  TypeParam lock;
  volatile std::uint64_t counter = 0;
  std::atomic<std::uint64_t> entered{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads<TypeParam>; ++t) {
    threads.emplace_back([&, t] {
      Thread me;
      Random random(t);
      std::uint64_t mine = 0;
      for (int i = 0; i < kRounds<TypeParam>; ++i) {
        timespec soon;
        clock_gettime(CLOCK_MONOTONIC, &soon);
        soon.tv_nsec = static_cast<long>(soon.tv_nsec + static_cast<long>(random.below(20000)));
        if (soon.tv_nsec >= 1000000000) soon = {soon.tv_sec + 1, soon.tv_nsec - 1000000000};
        const Deadline deadline{CLOCK_MONOTONIC, &soon};
        const std::uint64_t kind = random.below(3);
        if (kind == 0 ? !lock.try_lock(me) : !lock.lock_until(me, kind == 1 ? &deadline : nullptr)) continue;
        increment_slowly(counter);
        lock.unlock(me);
        ++mine;
      }
      entered += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, entered.load());
  EXPECT_TRUE(lock.is_free());
}

/// The last user of an object frees it right after its unlock, as POSIX allows: an unlock that touches
/// the lock after the next one could get it would fault.
TYPED_TEST(EveryLock, MayDisappearRightAfterUnlock) {
  struct Object {
    TypeParam lock;
    int users = 2;
  };
  auto leave = [](Object* object) {
    Thread me;
    me.parameters.tries = 0;  // unmapping inside a transaction would only abort it
    object->lock.lock_until(me, nullptr);
    const bool last = --object->users == 0;
    object->lock.unlock(me);
    if (last) munmap(object, sizeof(Object));
  };
  for (int round = 0; round < 300; ++round) {
    void* page = mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    auto* object = new (page) Object;
    std::thread other(leave, object);
    leave(object);
    other.join();
  }
}

}  // namespace
}  // namespace elision::locks::test
