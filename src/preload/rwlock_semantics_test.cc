// SPDX-License-Identifier: Apache-2.0
// What POSIX and glibc promise of reader-writer locks, spin locks and barriers, asked of whatever library is
// preloaded (semantics_test.cc says how).
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "preload/semantics_test.h"

namespace elision::preload::test {
namespace {

bool exclusive() { return ours() && variable_is("ELISION_RWLOCK", "exclusive"); }

class Rwlock {
 public:
  explicit Rwlock(int kind = PTHREAD_RWLOCK_DEFAULT_NP, int shared = PTHREAD_PROCESS_PRIVATE) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, kind);
    pthread_rwlockattr_setpshared(&attributes, shared);
    EXPECT_EQ(pthread_rwlock_init(&lock_, &attributes), 0);
    pthread_rwlockattr_destroy(&attributes);
  }
  operator pthread_rwlock_t*() { return &lock_; }

 private:
  pthread_rwlock_t lock_;
};

constexpr int kKinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                          PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};

/// Waits at the barrier; true for the one thread that the barrier tells so.
bool is_serial_thread(pthread_barrier_t* barrier) {
  return pthread_barrier_wait(barrier) ==  // NOLINT(bugprone-posix-return): the value is -1
         PTHREAD_BARRIER_SERIAL_THREAD;
}

TEST(RwlockSemantics, ReadersShareWritersDoNot) {
  for (const int kind : kKinds) {
    Rwlock lock(kind);
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    if (!exclusive()) {
      EXPECT_EQ(elsewhere([&] { return pthread_rwlock_tryrdlock(lock) || pthread_rwlock_unlock(lock); }), 0);
      EXPECT_EQ(elsewhere([&] { return pthread_rwlock_rdlock(lock) || pthread_rwlock_unlock(lock); }), 0);
    }
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_trywrlock(lock); }), EBUSY);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_timedwrlock(lock, &kLongAgo); }), ETIMEDOUT);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_tryrdlock(lock); }), EBUSY);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_trywrlock(lock); }), EBUSY);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_timedrdlock(lock, &kLongAgo); }), ETIMEDOUT);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &kLongAgo); }),
              ETIMEDOUT);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_trywrlock(lock) || pthread_rwlock_unlock(lock); }), 0);
    EXPECT_EQ(pthread_rwlock_destroy(lock), 0);
  }
}

TEST(RwlockSemantics, TakenAgainByItsHolder) {
  for (const int kind : kKinds) {
    Rwlock lock(kind);
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    const int write = pthread_rwlock_wrlock(lock), read = exclusive() ? EDEADLK : pthread_rwlock_rdlock(lock);
    const int try_write = pthread_rwlock_trywrlock(lock),
              try_read = exclusive() ? EBUSY : pthread_rwlock_tryrdlock(lock);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(write, EDEADLK);
    EXPECT_EQ(read, EDEADLK);
    EXPECT_EQ(try_write, EBUSY);
    EXPECT_EQ(try_read, EBUSY);

    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    const int again = pthread_rwlock_rdlock(lock), third = pthread_rwlock_tryrdlock(lock);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_trywrlock(lock); }), EBUSY) << "held once more";
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(again, 0);
    EXPECT_EQ(third, 0);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_trywrlock(lock) || pthread_rwlock_unlock(lock); }), 0);
  }
}

/// A writer waits, and a thread that reads already reads again: it must get through, or neither ever does.
TEST(RwlockSemantics, ReaderReentersWhileWriterWaits) {
  Rwlock lock;
  std::atomic<bool> starts{false};
  ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
  std::thread writer([&] {
    starts = true;
    EXPECT_EQ(pthread_rwlock_wrlock(lock), 0);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  });
  while (!starts) sched_yield();
  for (unsigned i = 0; i < rounds(2000); ++i) {
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    sched_yield();
  }
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  writer.join();
}

