// SPDX-License-Identifier: Apache-2.0
// Signals and cancellation in every phase of a lock, asked of whatever library is preloaded
// (semantics_test.cc says how): no update and no wake-up is lost, no deadline moves, and no thread ends where
// POSIX does not let it.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <vector>

#include "preload/semantics_test.h"

namespace elision::preload::test {
namespace {

constexpr int kRestarting = SIGUSR1, kInterrupting = SIGUSR2;
sem_t posted;
std::atomic<int> handled{0};

/// sem_post is what a handler may do of all that synchronises.
void on_signal(int) {
  const int saved_errno = errno;
  sem_post(&posted);
  handled.fetch_add(1, std::memory_order_relaxed);
  errno = saved_errno;
}

class Interrupted : public ::testing::Test {
 protected:
  void SetUp() override {
    handled = 0;
    ASSERT_EQ(sem_init(&posted, 0, 0), 0);
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(kInterrupting, &action, nullptr);
    action.sa_flags = SA_RESTART;
    sigaction(kRestarting, &action, nullptr);
  }
  void TearDown() override {
    int left = 0;
    ASSERT_EQ(sem_getvalue(&posted, &left), 0);
    EXPECT_EQ(left, handled.load());
    sem_destroy(&posted);
  }

  /// Runs every body in a thread of its own, and sends them all signals of both kinds, one behind the other,
  /// until all have ended; and all that again until enough signals have arrived, since bodies may have ended
  /// before this thread gets a CPU. Returns how often it ran them.
  template <std::size_t kCount>
  static unsigned run_under_fire(const std::array<std::function<void()>, kCount>& bodies) {
    constexpr int kEnough = 20;
    constexpr unsigned kMostRuns = 1000;
    unsigned runs = 0;
    for (; handled < kEnough && runs < kMostRuns; ++runs) run_under_fire_once(bodies);
    EXPECT_GE(handled, kEnough);
    return runs;
  }

