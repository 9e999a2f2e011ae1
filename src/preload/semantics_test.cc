// SPDX-License-Identifier: Apache-2.0
// What POSIX and glibc promise of mutexes and condition variables, asked of whatever library is
// preloaded: CTest runs this program under every design and, as the check of the check, under none.
//
// Nothing here depends on how long anything takes: waits that must fail have deadlines in the past.
#include "preload/semantics_test.h"

#include <pthread.h>
#include <sys/mman.h>
#include <threads.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace elision::preload::test {
namespace {

class TypedMutex {
 public:
  explicit TypedMutex(int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    EXPECT_EQ(pthread_mutex_init(&mutex_, &attributes), 0);
    pthread_mutexattr_destroy(&attributes);
  }
  operator pthread_mutex_t*() { return &mutex_; }

 private:
  pthread_mutex_t mutex_;
};

constexpr int kAllTypes[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                             PTHREAD_MUTEX_ADAPTIVE_NP};

TEST(Mutex, IsBusyWhileHeldAndFreeAfterwards) {
  for (const int type : kAllTypes) {
    TypedMutex mutex(type);
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(pthread_mutex_lock(mutex), 0);
      EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(mutex); }), EBUSY) << type;
      EXPECT_EQ(elsewhere([&] { return pthread_mutex_timedlock(mutex, &kLongAgo); }), ETIMEDOUT) << type;
      ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
      ASSERT_EQ(pthread_mutex_trylock(mutex), 0);
      EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(mutex); }), EBUSY) << type;
      ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
    }
    EXPECT_EQ(pthread_mutex_destroy(mutex), 0);
  }
}

TEST(Mutex, LockedTwiceByItsHolder) {
  struct Row {
    int type, timedlock, trylock;
  };
  const Row rows[] = {{PTHREAD_MUTEX_NORMAL, ETIMEDOUT, EBUSY},  // a deadlock, were it not for the deadline
                      {PTHREAD_MUTEX_ADAPTIVE_NP, ETIMEDOUT, EBUSY},
                      {PTHREAD_MUTEX_ERRORCHECK, EDEADLK, EBUSY},
                      {PTHREAD_MUTEX_RECURSIVE, 0, 0}};
  for (const Row& row : rows) {
    TypedMutex mutex(row.type);
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    // No system call between the two: an elided section is still a transaction here.
    const int timedlock = pthread_mutex_timedlock(mutex, &kLongAgo);
    const int trylock = pthread_mutex_trylock(mutex);
    EXPECT_EQ(timedlock, row.timedlock) << row.type;
    EXPECT_EQ(trylock, row.trylock) << row.type;
    if (row.type == PTHREAD_MUTEX_ERRORCHECK) {
      EXPECT_EQ(pthread_mutex_lock(mutex), EDEADLK);
    }
    if (timedlock == 0) {
      EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    }
    if (trylock == 0) {
      EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    }
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(mutex); }), EBUSY) << row.type;
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(mutex) || pthread_mutex_unlock(mutex); }), 0);
  }
}

/// As above, but checked only after the unlock: the results of an elided section become visible by its
/// commit, and a failed check inside (a system call) would undo them.
TEST(Mutex, OnlyRecursiveMutexesLockTwiceInElidableSections) {
  struct Row {
    int type, trylock, timedlock;
  };
  const Row rows[] = {{PTHREAD_MUTEX_NORMAL, EBUSY, ETIMEDOUT},
                      {PTHREAD_MUTEX_ADAPTIVE_NP, EBUSY, ETIMEDOUT},
                      {PTHREAD_MUTEX_ERRORCHECK, EBUSY, EDEADLK},
                      {PTHREAD_MUTEX_RECURSIVE, 0, 0}};
  for (const Row& row : rows) {
    TypedMutex mutex(row.type);
    for (int round = 0; round < 100; ++round) {
      pthread_mutex_lock(mutex);
      const int trylock = pthread_mutex_trylock(mutex);
      if (trylock == 0) pthread_mutex_unlock(mutex);
      pthread_mutex_unlock(mutex);
      ASSERT_EQ(trylock, row.trylock) << row.type;
      pthread_mutex_lock(mutex);
      const int timedlock = pthread_mutex_timedlock(mutex, &kLongAgo);
      if (timedlock == 0) pthread_mutex_unlock(mutex);
      pthread_mutex_unlock(mutex);
      ASSERT_EQ(timedlock, row.timedlock) << row.type;
    }
    EXPECT_EQ(pthread_mutex_destroy(mutex), 0) << "something is still held";
  }
}