TEST(RwlockSemantics, DeadlinesAndClocks) {
  Rwlock lock;
  // A free lock is taken whatever the deadline says, if it says anything.
  for (const timespec* at : {&kLongAgo, &kBeforeTime}) {
    EXPECT_EQ(pthread_rwlock_timedrdlock(lock, at), 0);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(pthread_rwlock_timedwrlock(lock, at), 0);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  }
  EXPECT_EQ(pthread_rwlock_timedrdlock(lock, &kInvalid), EINVAL);
  EXPECT_EQ(pthread_rwlock_timedwrlock(lock, &kInvalid), EINVAL);
  EXPECT_EQ(pthread_rwlock_clockrdlock(lock, CLOCK_PROCESS_CPUTIME_ID, &kLongAgo), EINVAL);
  EXPECT_EQ(pthread_rwlock_clockwrlock(lock, CLOCK_PROCESS_CPUTIME_ID, &kLongAgo), EINVAL);
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    timespec later{};
    clock_gettime(clock, &later);
    later.tv_sec += 1000;
    EXPECT_EQ(pthread_rwlock_clockrdlock(lock, clock, &later), 0);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(pthread_rwlock_clockwrlock(lock, clock, &later), 0);
    EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  }
}

TEST(RwlockSemantics, StaticInitialisersKeepTheirKind) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  for (pthread_rwlock_t* each : {&lock, &writers}) {
    EXPECT_EQ(pthread_rwlock_rdlock(each) + pthread_rwlock_unlock(each), 0);
    EXPECT_EQ(pthread_rwlock_wrlock(each) + pthread_rwlock_unlock(each), 0);
    EXPECT_EQ(pthread_rwlock_destroy(each), 0);
  }
}

TEST(RwlockSemantics, UndefinedPosixUseDoesNoHarm) {
  if (!ours()) GTEST_SKIP() << "glibc's own lock is corrupted by it";
  Rwlock lock;
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_destroy(lock); }), 0);
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_trywrlock(lock) || pthread_rwlock_unlock(lock); }), 0);
  EXPECT_EQ(pthread_rwlock_destroy(lock), 0);
}

