// SPDX-License-Identifier: Apache-2.0
// One suite run over every lock design, its forms for spin and reader-writer locks, every back end and
// waiting policy: exclusion, trylock, deadlines, waiters that give up, and a lock that disappears right after
// it was released. CTest runs it natively and, over many seeds, in the virtual machine, where RTM and
// always-abort transactions are always there.
//
//   locks_test [--gtest...]     ELISION_TEST_ROUNDS=N: another number of rounds
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "htm/cpu.h"
#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

/// A suite's row: an object with a lock in it, and what a thread does about a lock that is held.
template <class Lock_, Busy kBusy_ = Busy::kOutside, bool kSubscribes_ = false>
struct Row : Lock_ {
  using Lock = Lock_;
  static constexpr Busy kBusy = kBusy_;
  static Thread thread() {
    Thread result;
    result.tuning.busy = kBusy;
    result.tuning.subscribes = kSubscribes_;
    return result;
  }
};

template <class Design, Busy kBusy = Busy::kOutside, bool kSubscribes = false>
using M = Row<Locked<Design>, kBusy, kSubscribes>;
template <class Design>
using S = Row<SpinLocked<Design>>;
template <class Design>
using W = Row<ReaderWriter<Design>>;

template <class Row>
class EveryLock : public ::testing::Test {
 protected:
  using Design = typename Row::Design;
  void SetUp() override {
    pause_ticks = htm::measure_pause_ticks();
    const htm::CpuFeatures cpu = htm::detect_cpu();
    if (NeedsVirtualCpu<Design>::value && !cpu.virtual_always_abort)
      GTEST_SKIP() << "only the virtual CPU has always-abort transactions";
    if (!NeedsRtm<Design>::value) return;
    if (!cpu.has_rtm) GTEST_SKIP() << "no live RTM on this CPU";
    htm::nested_rtm_depth = htm::measure_nesting_depth();
  }
};

using None = htm::None;
using Rtm = htm::Rtm;
using Nested = htm::NestedRtm;
using Virtual = htm::VirtualAlwaysAbort;

template <class Waiting>
using Mutexes = ::testing::Types<
    M<TatasPlain<Waiting>>, M<TtsPlain<Waiting>>, M<TicketPlain<Waiting>>,                //
    M<HtmN<None, Waiting>>, M<HtmN<Rtm, Waiting>>, M<HtmN<Rtm, Waiting>, Busy::kInside>,  //
    M<HtmN<Rtm, Waiting>, Busy::kAbort>,                                                  //
    M<Ttstle<None, Waiting>, Busy::kFallBack>, M<Ttstle<Rtm, Waiting>, Busy::kFallBack>,  //
    M<HleScm<None, Waiting>>, M<HleScm<Rtm, Waiting>>,                                    //
    M<HtmNFbAahtm<None, None, Waiting>>, M<HtmNFbAahtm<Rtm, Nested, Waiting>>,
    M<HtmNFbAahtm<Rtm, Virtual, Waiting>>,  //
    M<TatasAahtm<None, Waiting>>, M<TatasAahtm<Nested, Waiting>>, M<TatasAahtm<Virtual, Waiting>>,
    M<TatasPriAahtm<None, Waiting>>, M<TatasPriAahtm<Nested, Waiting>>, M<TatasPriAahtm<Virtual, Waiting>>,
    M<TicketAahtm<None, Waiting>>, M<TicketAahtm<Nested, Waiting>>, M<TicketAahtm<Virtual, Waiting>>,
    M<TicketAahtm<Virtual, Waiting>, Busy::kOutside, true>>;

template <class Waiting>
using Others = ::testing::Types<
    S<TatasPlain<Waiting>>, S<TicketPlain<Waiting>>, S<HtmN<None, Waiting>>, S<HtmN<Rtm, Waiting>>,
    S<HleScm<Rtm, Waiting>>, S<TatasAahtm<Nested, Waiting>>, S<TatasAahtm<Virtual, Waiting>>,
    S<TatasPriAahtm<None, Waiting>>,  //
    W<TatasPlain<Waiting>>, W<TicketPlain<Waiting>>, W<HtmN<None, Waiting>>, W<HtmN<Rtm, Waiting>>,
    W<HleScm<Rtm, Waiting>>, W<HtmNFbAahtm<Rtm, Virtual, Waiting>>, W<TatasAahtm<None, Waiting>>,
    W<TatasAahtm<Nested, Waiting>>, W<TatasAahtm<Virtual, Waiting>>, W<TatasPriAahtm<Virtual, Waiting>>,
    W<TicketAahtm<None, Waiting>>, W<TicketAahtm<Nested, Waiting>>, W<TicketAahtm<Virtual, Waiting>>>;

TYPED_TEST_SUITE_P(EveryLock);

/// Spinning FIFO locks crawl when threads outnumber CPUs: then two threads, and few rounds.
template <class Row>
constexpr bool kParks = std::is_same_v<typename Row::Design::Waiting, Park>;
template <class Row>
constexpr unsigned kThreads = kParks<Row> ? 4 : 2;