 private:
  template <std::size_t kCount>
  static void run_under_fire_once(const std::array<std::function<void()>, kCount>& bodies) {
    std::atomic<std::size_t> running{kCount};
    std::vector<std::thread> threads;
    for (const auto& body : bodies) {
      threads.emplace_back([&] {
        body();
        --running;
      });
    }
    for (unsigned shot = 0; running > 0; ++shot) {
      const int signal = shot % 3 == 0 ? kInterrupting : kRestarting;
      const int before = handled;
      const int sent = pthread_kill(threads[shot % kCount].native_handle(), signal);
      EXPECT_TRUE(sent == 0 || sent == ESRCH) << sent;  // before glibc 2.34 an ended thread cannot be found
      // The next when this one arrived, and now and then at once: signals meet in any state, and never queue
      // up. One for a thread that has ended arrives nowhere.
      for (int i = 0; i < 1000 && shot % 8 != 0 && handled == before && running > 0; ++i) sched_yield();
    }
    for (std::thread& thread : threads) thread.join();
  }
};

timespec in_milliseconds(clockid_t clock, long milliseconds) {
  timespec at{};
  clock_gettime(clock, &at);
  at.tv_nsec += milliseconds * 1000000;
  at.tv_sec += at.tv_nsec / 1000000000;
  at.tv_nsec %= 1000000000;
  return at;
}

bool has_come(clockid_t clock, const timespec& at) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

/// Threads that are alone on their locks, that fight for one mutex, read or write beside each other, or spin.
TEST_F(Interrupted, NoUpdateIsLost) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, alone = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_spinlock_t spin;
  ASSERT_EQ(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
  volatile unsigned shared = 0, own = 0, nested = 0, written = 0, spun = 0;
  const unsigned kRounds = rounds(3000);
  const auto add = [](volatile unsigned& counter) {
    const unsigned value = counter;
    for (int i = 0; i < 20; ++i) asm volatile("");
    counter = value + 1;
  };
  const std::function<void()> fight = [&] {
    unsigned seen = 0;
    for (unsigned i = 0; i < kRounds; ++i) {
      pthread_mutex_lock(&mutex);
      add(shared);
      if (i % 50 == 0) sched_yield();  // let others wait, and no transaction live
      pthread_mutex_unlock(&mutex);
      pthread_mutex_lock(&recursive);
      pthread_mutex_lock(&recursive);
      add(nested);
      pthread_mutex_unlock(&recursive);
      pthread_mutex_unlock(&recursive);
      pthread_rwlock_wrlock(&rwlock);
      add(written);
      pthread_rwlock_unlock(&rwlock);
      pthread_rwlock_rdlock(&rwlock);
      EXPECT_GE(written, seen);
      seen = written;
      pthread_rwlock_unlock(&rwlock);
      pthread_spin_lock(&spin);
      add(spun);
      pthread_spin_unlock(&spin);
    }
  };
  const std::function<void()> live_alone = [&] {
    for (unsigned i = 0; i < 4 * kRounds; ++i) {
      pthread_mutex_lock(&alone);
      add(own);
      pthread_mutex_unlock(&alone);
    }
  };
  const unsigned expected = 2 * kRounds * run_under_fire(std::array{fight, fight, live_alone});
  EXPECT_EQ(shared, expected);
  EXPECT_EQ(nested, expected);
  EXPECT_EQ(written, expected);
  EXPECT_EQ(spun, expected);
  EXPECT_EQ(own, 2 * expected);
  EXPECT_EQ(pthread_mutex_destroy(&mutex) + pthread_mutex_destroy(&recursive), 0);
}

TEST_F(Interrupted, NoWakeUpIsLost) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  unsigned turn = 0;
  const unsigned kTurns = rounds(1500);
  const auto take_turns = [&](unsigned mine) {
    for (unsigned i = 0; i < kTurns; ++i) {
      pthread_mutex_lock(&mutex);
      while (turn % 2 != mine) EXPECT_EQ(pthread_cond_wait(&cond, &mutex), 0);
      ++turn;
      pthread_cond_signal(&cond);
      pthread_mutex_unlock(&mutex);
    }
  };
  const unsigned runs =
      run_under_fire(std::array<std::function<void()>, 2>{[&] { take_turns(0); }, [&] { take_turns(1); }});
  EXPECT_EQ(turn, 2 * kTurns * runs);
}

/// Were a deadline counted anew after each signal, these waits would not end, since signals come until they
/// do.
TEST_F(Interrupted, DeadlinesStay) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, of_cond = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  ASSERT_EQ(pthread_mutex_lock(&mutex) + pthread_rwlock_wrlock(&rwlock), 0);
  const auto expect_late = [](clockid_t clock, const std::function<int(const timespec*)>& wait) {
    const timespec at = in_milliseconds(clock, 30);
    EXPECT_EQ(wait(&at), ETIMEDOUT);
    EXPECT_TRUE(has_come(clock, at));
  };
  run_under_fire(std::array<std::function<void()>, 3>{
      [&] {
        expect_late(CLOCK_REALTIME, [&](const timespec* at) { return pthread_mutex_timedlock(&mutex, at); });
        expect_late(CLOCK_MONOTONIC,
                    [&](const timespec* at) { return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, at); });
      },
      [&] {
        expect_late(CLOCK_REALTIME,
                    [&](const timespec* at) { return pthread_rwlock_timedrdlock(&rwlock, at); });
        expect_late(CLOCK_MONOTONIC, [&](const timespec* at) {
          return pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, at);
        });
      },
      [&] {
        expect_late(CLOCK_REALTIME, [&](const timespec* at) {
          pthread_mutex_lock(&of_cond);
          int result = 0;
          while (result == 0) result = pthread_cond_timedwait(&cond, &of_cond, at);
          pthread_mutex_unlock(&of_cond);
          return result;
        });
      }});
  EXPECT_EQ(pthread_mutex_unlock(&mutex) + pthread_rwlock_unlock(&rwlock), 0);
  // Whoever gave up left nothing behind.
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_lock(&mutex) + pthread_mutex_unlock(&mutex); }), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_wrlock(&rwlock) + pthread_rwlock_unlock(&rwlock); }), 0);
}

/// A thread that is cancelled while it waits for a lock.
struct Cancelled {
  std::function<int()> take, give_back;
  std::atomic<bool> asks{false}, has_it{false}, gave_it_back{false};
};