/// Two cells that writers change one after the other, in every way of taking the lock.
TEST(RwlockSemantics, NoReaderSeesAWriterHalfWay) {
  const unsigned kThreads = waits_spin() ? 2 : 3;  // spinning FIFO locks need a CPU each
  for (const int kind : kKinds) {
    Rwlock lock(kind);
    volatile std::uint64_t one = 0, two = 0;
    std::atomic<std::uint64_t> written{0}, torn{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::uint64_t writes = 0, sees_torn = 0;
        for (unsigned i = 0; i < rounds(2000); ++i) {
          const unsigned how = (i * 7 + t) % 6;
          if (how == 0 && pthread_rwlock_trywrlock(lock) != 0) continue;
          if (how == 1 && pthread_rwlock_timedwrlock(lock, &kLongAgo) != 0) continue;
          if (how == 2) pthread_rwlock_wrlock(lock);
          if (how == 3 && pthread_rwlock_tryrdlock(lock) != 0) continue;
          if (how == 4 && pthread_rwlock_timedrdlock(lock, &kLongAgo) != 0) continue;
          if (how == 5) pthread_rwlock_rdlock(lock);
          const bool same = one == two;
          if (how < 3) {
            one = one + 1;
            for (int spin = 0; spin < 20; ++spin) asm volatile("");
            two = two + 1;
          }
          pthread_rwlock_unlock(lock);
          writes += how < 3 ? 1 : 0;
          sees_torn += same ? 0 : 1;
        }
        written += writes;
        torn += sees_torn;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(torn, 0u);
    EXPECT_EQ(one, written.load());
    EXPECT_EQ(two, written.load());
    EXPECT_EQ(pthread_rwlock_destroy(lock), 0);
  }
}

TEST(RwlockSemantics, ProcessSharedOnesStayGlibcs) {
  struct Shared {
    Rwlock lock{PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_SHARED};
    int counter = 0;
  };
  void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* shared = new (page) Shared;
  const auto count = [shared] {
    for (int i = 0; i < 5000; ++i) {
      pthread_rwlock_wrlock(shared->lock);
      ++shared->counter;
      pthread_rwlock_unlock(shared->lock);
    }
    return 0;
  };
  const pid_t child = fork();
  if (child == 0) _exit(count());
  count();
  waitpid(child, nullptr, 0);
  EXPECT_EQ(shared->counter, 10000);
  munmap(page, sizeof(Shared));
}

TEST(RwlockSemantics, ForkedChildContinues) {
  Rwlock lock;
  std::atomic<int> started{0};
  ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
  std::vector<std::thread> waiters;
  for (int t = 0; t < 3; ++t) {
    waiters.emplace_back([&, t] {
      ++started;
      t == 0 ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
      pthread_rwlock_unlock(lock);
    });
  }
  while (started != 3) sched_yield();
  let_them_wait();
  // Those that wait are counted in glibc's lock, in which nobody else may be inside once it has forked.
  if (ours()) {
    EXPECT_EQ(in_child([&] {
                if (pthread_rwlock_unlock(lock) != 0) return 1;
                if (pthread_rwlock_tryrdlock(lock) != 0) return 2;
                if (pthread_rwlock_unlock(lock) != 0) return 3;
                return pthread_rwlock_trywrlock(lock) || pthread_rwlock_unlock(lock) ? 4 : 0;
              }),
              0);
  }
  EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
  for (std::thread& waiter : waiters) waiter.join();
}

TEST(RwlockSemantics, StandardSharedMutex) {
  std::shared_timed_mutex mutex;
  int value = 0;
  std::thread other([&] {
    for (unsigned i = 0; i < rounds(1000); ++i) {
      std::unique_lock lock(mutex);
      ++value;
    }
  });
  for (unsigned i = 0; i < rounds(1000); ++i) {
    std::shared_lock lock(mutex);
    ASSERT_GE(value, 0);
  }
  other.join();
  EXPECT_EQ(value, static_cast<int>(rounds(1000)));
  EXPECT_TRUE(mutex.try_lock_for(std::chrono::seconds(0)));
  EXPECT_EQ(elsewhere([&] { return mutex.try_lock_shared_until(std::chrono::steady_clock::time_point()); }),
            0);
  mutex.unlock();
}

TEST(Spinlock, ExcludesAndKeepsItsProtocol) {
  pthread_spinlock_t lock;
  ASSERT_EQ(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE), 0);
  ASSERT_EQ(pthread_spin_lock(&lock), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_spin_trylock(&lock); }), EBUSY);
  EXPECT_EQ(pthread_spin_unlock(&lock), 0);
  ASSERT_EQ(pthread_spin_trylock(&lock), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_spin_trylock(&lock); }), EBUSY);
  EXPECT_EQ(pthread_spin_unlock(&lock), 0);
  volatile std::uint64_t counter = 0;
  const auto count = [&] {
    for (unsigned i = 0; i < rounds(5000); ++i) {
      pthread_spin_lock(&lock);
      counter = counter + 1;
      pthread_spin_unlock(&lock);
    }
  };
  std::thread other(count);
  count();
  other.join();
  EXPECT_EQ(counter, 2 * rounds(5000));
  EXPECT_EQ(pthread_spin_destroy(&lock), 0);
}

TEST(Spinlock, BetweenProcesses) {
  struct Shared {
    pthread_spinlock_t lock;
    int counter;
  };
  void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* shared = static_cast<Shared*>(page);
  ASSERT_EQ(pthread_spin_init(&shared->lock, PTHREAD_PROCESS_SHARED), 0);
  const auto count = [shared] {
    for (int i = 0; i < 1000; ++i) {
      pthread_spin_lock(&shared->lock);
      ++shared->counter;
      pthread_spin_unlock(&shared->lock);
    }
    return 0;
  };
  const pid_t child = fork();
  if (child == 0) _exit(count());
  count();
  waitpid(child, nullptr, 0);
  EXPECT_EQ(shared->counter, 2000);
  munmap(page, sizeof(Shared));
}

TEST(Spinlock, UndefinedPosixUseDoesNoHarm) {
  if (!ours()) GTEST_SKIP() << "glibc's own lock lets several threads in after it";
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  EXPECT_EQ(pthread_spin_unlock(&lock), 0);
  ASSERT_EQ(pthread_spin_lock(&lock), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_spin_destroy(&lock); }), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_spin_trylock(&lock); }), EBUSY);
  EXPECT_EQ(pthread_spin_unlock(&lock), 0);
}

