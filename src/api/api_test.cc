// SPDX-License-Identifier: Apache-2.0
// What elision.h and elision.hpp promise, natively and (tests/api) in the virtual machine, over the shared
// library. Where transactions do not commit the same tests hold for the locks really taken.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "abi/thread_activity.h"
#include "base/usable_cpus.h"
#include "elision/elision.hpp"
#include "htm/cpu.h"
#include "htm/own_code.h"
#include "htm/rtm.h"

namespace {

using namespace std::chrono_literals;

constexpr int kThreads = 4;
constexpr timespec kLongAgo{1, 0};

int rounds() {
  static const char* const given = std::getenv("ELISION_TEST_ROUNDS");
  return given != nullptr ? std::atoi(given) : 2000;
}

bool transactions_commit() {
  static const char* const given = std::getenv("ELISION_TRANSACTIONS");
  static const bool are_wanted = given == nullptr || given[0] != '0';
  static const bool result = are_wanted && elision::htm::detect_cpu().has_rtm;
  return result;
}

/// `work(thread number)` on some threads, which begin together.
template <class Work>
void on_threads(Work work, int count = kThreads) {
  std::atomic<int> missing{count};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&work, &missing, t] {
      --missing;
      while (missing > 0) std::this_thread::yield();
      work(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A section with a window between load and store that any overlap hits.
void increment_slowly(volatile std::uint64_t& counter) {
  const std::uint64_t value = counter;
  for (int i = 0; i < 20; ++i) asm volatile("" : : : "memory");
  counter = value + 1;
}

/// Takes a lock for real: what no transaction survives follows.
template <class Lockable>
void lock_really(Lockable& lockable) {
  lockable.lock();
  elision_abort();
}
void lock_shared_really(elision::shared_mutex& mutex) {
  mutex.lock_shared();
  elision_abort();
}

/// `work` on another thread, to its end.
template <class Work>
void elsewhere(Work work) {
  std::thread(work).join();
}

// ---- Mutexes.

template <class Mutex>
class EveryMutex : public ::testing::Test {
 protected:
  Mutex mutex_;
};
using Mutexes = ::testing::Types<elision::mutex, elision::shared_mutex>;
TYPED_TEST_SUITE(EveryMutex, Mutexes);

TYPED_TEST(EveryMutex, LosesNoUpdate) {
  volatile std::uint64_t counter = 0;
  on_threads([&](int thread) {
    for (int i = 0; i < rounds(); ++i) {
      const std::unique_lock lock(this->mutex_);
      if (i % 64 == thread) elision_abort();
      increment_slowly(counter);
    }
  });
  EXPECT_EQ(counter, std::uint64_t{kThreads} * static_cast<unsigned>(rounds()));
}

TYPED_TEST(EveryMutex, TryAndTimedLocksFailExactlyWhileHeld) {
  lock_really(this->mutex_);
  elsewhere([&] {
    EXPECT_FALSE(this->mutex_.try_lock());
    EXPECT_FALSE(this->mutex_.try_lock_for(1ms));
    EXPECT_FALSE(this->mutex_.try_lock_until(std::chrono::system_clock::now() - 1h));
  });
  this->mutex_.unlock();
  elsewhere([&] {
    EXPECT_TRUE(this->mutex_.try_lock());
    this->mutex_.unlock();
    EXPECT_TRUE(this->mutex_.try_lock_for(-1s)) << "a lock that is free is taken whatever the time";
    this->mutex_.unlock();
  });
}

TYPED_TEST(EveryMutex, ProgramsOwnClockWorks) {
  struct Clock : std::chrono::steady_clock {
    using time_point = std::chrono::time_point<Clock>;
    static time_point now() { return time_point(std::chrono::steady_clock::now().time_since_epoch()); }
  };
  lock_really(this->mutex_);
  elsewhere([&] { EXPECT_FALSE(this->mutex_.try_lock_until(Clock::now() + 1ms)); });
  this->mutex_.unlock();
  EXPECT_TRUE(this->mutex_.try_lock_until(Clock::now()));
  this->mutex_.unlock();
}

TEST(Mutex, CodesAreThoseOfErrno) {
  elision_mutex mutex = ELISION_MUTEX_INIT;
  EXPECT_EQ(elision_mutex_unlock(&mutex), EPERM);
  const timespec invalid{0, 1000000000};
  EXPECT_EQ(elision_mutex_lock_until(&mutex, CLOCK_MONOTONIC, &invalid), EINVAL);
  EXPECT_EQ(elision_mutex_lock_until(&mutex, CLOCK_PROCESS_CPUTIME_ID, &kLongAgo), EINVAL);
  ASSERT_EQ(elision_mutex_lock_until(&mutex, CLOCK_REALTIME, &kLongAgo), 0);
  elision_abort();
  elsewhere([&] {
    EXPECT_EQ(elision_mutex_try_lock(&mutex), EBUSY);
    EXPECT_EQ(elision_mutex_lock_until(&mutex, CLOCK_REALTIME, &kLongAgo), ETIMEDOUT);
  });
  EXPECT_EQ(elision_mutex_unlock(&mutex), 0);
  EXPECT_EQ(mutex.word, 0);
}

TEST(Mutex, TryOfOwnLockIsBusy) {
  elision::mutex mutex;
  mutex.lock();
  const bool again = mutex.try_lock();
  mutex.unlock();
  EXPECT_FALSE(again);
}

TEST(Mutex, StandardLocksFit) {
  elision::mutex first, second;
  elision::shared_mutex shared;
  volatile std::uint64_t counter = 0;
  on_threads([&](int thread) {
    for (int i = 0; i < rounds(); ++i) {
      if (thread % 2 == 0) {
        const std::scoped_lock lock(first, second, shared);
        increment_slowly(counter);
      } else {
        const std::scoped_lock lock(shared, second, first);
        increment_slowly(counter);
      }
    }
  });
  EXPECT_EQ(counter, std::uint64_t{kThreads} * static_cast<unsigned>(rounds()));
}

TEST(Mutex, SectionsCommitWhereTransactionsDo) {
  elision::mutex mutex;
  int committed = -1;
  std::thread([&] {
    std::thread other([] {});  // with one thread alive nothing is elided
    for (int i = 0; i < 1000; ++i) {
      mutex.lock();
      mutex.unlock();
    }
    committed = static_cast<int>(elision::thread_counts().commits);
    other.join();
  }).join();
  if (transactions_commit())
    EXPECT_GT(committed, 500);
  else
    EXPECT_EQ(committed, 0);
}

TEST(Mutex, ForkedChildCanLock) {
  elision::shared_mutex mutex;
  const pid_t child = fork();
  if (child == 0) {
    mutex.lock();
    mutex.unlock();
    const bool shared = mutex.try_lock_shared();
    _exit(shared ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// ---- Shared mutexes.

TEST(SharedMutex, ReadersShareAndExcludeAWriter) {
  elision::shared_mutex mutex;
  lock_shared_really(mutex);
  elsewhere([&] {
    EXPECT_TRUE(mutex.try_lock_shared());
    mutex.unlock_shared();
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_for(1ms));
  });
  mutex.unlock_shared();
  lock_really(mutex);
  elsewhere([&] {
    EXPECT_FALSE(mutex.try_lock_shared());
    EXPECT_FALSE(mutex.try_lock_shared_for(1ms));
  });
  mutex.unlock();
}

TEST(SharedMutex, OnlyTheLastReaderIsUpgraded) {
  elision::shared_mutex mutex;
  lock_shared_really(mutex);
  elsewhere([&] {
    lock_shared_really(mutex);
    EXPECT_FALSE(mutex.try_upgrade());
    mutex.unlock_shared();
  });
  ASSERT_TRUE(mutex.try_upgrade());
  elsewhere([&] { EXPECT_FALSE(mutex.try_lock_shared()); });
  mutex.unlock();
  elsewhere([&] {
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST(SharedMutex, WriterIsNotUpgraded) {
  elision::shared_mutex mutex;
  mutex.lock();
  EXPECT_FALSE(mutex.try_upgrade());
  mutex.unlock();
}

/// Read, decide, write: with a writer in between two would write the same.
TEST(SharedMutex, NoWriterComesBetweenReadAndUpgrade) {
  elision::shared_mutex mutex;
  volatile std::uint64_t counter = 0;
  std::atomic<std::uint64_t> written{0};
  on_threads([&](int thread) {
    std::uint64_t mine = 0;
    for (int i = 0; i < rounds(); ++i) {
      if (i % 4 == thread) {
        const std::unique_lock lock(mutex);
        increment_slowly(counter);
        ++mine;
        continue;
      }
      mutex.lock_shared();
      if (i % 16 == thread) elision_abort();
      const std::uint64_t seen = counter;
      for (int spin = 0; spin < 20; ++spin) asm volatile("" : : : "memory");
      if (mutex.try_upgrade()) {
        counter = seen + 1;
        mutex.unlock();
        ++mine;
      } else {
        mutex.unlock_shared();
      }
    }
    written += mine;
  });
  EXPECT_EQ(counter, written.load());
}

// ---- Lock sets.

TEST(Lockset, LosesNoUpdateAndNeverDeadlocks) {
  constexpr int kMutexes = 6;
  elision_mutex mutexes[kMutexes] = {};
  volatile std::uint64_t counters[kMutexes] = {};
  on_threads([&](int thread) {
    std::uint64_t random = static_cast<unsigned>(thread) + 1;
    for (int i = 0; i < rounds(); ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      int chosen[3];
      for (int j = 0; j < 3; ++j) chosen[j] = static_cast<int>(random >> (33 + 5 * j)) % kMutexes;
      elision_mutex* const set[] = {&mutexes[chosen[0]], &mutexes[chosen[1]], &mutexes[chosen[2]]};
      elision_lockset_lock(set, 3);
      if (i % 16 == thread) elision_abort();
      for (int j = 0; j < 3; ++j) increment_slowly(counters[chosen[j]]);
      EXPECT_EQ(elision_lockset_unlock(set, 3), 0);
    }
  });
  std::uint64_t sum = 0;
  for (const std::uint64_t counter : counters) sum += counter;
  EXPECT_EQ(sum, std::uint64_t{kThreads} * static_cast<unsigned>(rounds()) * 3);
  for (const elision_mutex& mutex : mutexes) EXPECT_EQ(mutex.word, 0);
}

TEST(Lockset, TriesTakeAllOrNone) {
  elision::mutex first, second, third;
  lock_really(second);
  elsewhere([&] {
    const elision::lockset set(std::try_to_lock, first, second, third);
    EXPECT_FALSE(set);
  });
  second.unlock();
  elsewhere([&] {
    for (elision::mutex* mutex : {&first, &second, &third}) {
      EXPECT_TRUE(mutex->try_lock());
      mutex->unlock();
    }
    const elision::lockset set(std::try_to_lock, first, second, third);
    EXPECT_TRUE(set.owns_lock());
  });
}

TEST(Lockset, MoreMutexesThanATransactionRemembers) {
  std::vector<elision_mutex> mutexes(40);
  std::vector<elision_mutex*> set;
  for (elision_mutex& mutex : mutexes) set.push_back(&mutex);
  std::reverse(set.begin(), set.end());
  volatile std::uint64_t counter = 0;
  on_threads([&](int) {
    for (int i = 0; i < rounds() / 20 + 1; ++i) {
      const elision::dynamic_lockset lock(set);
      increment_slowly(counter);
    }
  });
  EXPECT_EQ(counter, std::uint64_t{kThreads} * static_cast<unsigned>(rounds() / 20 + 1));
  EXPECT_EQ(elision_lockset_try_lock(set.data(), set.size()), 0);
  EXPECT_EQ(elision_lockset_unlock(set.data(), set.size()), 0);
  EXPECT_EQ(elision_lockset_unlock(set.data(), set.size()), EPERM);
}

TEST(Lockset, MembersMayBeUnlockedAlone) {
  elision_mutex mutexes[2] = {};
  elision_mutex* const set[] = {&mutexes[1], &mutexes[0]};
  volatile std::uint64_t counter = 0;
  on_threads([&](int thread) {
    for (int i = 0; i < rounds(); ++i) {
      elision_lockset_lock(set, 2);
      if (i % 16 == thread) elision_abort();
      EXPECT_EQ(elision_mutex_unlock(&mutexes[0]), 0);
      increment_slowly(counter);
      EXPECT_EQ(elision_mutex_unlock(&mutexes[1]), 0);
    }
  });
  EXPECT_EQ(counter, std::uint64_t{kThreads} * static_cast<unsigned>(rounds()));
}

// ---- What a thread notes about itself. This program stands in for the preload library.

thread_local elision::abi::ThreadActivity activity_of_thread;
thread_local std::uint32_t preloaded_version = elision::abi::kActivityVersion;
extern "C" elision::abi::ThreadActivity* elision_thread_activity(std::uint32_t version) {
  return version == preloaded_version ? &activity_of_thread : nullptr;
}

int locks_held() { return elision::abi::ThreadActivity::depth(activity_of_thread.position); }
bool is_at(const void* lock, elision::abi::Activity activity) {
  const elision::abi::SeenActivity seen = elision::abi::seen_activity(activity_of_thread);
  return seen.lock == reinterpret_cast<std::uintptr_t>(lock) && seen.activity == activity;
}
bool is_at_no_lock() { return is_at(nullptr, elision::abi::Activity::kIdle) && locks_held() == 0; }

TEST(Activity, SectionNamesLockAndCallSite) {
  elision::mutex mutex;
  elsewhere([&] {
    const std::lock_guard lock(mutex);
    const elision::abi::SeenActivity elided = elision::abi::seen_activity(activity_of_thread);
    EXPECT_EQ(elided.lock, reinterpret_cast<std::uintptr_t>(&mutex));
    EXPECT_NE(elided.site, 0u);
  });
  elsewhere([&] {
    lock_really(mutex);
    EXPECT_EQ(locks_held(), 1);
    EXPECT_EQ(activity_of_thread.taken_elsewhere, 1u);
    EXPECT_NE(elision::abi::seen_activity(activity_of_thread).site, 0u);
    mutex.unlock();
    EXPECT_TRUE(is_at_no_lock());
  });
}

TEST(Activity, PreloadLibraryOfAnotherVersionIsToldNothing) {
  elision::mutex mutex;
  elsewhere([&] {
    preloaded_version = elision::abi::kActivityVersion + 1;
    lock_really(mutex);
    EXPECT_EQ(locks_held(), 0);
    mutex.unlock();
    EXPECT_EQ(activity_of_thread.position, 0u);
  });
}

TEST(Activity, LockSetIsNotedByMember) {
  elision_mutex mutexes[2] = {};
  elision_mutex* const set[] = {&mutexes[1], &mutexes[0], &mutexes[1]};
  elsewhere([&] {
    elision_lockset_lock(set, 3);
    elision_abort();
    EXPECT_EQ(locks_held(), 2);
    if (transactions_commit()) {
      EXPECT_TRUE(is_at(&mutexes[1], elision::abi::Activity::kFallback));
    }
    EXPECT_EQ(elision_mutex_unlock(&mutexes[0]), 0);
    EXPECT_EQ(locks_held(), 1);
    EXPECT_EQ(elision_lockset_unlock(set, 3), EPERM) << "one of them was not held";
    EXPECT_TRUE(is_at_no_lock());
    EXPECT_EQ(elision_lockset_try_lock(set, 2), 0);
    EXPECT_EQ(elision_lockset_unlock(set, 2), 0);
    EXPECT_TRUE(is_at_no_lock());
    elision_lockset_lock(set, 0);
    EXPECT_EQ(elision_lockset_unlock(set, 0), 0);
    EXPECT_TRUE(is_at_no_lock());
  });
}

TEST(Activity, ReleaseInATransactionLeavesTheAttempt) {
  elision::mutex outer, inner;
  int elided = 0;
  elsewhere([&] {
    for (int i = 0; i < rounds() && elided == 0; ++i) {  // the first ones may abort by page faults
      lock_really(outer);
      inner.lock();
      outer.unlock();
      const bool in_transaction = elision_in_transaction() != 0;
      const bool at_inner = is_at(&inner, elision::abi::Activity::kAttempt);
      inner.unlock();
      EXPECT_TRUE(is_at_no_lock());
      EXPECT_EQ(at_inner, in_transaction);
      elided += in_transaction;
    }
  });
  EXPECT_EQ(elided, transactions_commit() ? 1 : 0);
}

// ---- Coarsening.

class Coarsening : public ::testing::TestWithParam<std::uint32_t> {};

/// Sections under two mutexes in turns, in one loop; what aborts a transaction comes now and then.
TEST_P(Coarsening, LosesNoUpdate) {
  elision::mutex first, second;
  volatile std::uint64_t one = 0, two = 0;
  on_threads([&](int thread) {
    elision::coarsener coarsener(GetParam());
    for (int i = 0; i < rounds(); ++i) {
      {
        const elision::coarsener::section section(coarsener);
        const std::lock_guard lock(first);
        if (i % 64 == thread) (void)close(-1);
        increment_slowly(one);
      }
      const elision::coarsener::lock_guard lock(coarsener, second);
      if (i % 64 == thread + 1) elision_abort();
      increment_slowly(two);
    }
  });
  EXPECT_EQ(one, std::uint64_t{kThreads} * static_cast<unsigned>(rounds()));
  EXPECT_EQ(two, std::uint64_t{kThreads} * static_cast<unsigned>(rounds()));
}

/// The sections beside a thread that really holds the mutex: it never sees one half way.
TEST_P(Coarsening, SectionsExcludeOnesThatHoldTheLock) {
  elision::mutex mutex;
  volatile std::uint64_t one = 0, two = 0;
  std::uint64_t torn = 0;
  on_threads(
      [&](int thread) {
        elision::coarsener coarsener(GetParam());
        for (int i = 0; i < rounds(); ++i) {
          if (thread == 0) {
            const std::lock_guard lock(mutex);
            elision_abort();
            const std::uint64_t seen = one;
            for (int spin = 0; spin < 50; ++spin) asm volatile("" : : : "memory");
            torn += seen != two;
          } else {
            const elision::coarsener::lock_guard lock(coarsener, mutex);
            increment_slowly(one);
            increment_slowly(two);
          }
        }
      },
      3);
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(one, std::uint64_t{2} * static_cast<unsigned>(rounds()));
}

/// One that is never flushed: the thread's end ends the transaction, whose sections run again.
TEST_P(Coarsening, MissingFlushLosesNothing) {
  elision_mutex mutex = ELISION_MUTEX_INIT;
  volatile std::uint64_t counter = 0;
  on_threads([&](int) {
    static thread_local elision_coarsener coarsener;
    elision_coarsener_init(&coarsener, GetParam());
    for (int i = 0; i < 100; ++i) {
      elision_coarsener_lock(&coarsener, &mutex);
      increment_slowly(counter);
      elision_coarsener_unlock(&coarsener, &mutex);
    }
  });
  EXPECT_EQ(counter, std::uint64_t{kThreads} * 100);
}

INSTANTIATE_TEST_SUITE_P(Granularity, Coarsening, ::testing::Values(1, 2, 16, 64, ELISION_COARSENER_ADAPTS));

TEST(Coarsening, MakesOneTransactionOfManySections) {
  if (!transactions_commit()) GTEST_SKIP() << "no live RTM on this CPU";
  elision::mutex mutex;
  std::thread idle([&] {
    elision::coarsener coarsener(50);
    const std::uint64_t before = elision::thread_counts().commits;
    for (int i = 0; i < 5000; ++i) const elision::coarsener::lock_guard lock(coarsener, mutex);
    coarsener.flush();
    const std::uint64_t commits = elision::thread_counts().commits - before;
    EXPECT_GE(commits, 50u);
    EXPECT_LE(commits, 250u);
  });
  idle.join();
}

TEST(Coarsening, AdaptsToWhatCommits) {
  if (!transactions_commit()) GTEST_SKIP() << "no live RTM on this CPU";
  elision::mutex mutex;
  std::thread([&] {
    elision::coarsener coarsener;
    const std::uint32_t first = coarsener.granularity();
    for (int i = 0; i < 20000; ++i) const elision::coarsener::lock_guard lock(coarsener, mutex);
    EXPECT_GT(coarsener.granularity(), first);
    for (int i = 0; i < 64; ++i) {
      const elision::coarsener::lock_guard lock(coarsener, mutex);
      (void)close(-1);
    }
    EXPECT_EQ(coarsener.granularity(), 1u);
  }).join();
}

TEST(Region, SectionsOfSeveralLocksAreOneTransaction) {
  elision::mutex first;
  elision::shared_mutex second;
  volatile std::uint64_t one = 0, two = 0;
  on_threads([&](int thread) {
    for (int i = 0; i < rounds(); ++i) {
      const elision::region region;
      {
        const std::lock_guard lock(first);
        increment_slowly(one);
      }
      if (i % 16 == thread) elision_abort();
      {
        const elision::region inner;
        const std::lock_guard lock(second);
        increment_slowly(two);
      }
    }
  });
  EXPECT_EQ(one, std::uint64_t{kThreads} * static_cast<unsigned>(rounds()));
  EXPECT_EQ(two, std::uint64_t{kThreads} * static_cast<unsigned>(rounds()));
}

TEST(Region, MakesOneTransactionOfItsSections) {
  if (!transactions_commit()) GTEST_SKIP() << "no live RTM on this CPU";
  elision::mutex mutex;
  std::thread([&] {
    std::thread other([] {});
    for (int i = 0; i < 100; ++i) {
      const elision::region region;
      for (int j = 0; j < 8; ++j) const std::lock_guard lock(mutex);
    }
    EXPECT_GE(elision::thread_counts().commits, 100u);
    EXPECT_LE(elision::thread_counts().commits, 300u);
    other.join();
  }).join();
}

TEST(Region, AbandonedSetEntersSectionsOneByOne) {
  elision::mutex mutex;
  volatile bool is_held_inside = false;
  std::thread([&] {
    std::thread other([] {});
    {
      const elision::region region;
      elision_abort();
      mutex.lock();
      elision_abort();
      is_held_inside = mutex.native_handle()->word != 0;
      mutex.unlock();
      EXPECT_EQ(mutex.native_handle()->word, 0) << "the region must not keep it";
    }
    other.join();
  }).join();
  EXPECT_TRUE(is_held_inside);
}

// ---- Statuses.

TEST(Abort, GivesUpTheSectionAndTellsWhy) {
  elision::mutex mutex;
  std::thread([&] {
    std::thread other([] {});
    elision::htm::touch_own_code();  // what runs in the section may not have run before
    const elision_abort_status before = elision::last_abort();
    EXPECT_EQ(before.cause, ELISION_CAUSE_NONE);
    volatile int entered_really = 0;
    mutex.lock();
    elision::abort_if<42>(true);
    entered_really = entered_really + !elision::in_transaction();
    mutex.unlock();
    EXPECT_EQ(entered_really, 1);
    const elision_abort_status after = elision::last_abort();
    if (transactions_commit()) {
      EXPECT_GT(after.number, before.number);
      EXPECT_LT(after.number, before.number + 5) << "what the program aborts is not tried again";
      EXPECT_EQ(after.cause, ELISION_CAUSE_EXPLICIT);
      EXPECT_EQ(after.code, 42);
      EXPECT_EQ(after.raw >> 24, 42u);
      EXPECT_EQ(elision::thread_counts().fallbacks, 1u);
    } else {
      EXPECT_EQ(after.number, 0u);
    }
    other.join();
  }).join();
}

/// A further lock of the preload library that is taken as its transaction begins: we cannot wait for that
/// one, and must not try for ever.
TEST(Abort, BusyPreloadLockUsesUpTries) {
  elision::mutex mutex;
  std::thread([&] {
    std::thread other([] {});
    mutex.lock();
    if (elision::in_transaction()) (void)elision::htm::Rtm::abort<elision::htm::kCodeLockBusy>();
    mutex.unlock();
    EXPECT_LT(elision::last_abort().number, 50u);
    other.join();
  }).join();
}

TEST(Abort, OutsideOfTransactionsNothingHappens) {
  EXPECT_FALSE(elision::in_transaction());
  elision::abort_if(true);
  elision_give_way();
  ELISION_ABORT_IF(1, 3);
  EXPECT_EQ(elision_speculating(), 0);
}

TEST(Abort, SystemCallAbortsWithCauseOther) {
  if (!transactions_commit()) GTEST_SKIP() << "no live RTM on this CPU";
  elision::mutex mutex;
  std::thread([&] {
    std::thread other([] {});
    mutex.lock();
    (void)close(-1);
    mutex.unlock();
    EXPECT_EQ(elision::last_abort().cause, ELISION_CAUSE_OTHER);
    EXPECT_EQ(elision::last_abort().code, -1);
    EXPECT_GT(elision::thread_counts().aborts[ELISION_CAUSE_OTHER], 0u);
    other.join();
  }).join();
}

/// One thread stores all the time to what sections of another look at, until both really run at a time.
TEST(Abort, ConflictsAreTold) {
  if (!transactions_commit()) GTEST_SKIP() << "no live RTM on this CPU";
  if (elision::usable_cpus() < 2) GTEST_SKIP() << "needs two CPUs";
  elision::mutex mutex;
  std::atomic<int> contended{0};
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    while (!is_over) ++contended;
  });
  std::thread([&] {
    elision_abort_status last = elision::last_abort();
    while (last.cause != ELISION_CAUSE_CONFLICT) {
      const std::lock_guard lock(mutex);
      for (int look = 0; look < 100; ++look) (void)contended.load();
      last = elision::last_abort();
    }
    EXPECT_GT(elision::thread_counts().aborts[ELISION_CAUSE_CONFLICT], 0u);
  }).join();
  is_over = true;
  writer.join();
}

// ---- Condition variables.

TEST(ConditionVariable, PassesEveryItemOn) {
  elision::mutex mutex;
  elision::condition_variable filled, emptied;
  int items = 0;
  std::uint64_t taken = 0;
  const int each = rounds() / 4 + 1;
  on_threads([&](int thread) {
    for (int i = 0; i < each; ++i) {
      std::unique_lock lock(mutex);
      if (thread % 2 == 0) {
        emptied.wait(lock, [&] { return items < 3; });
        ++items;
        filled.notify_one();
      } else {
        filled.wait(lock, [&] { return items > 0; });
        --items;
        ++taken;
        emptied.notify_one();
      }
    }
  });
  EXPECT_EQ(items, 0);
  EXPECT_EQ(taken, std::uint64_t{kThreads / 2} * static_cast<unsigned>(each));
}

/// Its time stands still, so no deadline in its future ever comes.
struct StoppedClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<StoppedClock>;
  static constexpr bool is_steady = false;
  static time_point now() { return time_point(); }
};

TEST(ConditionVariable, WaitTimesOutByTheGivenClock) {
  elision::mutex mutex;
  elision::condition_variable never;
  std::unique_lock lock(mutex);
  EXPECT_EQ(never.wait_until(lock, StoppedClock::now() + 1ms), std::cv_status::no_timeout);
  EXPECT_EQ(never.wait_until(lock, StoppedClock::now()), std::cv_status::timeout);
  int looks = 0;
  EXPECT_TRUE(never.wait_until(lock, StoppedClock::now() + 1ms, [&] { return ++looks == 3; }));
}

TEST(ConditionVariable, TimesOutInTheSection) {
  elision::mutex mutex;
  elision::condition_variable never;
  std::unique_lock lock(mutex);
  EXPECT_EQ(never.wait_for(lock, 1ms), std::cv_status::timeout);
  EXPECT_FALSE(never.wait_until(lock, std::chrono::system_clock::now() + 1ms, [] { return false; }));
  elision_abort();
  elsewhere([&] { EXPECT_FALSE(mutex.try_lock()); });
}

// ---- Barriers.

/// Each phase adds what the phase before left, at a place of another thread: who is a phase ahead shows.
TEST(Barrier, SeparatesPhases) {
  struct alignas(64) Cell {
    volatile std::uint64_t value = 0;
  };
  Cell cells[2][kThreads];
  elision::barrier barrier(kThreads);
  elision::mutex mutex;
  std::atomic<int> firsts{0};
  volatile std::uint64_t under_lock = 0;
  const int phases = rounds() / 4 + 1;
  on_threads([&](int thread) {
    for (int phase = 0; phase < phases; ++phase) {
      cells[(phase + 1) % 2][thread].value = cells[phase % 2][(thread + 1) % kThreads].value + 1;
      mutex.lock();
      increment_slowly(under_lock);
      mutex.unlock();
      if (barrier.arrive_and_wait()) ++firsts;
    }
  });
  EXPECT_EQ(firsts, phases);
  EXPECT_EQ(under_lock, std::uint64_t{kThreads} * static_cast<unsigned>(phases));
  for (const Cell& cell : cells[phases % 2]) EXPECT_EQ(cell.value, static_cast<std::uint64_t>(phases));
}

TEST(Barrier, EndsAnOpenTransaction) {
  elision::barrier barrier(kThreads);
  elision::mutex mutex;
  volatile std::uint64_t counter = 0;
  on_threads([&](int) {
    elision::coarsener coarsener(50);
    for (int phase = 0; phase < rounds() / 10 + 1; ++phase) {
      for (int i = 0; i < 10; ++i) {
        const elision::coarsener::lock_guard lock(coarsener, mutex);
        increment_slowly(counter);
      }
      barrier.arrive_and_wait();
    }
  });
  EXPECT_EQ(counter, std::uint64_t{kThreads} * 10 * static_cast<unsigned>(rounds() / 10 + 1));
}

TEST(Barrier, IsLeftOutsideOfTheTransaction) {
  elision::barrier barrier(1);
  elision::mutex mutex;
  volatile bool was_inside = true;
  std::thread([&] {
    std::thread other([] {});
    elision::coarsener coarsener(50);
    { const elision::coarsener::lock_guard lock(coarsener, mutex); }
    (void)barrier.arrive_and_wait();
    was_inside = elision::in_transaction();
    coarsener.flush();  // or an expectation that fails would undo itself
    other.join();
  }).join();
  EXPECT_FALSE(was_inside);
}

TEST(Version, OfHeaderAndLibraryAreOne) {
  EXPECT_EQ(elision_library_version(), ELISION_VERSION);
  elision_require_version(ELISION_VERSION + 1);  // another patch fits
}

TEST(VersionDeathTest, AnotherMinorOrMajorOneIsRefused) {
  EXPECT_EXIT(elision_require_version(ELISION_VERSION + 100), ::testing::ExitedWithCode(2),
              "elision: the program was compiled with elision.h 0.2.0, the library is 0.1.0");
  EXPECT_EXIT(elision_require_version(ELISION_VERSION + 10000), ::testing::ExitedWithCode(2), "1.1.0");
}

}  // namespace