TEST(Mutex, RecursiveAndErrorCheckingKnowTheirOwner) {
  for (const int type : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    TypedMutex mutex(type);
    EXPECT_EQ(pthread_mutex_unlock(mutex), EPERM);
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_unlock(mutex); }), EPERM);
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(mutex), EPERM);
  }
}

TEST(Mutex, StaticInitialisersKeepTheirType) {
  pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
  EXPECT_EQ(pthread_mutex_lock(&recursive) + pthread_mutex_lock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&recursive) + pthread_mutex_unlock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_lock(&checking), 0);
  EXPECT_EQ(pthread_mutex_lock(&checking), EDEADLK);
  EXPECT_EQ(pthread_mutex_unlock(&checking), 0);
  EXPECT_EQ(pthread_mutex_lock(&adaptive) + pthread_mutex_unlock(&adaptive), 0);
  EXPECT_EQ(pthread_mutex_lock(&normal) + pthread_mutex_unlock(&normal), 0);
}

TEST(Mutex, DeadlinesAndClocks) {
  TypedMutex mutex(PTHREAD_MUTEX_NORMAL);
  // A free mutex is taken whatever the deadline says.
  for (const timespec* at : {&kLongAgo, &kBeforeTime, &kInvalid}) {
    EXPECT_EQ(pthread_mutex_timedlock(mutex, at), 0);
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
  }
  ASSERT_EQ(pthread_mutex_lock(mutex), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_timedlock(mutex, &kBeforeTime); }), ETIMEDOUT);
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_timedlock(mutex, &kInvalid); }), EINVAL);
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_clocklock(mutex, clock, &kLongAgo); }), ETIMEDOUT);
  }
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &kLongAgo); }),
            EINVAL);
  EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST(Mutex, DestroyRefusesHeldMutexAndInvalidatesFreeOne) {
  for (const int type : kAllTypes) {
    TypedMutex mutex(type);
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_destroy(mutex); }), EBUSY);
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(mutex), 0);
    EXPECT_EQ(pthread_mutex_lock(mutex), EINVAL);
    EXPECT_EQ(pthread_mutex_init(mutex, nullptr), 0);
    EXPECT_EQ(pthread_mutex_lock(mutex) + pthread_mutex_unlock(mutex), 0);
  }
}

TEST(Mutex, UnlockOfAFreeOneDoesNoHarm) {
  TypedMutex mutex(PTHREAD_MUTEX_NORMAL), other(PTHREAD_MUTEX_NORMAL);
  EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
  ASSERT_EQ(pthread_mutex_lock(mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(other), 0);  // inside the section of another mutex
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(mutex); }), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
  EXPECT_EQ(pthread_mutex_lock(other) + pthread_mutex_unlock(other), 0);
}

TEST(Mutex, RobustPriorityAndSharedOnesStayGlibcs) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t robust;
  pthread_mutex_init(&robust, &attributes);
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_lock(&robust); }), 0);  // its owner dies
  EXPECT_EQ(pthread_mutex_lock(&robust), EOWNERDEAD);
  EXPECT_EQ(pthread_mutex_consistent(&robust), 0);
  EXPECT_EQ(pthread_mutex_unlock(&robust), 0);

  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_t inheriting;
  pthread_mutex_init(&inheriting, &attributes);
  EXPECT_EQ(pthread_mutex_lock(&inheriting), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(&inheriting); }), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&inheriting), 0);

  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  struct Shared {
    pthread_mutex_t mutex;
    int counter;
  };
  void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* shared = static_cast<Shared*>(page);
  pthread_mutex_init(&shared->mutex, &attributes);
  const auto count = [shared] {
    for (int i = 0; i < 10000; ++i) {
      pthread_mutex_lock(&shared->mutex);
      ++shared->counter;
      pthread_mutex_unlock(&shared->mutex);
    }
    return 0;
  };
  const pid_t child = fork();
  if (child == 0) _exit(count());
  count();
  waitpid(child, nullptr, 0);
  EXPECT_EQ(shared->counter, 20000);
  munmap(page, sizeof(Shared));
}