TEST(Barrier, AllMeetAndOneIsTold) {
  constexpr unsigned kThreads = 3;
  const unsigned kRounds = rounds(200);
  pthread_barrier_t barrier;
  ASSERT_EQ(pthread_barrier_init(&barrier, nullptr, kThreads), 0);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<unsigned> arrived{0}, serial{0}, early{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (unsigned round = 1; round <= kRounds; ++round) {
        ++arrived;
        pthread_mutex_lock(&mutex);  // what may be elided must not reach across
        pthread_mutex_unlock(&mutex);
        if (is_serial_thread(&barrier)) ++serial;
        if (arrived < round * kThreads) ++early;
        pthread_barrier_wait(&barrier);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(serial, kRounds);
  EXPECT_EQ(early, 0u);
  EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
}

TEST(Barrier, LastThreadMayDestroyItAtOnce) {
  const unsigned kRounds = rounds(300);
  for (unsigned round = 0; round < kRounds; ++round) {
    auto barrier = std::make_unique<pthread_barrier_t>();
    ASSERT_EQ(pthread_barrier_init(barrier.get(), nullptr, 2), 0);
    std::atomic<int> destroyed{0};
    const auto meet = [&, at = barrier.get()] {
      if (!is_serial_thread(at)) return;
      destroyed += pthread_barrier_destroy(at) == 0;
      std::memset(static_cast<void*>(at), 0x5a, sizeof *at);
    };
    std::thread other(meet);
    meet();
    other.join();
    ASSERT_EQ(destroyed, 1);
    const auto* bytes = reinterpret_cast<const unsigned char*>(barrier.get());
    for (std::size_t i = 0; i < sizeof *barrier; ++i) ASSERT_EQ(bytes[i], 0x5a) << "written to afterwards";
  }
}

TEST(Barrier, MoreThreadsThanItsNumberMeetInTwos) {
  constexpr unsigned kThreads = 6;
  const unsigned kRounds = rounds(200);
  pthread_barrier_t barrier;
  ASSERT_EQ(pthread_barrier_init(&barrier, nullptr, 2), 0);
  std::atomic<unsigned> serial{0}, passed{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      // Tickets are handed out one by one, so that an even number of threads meets: nobody is left over.
      for (;;) {
        if (passed.fetch_add(1) >= kThreads * kRounds) return;
        if (is_serial_thread(&barrier)) ++serial;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(serial, kThreads * kRounds / 2);
  EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
}

TEST(Barrier, CountOneNeverWaitsAndCountZeroIsInvalid) {
  pthread_barrier_t barrier;
  EXPECT_EQ(pthread_barrier_init(&barrier, nullptr, 0), EINVAL);
  for (int again = 0; again < 3; ++again) {
    ASSERT_EQ(pthread_barrier_init(&barrier, nullptr, 1), 0);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_serial_thread(&barrier));
    EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
  }
}

/// Also where the memory looks as if a barrier had been there.
TEST(Barrier, ProcessesMeetAtASharedOne) {
  void* memory =
      mmap(nullptr, sizeof(pthread_barrier_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* barrier = static_cast<pthread_barrier_t*>(memory);
  ASSERT_EQ(pthread_barrier_init(barrier, nullptr, 2), 0);
  ASSERT_EQ(pthread_barrier_destroy(barrier), 0);
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ASSERT_EQ(pthread_barrier_init(barrier, &attributes, 2), 0);
  const pid_t child = fork();
  if (child == 0) {
    int told = 0;
    for (int i = 0; i < 50; ++i) told += is_serial_thread(barrier);
    _exit(told);
  }
  int told = 0;
  for (int i = 0; i < 50; ++i) told += is_serial_thread(barrier);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(told + WEXITSTATUS(status), 50);
  EXPECT_EQ(pthread_barrier_destroy(barrier), 0);
  munmap(memory, sizeof(pthread_barrier_t));
}

}  // namespace
}  // namespace elision::preload::test