template <class Row>
int rounds() {
  static const char* const given = std::getenv("ELISION_TEST_ROUNDS");
  const int number = given != nullptr ? std::atoi(given) : 3000;
  return kParks<Row> ? number : (number + 5) / 6;
}

/// A section with a window between its load and its store that any overlap hits.
void increment_slowly(volatile std::uint64_t& counter) {
  const std::uint64_t value = counter;
  for (int i = 0; i < 20; ++i) asm volatile("" : : : "memory");
  counter = value + 1;
}

/// Runs `work(thread number)` on as many threads as the row allows.
template <class Row, class Work>
void on_threads(Work work) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads<Row>; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

TYPED_TEST_P(EveryLock, LosesNoUpdate) {
  TypeParam lock;
  volatile std::uint64_t counter = 0;
  const int each = rounds<TypeParam>();
  on_threads<TypeParam>([&](unsigned) {
    Thread me = TypeParam::thread();
    for (int i = 0; i < each; ++i) {
      lock.lock_until(me, nullptr);
      increment_slowly(counter);
      lock.unlock(me);
    }
  });
  EXPECT_EQ(counter, std::uint64_t{kThreads<TypeParam>} * static_cast<unsigned>(each));
  EXPECT_TRUE(lock.is_free());
}

TYPED_TEST_P(EveryLock, TryLockFailsExactlyWhileHeld) {
  TypeParam lock;
  Thread me = TypeParam::thread(), other = TypeParam::thread();
  other.take_really();
  ASSERT_TRUE(lock.lock_until(other, nullptr));
  EXPECT_FALSE(lock.try_lock(me));
  EXPECT_TRUE(lock.unlock(other));
  ASSERT_TRUE(lock.try_lock(me));
  EXPECT_TRUE(lock.unlock(me));
  EXPECT_TRUE(lock.is_free());
}

TYPED_TEST_P(EveryLock, PassedDeadlineTakesFreeLockOnly) {
  TypeParam lock;
  Thread me = TypeParam::thread(), other = TypeParam::thread();
  other.take_really();
  me.take_really();  // a speculation would run on into this very test
  ASSERT_TRUE(lock.lock_until(other, nullptr));
  EXPECT_FALSE(lock.lock_until(me, &kPassed));
  EXPECT_FALSE(lock.lock_until(me, &kPassed));
  EXPECT_TRUE(lock.unlock(other));
  ASSERT_TRUE(lock.lock_until(me, &kPassed));
  EXPECT_TRUE(lock.unlock(me));
  EXPECT_TRUE(lock.is_free()) << "waiters that gave up must leave nothing behind";
}

TYPED_TEST_P(EveryLock, UnlockOfFreeLockChangesNothing) {
  TypeParam lock;
  Thread me = TypeParam::thread();
  EXPECT_FALSE(lock.unlock(me));
  ASSERT_TRUE(lock.try_lock(me));
  EXPECT_TRUE(lock.unlock(me));
  EXPECT_FALSE(lock.unlock(me));
  EXPECT_TRUE(lock.is_free());
}

