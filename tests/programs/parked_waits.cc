// SPDX-License-Identifier: Apache-2.0
// The CPU time of waits: every timed and untimed operation that may wait, on an object that is held for a
// millisecond. A thread spins for a few microseconds and then sleeps. Exit code 1 if one uses more CPU time
// than kMostMicroseconds. Virtual only, where CPU time is exact.
//
// The designs are those of the preload library (`elision vm --lock`).
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr long kHeldMicroseconds = 1000, kMostMicroseconds = 40;
constexpr unsigned kMany = 20;  // more waiters with deadlines than a ticket lock's window holds

long nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

timespec in_microseconds(clockid_t clock, long microseconds) {
  const long at = nanoseconds(clock) + microseconds * 1000;
  return {at / 1000000000, at % 1000000000};
}

/// How long a thread may wait.
struct Limit {
  const char* name;
  clockid_t clock;
  long microseconds;  // 0: for ever
};
constexpr Limit kLimits[] = {{"untimed", CLOCK_REALTIME, 0},
                             {"timed", CLOCK_REALTIME, 1000000},
                             {"clock", CLOCK_MONOTONIC, 1000000},
                             {"times out", CLOCK_REALTIME, kHeldMicroseconds / 2},
                             {"times out by clock", CLOCK_MONOTONIC, kHeldMicroseconds / 2}};

int lock_mutex(pthread_mutex_t* mutex, const Limit& limit) {
  if (limit.microseconds == 0) return pthread_mutex_lock(mutex);
  const timespec at = in_microseconds(limit.clock, limit.microseconds);
  return limit.clock == CLOCK_REALTIME ? pthread_mutex_timedlock(mutex, &at)
                                       : pthread_mutex_clocklock(mutex, limit.clock, &at);
}

int lock_to_read(pthread_rwlock_t* lock, const Limit& limit) {
  if (limit.microseconds == 0) return pthread_rwlock_rdlock(lock);
  const timespec at = in_microseconds(limit.clock, limit.microseconds);
  return limit.clock == CLOCK_REALTIME ? pthread_rwlock_timedrdlock(lock, &at)
                                       : pthread_rwlock_clockrdlock(lock, limit.clock, &at);
}

int lock_to_write(pthread_rwlock_t* lock, const Limit& limit) {
  if (limit.microseconds == 0) return pthread_rwlock_wrlock(lock);
  const timespec at = in_microseconds(limit.clock, limit.microseconds);
  return limit.clock == CLOCK_REALTIME ? pthread_rwlock_timedwrlock(lock, &at)
                                       : pthread_rwlock_clockwrlock(lock, limit.clock, &at);
}

int wait_for_condition(pthread_cond_t* cond, pthread_mutex_t* mutex, const Limit& limit) {
  if (limit.microseconds == 0) return pthread_cond_wait(cond, mutex);
  const timespec at = in_microseconds(limit.clock, limit.microseconds);
  return limit.clock == CLOCK_REALTIME ? pthread_cond_timedwait(cond, mutex, &at)
                                       : pthread_cond_clockwait(cond, mutex, limit.clock, &at);
}

bool any_failed = false;

/// `waiters` threads each do `wait` once, while this thread is between `hold` and `give_back`. Shows the
/// largest CPU time of a thread; it may spin for each place in a queue before it.
void measure(const std::string& name, unsigned waiters, const std::function<void()>& hold,
             const std::function<void()>& wait, const std::function<void()>& give_back) {
  std::atomic<unsigned> ready{0};
  std::vector<long> took(waiters);
  std::vector<std::thread> threads;
  hold();
  for (unsigned i = 0; i < waiters; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready != waiters + 1) usleep(1);
      const long before = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
      wait();
      took[i] = (nanoseconds(CLOCK_THREAD_CPUTIME_ID) - before) / 1000;
    });
  }
  while (ready != waiters) usleep(1);
  ++ready;
  usleep(kHeldMicroseconds);
  give_back();
  for (std::thread& thread : threads) thread.join();
  const long most = *std::max_element(took.begin(), took.end());
  const bool failed = most > kMostMicroseconds;
  std::printf("%s%4ld us of CPU time: %s, %u waiting\n", failed ? "FAILED " : "", most, name.c_str(),
              waiters);
  any_failed = any_failed || failed;
}

void must(int result) {
  if (result == 0) return;
  std::printf("FAILED: error %d\n", result);
  std::exit(1);
}

void measure_mutexes(const Limit& limit, unsigned waiters) {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE}) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    measure(
        std::string(type == PTHREAD_MUTEX_NORMAL ? "mutex, " : "recursive mutex, ") + limit.name, waiters,
        [&] { must(pthread_mutex_lock(&mutex)); },
        [&] {
          if (lock_mutex(&mutex, limit) == 0) must(pthread_mutex_unlock(&mutex));
        },
        [&] { must(pthread_mutex_unlock(&mutex)); });
  }
}

void measure_rwlocks(const Limit& limit, unsigned waiters) {
  for (const int kind : {PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    const std::string ending =
        std::string(kind == PTHREAD_RWLOCK_DEFAULT_NP ? ", " : ", writers first, ") + limit.name;
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, kind);
    pthread_rwlock_t lock;
    pthread_rwlock_init(&lock, &attributes);
    const auto read = [&] {
      if (lock_to_read(&lock, limit) == 0) must(pthread_rwlock_unlock(&lock));
    };
    const auto write = [&] {
      if (lock_to_write(&lock, limit) == 0) must(pthread_rwlock_unlock(&lock));
    };
    const auto hold_to_read = [&] { must(pthread_rwlock_rdlock(&lock)); };
    const auto hold_to_write = [&] { must(pthread_rwlock_wrlock(&lock)); };
    const auto give_back = [&] { must(pthread_rwlock_unlock(&lock)); };
    measure("reader behind a writer" + ending, waiters, hold_to_write, read, give_back);
    measure("writer behind a writer" + ending, waiters, hold_to_write, write, give_back);
    measure("writer behind a reader" + ending, waiters, hold_to_read, write, give_back);
  }
}

void measure_conditions(const Limit& limit, unsigned waiters) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool signalled = false;
  measure(
      std::string("condition variable, ") + limit.name, waiters, [] {},
      [&] {
        must(pthread_mutex_lock(&mutex));
        while (!signalled && wait_for_condition(&cond, &mutex, limit) == 0) {
        }
        must(pthread_mutex_unlock(&mutex));
      },
      [&] {
        must(pthread_mutex_lock(&mutex));
        signalled = true;
        must(pthread_mutex_unlock(&mutex));
        must(pthread_cond_broadcast(&cond));
      });
}

void measure_barrier(unsigned waiters) {
  pthread_barrier_t barrier;
  must(pthread_barrier_init(&barrier, nullptr, waiters + 1));
  const auto pass = [&] { pthread_barrier_wait(&barrier); };
  measure(
      "barrier", waiters, [] {}, pass, pass);
}

}  // namespace

int main() {
  std::thread([] {}).join();
  for (const unsigned waiters : {1u, kMany}) {
    for (const Limit& limit : kLimits) {
      measure_mutexes(limit, waiters);
      measure_rwlocks(limit, waiters);
      measure_conditions(limit, waiters);
    }
    measure_barrier(waiters);
  }
  return any_failed ? 1 : 0;
}