TEST(Exclusion, EveryWayToLockKeepsUpdates) {
  for (const int type : kAllTypes) {
    TypedMutex mutex(type);
    volatile std::uint64_t counter = 0;
    std::atomic<std::uint64_t> entered{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        std::uint64_t mine = 0;
        for (unsigned i = 0; i < rounds(3000); ++i) {
          const unsigned how = (i + t) % 4;
          if (how == 0 && pthread_mutex_trylock(mutex) != 0) continue;
          if (how == 1 && pthread_mutex_timedlock(mutex, &kLongAgo) != 0) continue;
          if (how > 1) pthread_mutex_lock(mutex);
          const std::uint64_t value = counter;
          for (int spin = 0; spin < 20; ++spin) asm volatile("");
          counter = value + 1;
          pthread_mutex_unlock(mutex);
          ++mine;
        }
        entered += mine;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(counter, entered.load()) << type;
    EXPECT_EQ(pthread_mutex_destroy(mutex), 0);
  }
}

TEST(Exclusion, NestedSectionsReleasedInAnyOrder) {
  TypedMutex outer(PTHREAD_MUTEX_NORMAL), inner(PTHREAD_MUTEX_NORMAL), recursive(PTHREAD_MUTEX_RECURSIVE);
  volatile std::uint64_t by_outer = 0, by_inner = 0;
  const auto work = [&] {
    for (unsigned i = 0; i < rounds(2000); ++i) {
      pthread_mutex_lock(outer);
      by_outer = by_outer + 1;
      pthread_mutex_lock(inner);
      by_inner = by_inner + 1;
      pthread_mutex_unlock(outer);
      pthread_mutex_lock(recursive);
      pthread_mutex_lock(recursive);
      by_inner = by_inner + 1;
      pthread_mutex_unlock(recursive);
      pthread_mutex_unlock(inner);
      pthread_mutex_unlock(recursive);
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(by_outer, 2 * rounds(2000));
  EXPECT_EQ(by_inner, 4 * rounds(2000));
  EXPECT_EQ(pthread_mutex_destroy(outer) + pthread_mutex_destroy(inner) + pthread_mutex_destroy(recursive),
            0);
}

TEST(Exclusion, SystemCallInSectionHappensOnce) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  TypedMutex mutex(PTHREAD_MUTEX_NORMAL);
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      pthread_mutex_lock(mutex);
      EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
      pthread_mutex_unlock(mutex);
    }
  };
  std::thread other(work);
  work();
  other.join();
  close(pipe_ends[1]);
  char buffer[1000];
  EXPECT_EQ(read(pipe_ends[0], buffer, sizeof buffer), 400);
  close(pipe_ends[0]);
}

TEST(Exclusion, MutexMayDisappearAfterLastUnlock) {
  struct Object {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int users = 2;
  };
  const auto leave = [](Object* object) {
    pthread_mutex_lock(&object->mutex);
    const bool last = --object->users == 0;
    pthread_mutex_unlock(&object->mutex);
    if (!last) return;
    EXPECT_EQ(pthread_mutex_destroy(&object->mutex), 0);
    munmap(object, sizeof(Object));
  };
  for (int round = 0; round < 200; ++round) {
    void* page = mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    auto* object = new (page) Object;
    std::thread other(leave, object);
    leave(object);
    other.join();
  }
}

/// A buffer of one place between two threads: a lost wake-up stops it for ever.
template <class Wait>
void hand_over(int type, Wait wait) {
  TypedMutex mutex(type);
  pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
  int place = 0, sum = 0;
  const int kItems = static_cast<int>(rounds(2000));
  std::thread consumer([&] {
    for (int i = 1; i <= kItems; ++i) {
      pthread_mutex_lock(mutex);
      while (place == 0) wait(&filled, mutex);  // NOLINT(bugprone-infinite-loop): the other thread stores
      sum += place;
      place = 0;
      pthread_cond_signal(&emptied);
      pthread_mutex_unlock(mutex);
    }
  });
  for (int i = 1; i <= kItems; ++i) {
    pthread_mutex_lock(mutex);
    while (place != 0) wait(&emptied, mutex);  // NOLINT(bugprone-infinite-loop)
    place = i;
    pthread_mutex_unlock(mutex);
    pthread_cond_signal(&filled);  // also legal without the mutex
  }
  consumer.join();
  EXPECT_EQ(sum, kItems * (kItems + 1) / 2);
  EXPECT_EQ(pthread_cond_destroy(&filled) + pthread_cond_destroy(&emptied), 0);
}