TYPED_TEST_P(EveryLock, StaysConsistentWhileWaitersGiveUp) {
  TypeParam lock;
  volatile std::uint64_t counter = 0;
  std::atomic<std::uint64_t> entered{0};
  on_threads<TypeParam>([&](unsigned t) {
    Thread me = TypeParam::thread();
    Random random(t);
    std::uint64_t mine = 0;
    for (int i = rounds<TypeParam>(); i > 0; --i) {
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
  EXPECT_EQ(counter, entered.load());
  EXPECT_TRUE(lock.is_free());
}

/// The last user of an object frees it right after its unlock, as POSIX allows: an unlock that touches
/// the lock after the next one could get it would fault.
TYPED_TEST_P(EveryLock, MayDisappearRightAfterUnlock) {
  struct Object {
    TypeParam lock;
    int users = 2;
  };
  const auto leave = [](Object* object, bool elides) {
    Thread me = TypeParam::thread();
    if (!elides) me.take_really();  // unmapping inside a transaction would only abort it
    object->lock.lock_until(me, nullptr);
    const bool last = --object->users == 0;
    object->lock.unlock(me);
    if (last) munmap(object, sizeof(Object));
  };
  for (int round = rounds<TypeParam>() / 10; round > 0; --round) {
    void* page = mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    auto* object = new (page) Object;
    std::thread other(leave, object, round % 2 == 0);
    leave(object, round % 3 == 0);
    other.join();
  }
}

REGISTER_TYPED_TEST_SUITE_P(EveryLock, LosesNoUpdate, TryLockFailsExactlyWhileHeld,
                            PassedDeadlineTakesFreeLockOnly, UnlockOfFreeLockChangesNothing,
                            StaysConsistentWhileWaitersGiveUp, MayDisappearRightAfterUnlock);
INSTANTIATE_TYPED_TEST_SUITE_P(MutexSpin, EveryLock, Mutexes<Spin>);
INSTANTIATE_TYPED_TEST_SUITE_P(MutexPark, EveryLock, Mutexes<Park>);
INSTANTIATE_TYPED_TEST_SUITE_P(OtherSpin, EveryLock, Others<Spin>);
INSTANTIATE_TYPED_TEST_SUITE_P(OtherPark, EveryLock, Others<Park>);

// ---- What only reader-writer locks do.

template <class Row>
class EveryReaderWriterLock : public EveryLock<Row> {};
TYPED_TEST_SUITE_P(EveryReaderWriterLock);

TYPED_TEST_P(EveryReaderWriterLock, ReadersShareAndExcludeAWriter) {
  TypeParam lock;
  Thread first = TypeParam::thread(), second = TypeParam::thread(), writer = TypeParam::thread();
  for (Thread* thread : {&first, &second, &writer}) thread->take_really();
  ASSERT_TRUE(lock.lock_until(first, nullptr, false));
  EXPECT_TRUE(lock.try_lock(second, false));
  EXPECT_FALSE(lock.try_lock(writer, true));
  EXPECT_FALSE(lock.lock_until(writer, &kPassed, true));
  EXPECT_TRUE(lock.unlock(first, false));
  EXPECT_FALSE(lock.try_lock(writer, true)) << "one reader is still inside";
  EXPECT_TRUE(lock.unlock(second, false));
  ASSERT_TRUE(lock.try_lock(writer, true));
  EXPECT_FALSE(lock.try_lock(first, false));
  EXPECT_FALSE(lock.lock_until(first, &kPassed, false));
  EXPECT_TRUE(lock.unlock(writer, true));
  EXPECT_TRUE(lock.is_free());
}

/// Two cells that only a writer changes, one after the other: a reader must see them equal.
TYPED_TEST_P(EveryReaderWriterLock, NoReaderSeesAWriterHalfWay) {
  for (const bool writers_first : {false, true}) {
    TypeParam lock;
    lock.words.writers_first = writers_first;
    volatile std::uint64_t one = 0, two = 0;
    std::atomic<std::uint64_t> torn{0}, written{0};
    on_threads<TypeParam>([&](unsigned t) {
      Thread me = TypeParam::thread();
      Random random(t);
      for (int i = rounds<TypeParam>(); i > 0; --i) {
        const bool writes = random.below(4) == 0;
        lock.lock_until(me, nullptr, writes);
        if (writes) {
          increment_slowly(one);
          increment_slowly(two);
        }
        const bool same = one == two;
        lock.unlock(me, writes);
        torn += same ? 0 : 1;
        written += writes ? 1 : 0;
      }
    });
    EXPECT_EQ(torn, 0u);
    EXPECT_EQ(one, written.load());
    EXPECT_TRUE(lock.is_free());
  }
}

/// A reader comes in again while a writer waits: without writers_first that never blocks.
TYPED_TEST_P(EveryReaderWriterLock, ReaderReentersWhileWriterWaits) {
  TypeParam lock;
  std::atomic<bool> holds{false}, done{false};
  std::thread reader([&] {
    Thread me = TypeParam::thread();
    me.take_really();
    lock.lock_until(me, nullptr, false);
    holds = true;
    for (int i = 0; i < 1000; ++i) {
      lock.lock_until(me, nullptr, false);
      lock.unlock(me, false);
      if (i % 100 == 0) std::this_thread::yield();
    }
    done = true;
    lock.unlock(me, false);
  });
  while (!holds) std::this_thread::yield();
  Thread me = TypeParam::thread();
  me.take_really();
  lock.lock_until(me, nullptr, true);
  EXPECT_TRUE(done);
  lock.unlock(me, true);
  reader.join();
  EXPECT_TRUE(lock.is_free());
}

REGISTER_TYPED_TEST_SUITE_P(EveryReaderWriterLock, ReadersShareAndExcludeAWriter, NoReaderSeesAWriterHalfWay,
                            ReaderReentersWhileWriterWaits);
template <class Waiting>
using ReaderWriters = ::testing::Types<
    W<TatasPlain<Waiting>>, W<TicketPlain<Waiting>>, W<HtmN<None, Waiting>>, W<HtmN<Rtm, Waiting>>,
    W<HleScm<Rtm, Waiting>>, W<HtmNFbAahtm<Rtm, Virtual, Waiting>>, W<TatasAahtm<None, Waiting>>,
    W<TatasAahtm<Nested, Waiting>>, W<TatasAahtm<Virtual, Waiting>>, W<TatasPriAahtm<Virtual, Waiting>>,
    W<TicketAahtm<None, Waiting>>, W<TicketAahtm<Nested, Waiting>>, W<TicketAahtm<Virtual, Waiting>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Spin, EveryReaderWriterLock, ReaderWriters<Spin>);
INSTANTIATE_TYPED_TEST_SUITE_P(Park, EveryReaderWriterLock, ReaderWriters<Park>);

}  // namespace
}  // namespace elision::locks::test