TEST(Cancellation, WaitingForALockIsNoCancellationPoint) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  const auto unlock_rwlock = [&] { return pthread_rwlock_unlock(&rwlock); };
  const std::pair<std::function<int()>, std::function<int()>> ways[] = {
      {[&] { return pthread_mutex_lock(&mutex); }, [&] { return pthread_mutex_unlock(&mutex); }},
      {[&] { return pthread_rwlock_rdlock(&rwlock); }, unlock_rwlock},
      {[&] { return pthread_rwlock_wrlock(&rwlock); }, unlock_rwlock}};
  for (const auto& [take, give_back] : ways) {
    Cancelled state{take, give_back};
    ASSERT_EQ(pthread_mutex_lock(&mutex) + pthread_rwlock_wrlock(&rwlock), 0);
    pthread_t thread;
    const auto body = [](void* argument) -> void* {
      auto& s = *static_cast<Cancelled*>(argument);
      s.asks = true;
      s.take();
      s.has_it = true;
      s.give_back();
      s.gave_it_back = true;
      while (true) pthread_testcancel();
      return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, nullptr, body, &state), 0);
    while (!state.asks) sched_yield();
    for (int i = 0; i < 30; ++i) sched_yield();  // likely it waits by now; if not, the test is only easier
    EXPECT_EQ(pthread_cancel(thread), 0);
    for (int i = 0; i < 30; ++i) sched_yield();
    EXPECT_FALSE(state.has_it);
    EXPECT_EQ(pthread_mutex_unlock(&mutex) + pthread_rwlock_unlock(&rwlock), 0);
    void* result = nullptr;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(state.has_it && state.gave_it_back);
  }
  EXPECT_EQ(pthread_mutex_destroy(&mutex) + pthread_rwlock_destroy(&rwlock), 0);
}

TEST(Cancellation, CancelledWaiterConsumesNoWakeUp) {
  struct Shared {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    int waiting = 0, tokens = 0, taken = 0;
  } shared;
  const auto body = [](void* argument) -> void* {
    auto& s = *static_cast<Shared*>(argument);
    pthread_mutex_lock(&s.mutex);
    pthread_cleanup_push([](void* a) { pthread_mutex_unlock(&static_cast<Shared*>(a)->mutex); }, &s);
    ++s.waiting;
    while (s.tokens == 0) pthread_cond_wait(&s.cond, &s.mutex);
    --s.tokens;
    ++s.taken;
    pthread_cleanup_pop(1);
    return nullptr;
  };
  for (int round = 0; round < 10; ++round) {
    shared.waiting = shared.taken = 0;
    std::array<pthread_t, 4> threads;
    for (pthread_t& thread : threads) ASSERT_EQ(pthread_create(&thread, nullptr, body, &shared), 0);
    for (int waiting = 0; waiting < 4; sched_yield()) {
      pthread_mutex_lock(&shared.mutex);
      waiting = shared.waiting;
      pthread_mutex_unlock(&shared.mutex);
    }
    // A token and a signal for each of those that live on.
    const auto give = [&](int tokens) {
      pthread_mutex_lock(&shared.mutex);
      shared.tokens += tokens;
      pthread_mutex_unlock(&shared.mutex);
      for (int i = 0; i < tokens; ++i) pthread_cond_signal(&shared.cond);
    };
    const std::size_t unlucky = static_cast<std::size_t>(round) % threads.size();
    pthread_cancel(threads[unlucky]);
    give(3);
    void* result = nullptr;
    EXPECT_EQ(pthread_join(threads[unlucky], &result), 0);
    // A signal may come before the cancellation that was sent first (it may since glibc 2.41). Then that
    // thread has used one up.
    if (result != PTHREAD_CANCELED) give(1);
    const int alive = result == PTHREAD_CANCELED ? 3 : 4;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      if (i == unlucky) continue;
      EXPECT_EQ(pthread_join(threads[i], nullptr), 0);
    }
    EXPECT_EQ(shared.taken, alive);
    EXPECT_EQ(shared.tokens, 0);
  }
}

}  // namespace
}  // namespace elision::preload::test