/// Its clock is kept where glibc keeps it, which is not the same in every version.
TEST(ConditionClock, MonotonicWaitDoesNotEndEarly) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_t cond;
  pthread_cond_init(&cond, &attributes);
  TypedMutex mutex(PTHREAD_MUTEX_NORMAL);
  timespec at{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_nsec += 20000000;
  if (at.tv_nsec >= 1000000000) {
    at.tv_nsec -= 1000000000;
    ++at.tv_sec;
  }
  pthread_mutex_lock(mutex);
  int result;
  while ((result = pthread_cond_timedwait(&cond, mutex, &at)) == 0) {
  }
  EXPECT_EQ(result, ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &now);
  EXPECT_TRUE(now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec));
  pthread_mutex_unlock(mutex);
  EXPECT_EQ(pthread_cond_destroy(&cond), 0);
}

/// More waiters that gave up than a FIFO lock has room to remember, in a process that has one thread.
TEST(Timed, ManyPassedDeadlinesLeaveTheMutexUsable) {
  TypedMutex mutex(PTHREAD_MUTEX_NORMAL);
  ASSERT_EQ(pthread_mutex_lock(mutex), 0);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(pthread_mutex_timedlock(mutex, &kLongAgo), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
  EXPECT_EQ(pthread_mutex_lock(mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST(Timed, OwnErrorCheckingMutexIsDeadlockDespiteDeadline) {
  TypedMutex mutex(PTHREAD_MUTEX_ERRORCHECK);
  const timespec invalid{0, -1};
  ASSERT_EQ(pthread_mutex_lock(mutex), 0);
  EXPECT_EQ(pthread_mutex_timedlock(mutex, &invalid), EDEADLK);
  EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST(Condition, NoWakeUpIsLost) {
  for (const int type : kAllTypes) {
    hand_over(type, [](pthread_cond_t* cond, pthread_mutex_t* mutex) { pthread_cond_wait(cond, mutex); });
  }
  hand_over(PTHREAD_MUTEX_NORMAL, [](pthread_cond_t* cond, pthread_mutex_t* mutex) {
    timespec later{};
    clock_gettime(CLOCK_MONOTONIC, &later);
    later.tv_sec += 1000;
    EXPECT_EQ(pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &later), 0);
  });
}

TEST(Condition, BroadcastReachesAll) {
  TypedMutex mutex(PTHREAD_MUTEX_NORMAL);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waiting = 0, woken = 0;
  bool go = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t) {
    threads.emplace_back([&] {
      pthread_mutex_lock(mutex);
      ++waiting;
      while (!go) pthread_cond_wait(&cond, mutex);
      ++woken;
      pthread_mutex_unlock(mutex);
    });
  }
  for (bool all = false; !all; sched_yield()) {
    pthread_mutex_lock(mutex);
    all = waiting == 5;
    if (all) go = true;
    pthread_mutex_unlock(mutex);
  }
  pthread_cond_broadcast(&cond);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, 5);
}

TEST(Condition, FailedTimedWaitHoldsMutexAgain) {
  for (const int type : kAllTypes) {
    TypedMutex mutex(type);
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    EXPECT_EQ(pthread_cond_timedwait(&cond, mutex, &kLongAgo), ETIMEDOUT);
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(mutex); }), EBUSY);
    EXPECT_EQ(pthread_cond_clockwait(&cond, mutex, CLOCK_MONOTONIC, &kLongAgo), ETIMEDOUT);
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(mutex); }), EBUSY);
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(mutex) || pthread_mutex_unlock(mutex); }), 0);
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  }
}

TEST(Condition, ErrorCheckingMutexRefusesForeignWait) {
  TypedMutex mutex(PTHREAD_MUTEX_ERRORCHECK);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  EXPECT_EQ(pthread_cond_timedwait(&cond, mutex, &kLongAgo), EPERM);
  EXPECT_EQ(pthread_mutex_lock(mutex) + pthread_mutex_unlock(mutex), 0);
}

TEST(Condition, SignalWithoutWaitersInsideASection) {
  TypedMutex mutex(PTHREAD_MUTEX_NORMAL);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(mutex);
  EXPECT_EQ(pthread_cond_signal(&cond) + pthread_cond_broadcast(&cond), 0);
  pthread_mutex_unlock(mutex);
  EXPECT_EQ(pthread_cond_destroy(&cond), 0);
}

TEST(Condition, CancelledWaiterHoldsMutexInCleanUp) {
  struct Shared {
    TypedMutex mutex{PTHREAD_MUTEX_ERRORCHECK};
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    bool waits = false;
    int unlocked = -1;
  } shared;
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* argument) -> void* {
                  auto* s = static_cast<Shared*>(argument);
                  pthread_mutex_lock(s->mutex);
                  s->waits = true;
                  pthread_cleanup_push(
                      [](void* a) {
                        auto* in_clean_up = static_cast<Shared*>(a);
                        in_clean_up->unlocked = pthread_mutex_unlock(in_clean_up->mutex);
                      },
                      s);
                  while (true) pthread_cond_wait(&s->cond, s->mutex);
                  pthread_cleanup_pop(0);
                  return nullptr;
                },
                &shared),
            0);
  for (bool waits = false; !waits; sched_yield()) {
    pthread_mutex_lock(shared.mutex);
    waits = shared.waits;
    pthread_mutex_unlock(shared.mutex);
  }
  EXPECT_EQ(pthread_cancel(thread), 0);
  void* result = nullptr;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(shared.unlocked, 0);
  EXPECT_EQ(pthread_mutex_lock(shared.mutex) + pthread_mutex_unlock(shared.mutex), 0);
}

TEST(Condition, OneConditionVariableForMutexesOfBothKinds) {
  // First with a mutex of ours, then with a process-shared one, which stays glibc's.
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutex_t ours, theirs;
  pthread_mutex_init(&ours, &attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&theirs, &attributes);
  for (pthread_mutex_t* mutex : {&ours, &theirs, &ours}) {
    bool waits = false, go = false;
    std::thread waiter([&] {
      pthread_mutex_lock(mutex);
      waits = true;
      while (!go) pthread_cond_wait(&cond, mutex);
      pthread_mutex_unlock(mutex);
    });
    for (bool ready = false; !ready; sched_yield()) {
      pthread_mutex_lock(mutex);
      ready = waits;
      if (ready) go = true;
      pthread_mutex_unlock(mutex);
    }
    pthread_cond_signal(&cond);
    waiter.join();
  }
}

TEST(Cpp, StandardMutexAndConditionVariable) {
  std::mutex mutex;
  std::condition_variable cond;
  int value = 0;
  std::thread other([&] {
    std::unique_lock lock(mutex);
    cond.wait(lock, [&] { return value == 1; });
    value = 2;
    cond.notify_one();
  });
  {
    std::lock_guard lock(mutex);
    value = 1;
  }
  cond.notify_one();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(cond.wait_for(lock, std::chrono::hours(1), [&] { return value == 2; }));
  EXPECT_FALSE(cond.wait_until(lock, std::chrono::steady_clock::time_point(), [] { return false; }));
  lock.unlock();
  other.join();
  std::recursive_timed_mutex timed;
  EXPECT_TRUE(timed.try_lock_for(std::chrono::seconds(0)));
  EXPECT_TRUE(timed.try_lock());
  EXPECT_EQ(elsewhere([&] { return timed.try_lock_until(std::chrono::steady_clock::time_point()); }), 0);
  timed.unlock();
  timed.unlock();
}

TEST(C11, MutexesAndConditionVariables) {
  mtx_t plain, recursive;
  ASSERT_EQ(mtx_init(&plain, mtx_timed), thrd_success);
  ASSERT_EQ(mtx_init(&recursive, mtx_plain | mtx_recursive), thrd_success);
  EXPECT_EQ(mtx_lock(&recursive), thrd_success);
  EXPECT_EQ(mtx_trylock(&recursive), thrd_success);
  EXPECT_EQ(mtx_unlock(&recursive), thrd_success);
  EXPECT_EQ(mtx_unlock(&recursive), thrd_success);
  EXPECT_EQ(mtx_unlock(&recursive), thrd_error);
  EXPECT_EQ(mtx_lock(&plain), thrd_success);
  EXPECT_EQ(elsewhere([&] { return mtx_trylock(&plain); }), thrd_busy);
  EXPECT_EQ(elsewhere([&] { return mtx_timedlock(&plain, &kLongAgo); }), thrd_timedout);
  cnd_t cond;
  ASSERT_EQ(cnd_init(&cond), thrd_success);
  EXPECT_EQ(cnd_timedwait(&cond, &plain, &kLongAgo), thrd_timedout);
  bool go = false;
  std::thread other([&] {
    mtx_lock(&plain);
    go = true;
    mtx_unlock(&plain);
    cnd_signal(&cond);
    cnd_broadcast(&cond);
  });
  while (!go) EXPECT_EQ(cnd_wait(&cond, &plain), thrd_success);
  EXPECT_EQ(mtx_unlock(&plain), thrd_success);
  other.join();
  cnd_destroy(&cond);
  mtx_destroy(&plain);
  mtx_destroy(&recursive);
}

TEST(Fork, ForkedChildUsesMutexHeldWithWaiters) {
  TypedMutex mutex(PTHREAD_MUTEX_NORMAL);
  std::atomic<int> started{0};
  ASSERT_EQ(pthread_mutex_lock(mutex), 0);
  std::vector<std::thread> waiters;
  for (int t = 0; t < 3; ++t) {
    waiters.emplace_back([&] {
      ++started;
      pthread_mutex_lock(mutex);
      pthread_mutex_unlock(mutex);
    });
  }
  while (started != 3) sched_yield();
  let_them_wait();
  EXPECT_EQ(in_child([&] {
              if (pthread_mutex_unlock(mutex) != 0) return 1;
              if (pthread_mutex_lock(mutex) != 0) return 2;
              if (elsewhere([&] { return pthread_mutex_trylock(mutex); }) != EBUSY) return 3;
              if (pthread_mutex_unlock(mutex) != 0) return 4;
              return elsewhere([&] { return pthread_mutex_lock(mutex) || pthread_mutex_unlock(mutex); });
            }),
            0);
  EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
  for (std::thread& waiter : waiters) waiter.join();
}

TEST(Fork, ConditionVariablesWorkInTheChild) {
  EXPECT_EQ(in_child([] {
              hand_over(PTHREAD_MUTEX_NORMAL,
                        [](pthread_cond_t* cond, pthread_mutex_t* mutex) { pthread_cond_wait(cond, mutex); });
              return ::testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
}

}  // namespace
}  // namespace elision::preload::test

// test_programs/early_locker.cc: a library whose constructor ran before any preloaded one.
extern "C" int early_locker_result();
// test_programs/unversioned.cc: condition variables of the layout that references without a version mean.
extern "C" int unversioned_turns(int turns);
TEST(Condition, ReferencesWithoutAVersionMeanTheOldLayout) { EXPECT_EQ(unversioned_turns(500), 0); }

extern "C" pthread_mutex_t* early_locker_mutex(void (*called)());

TEST(Fork, EarlierHandlerReleasesMutexWithWaiters) {
  static std::atomic<int> started;
  started = 0;
  static std::atomic<bool> amid_fork;
  amid_fork = false;
  pthread_mutex_t* const mutex = early_locker_mutex([] {
    amid_fork = true;
    while (started != 3) sched_yield();
    elision::preload::test::let_them_wait();
  });
  std::vector<std::thread> waiters;
  for (int t = 0; t < 3; ++t) {
    waiters.emplace_back([&] {
      while (!amid_fork) sched_yield();
      ++started;
      pthread_mutex_lock(mutex);
      pthread_mutex_unlock(mutex);
    });
  }
  EXPECT_EQ(elision::preload::test::in_child(
                [&] { return pthread_mutex_lock(mutex) || pthread_mutex_unlock(mutex); }),
            0);
  early_locker_mutex(nullptr);
  for (std::thread& waiter : waiters) waiter.join();
}

TEST(Start, MutexesWorkBeforeThePreloadedLibrarysConstructor) { EXPECT_EQ(early_locker_result(), 0); }
