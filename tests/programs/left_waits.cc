// SPDX-License-Identifier: Apache-2.0
// Threads that leave the wait for a lock for good: by asynchronous cancellation, or by siglongjmp out of a
// signal handler. POSIX leaves both undefined. Other threads must still get the lock: one that waits behind,
// and one that comes later. Exit code 1 if one does not.
//
//   left_waits MICROSECONDS [mutexes]
//
// MICROSECONDS: how long a thread waits before it leaves. mutexes: without reader-writer locks, for designs
// that leave them to glibc, whose locks do not survive this.
//
// Virtual only: virtual time guarantees that other threads wait. The designs are those of the preload
// library.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>

namespace {

long wait_microseconds;
bool any_failed = false;

enum class Way { kCancelled, kJumped };

/// An object to wait for. All functions return error numbers.
struct Lock {
  std::string name;
  std::function<int()> hold, wait, give_back;
  std::function<int(const timespec*)> take;
};

thread_local sigjmp_buf out_of_the_wait;

void jump(int) { siglongjmp(out_of_the_wait, 1); }

timespec in_milliseconds(long milliseconds) {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += milliseconds * 1000000;
  at.tv_sec += at.tv_nsec / 1000000000;
  at.tv_nsec %= 1000000000;
  return at;
}

struct Leaver {
  const Lock& lock;
  Way way;
  std::atomic<bool> ready{false}, left{false}, may_end{false};
};

void* leave(void* argument) {
  Leaver& self = *static_cast<Leaver*>(argument);
  if (self.way == Way::kCancelled) {
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    self.ready = true;
    self.lock.wait();
  } else if (sigsetjmp(out_of_the_wait, 1) == 0) {
    self.ready = true;
    self.lock.wait();
  }
  self.left = true;
  while (!self.may_end) usleep(10);
  return nullptr;
}

/// Takes and releases the lock. If that succeeds only at the deadline, a wake-up was lost: ETIMEDOUT.
int take_once(const Lock& lock) {
  const timespec at = in_milliseconds(200), soon = in_milliseconds(100);
  int result = lock.take(&at);
  if (result == 0) result = lock.give_back();
  const timespec now = in_milliseconds(0);
  const bool late = now.tv_sec > soon.tv_sec || (now.tv_sec == soon.tv_sec && now.tv_nsec > soon.tv_nsec);
  return late ? ETIMEDOUT : result;
}

void report(const Lock& lock, Way way, const char* who, int result) {
  const bool failed = result != 0;
  std::printf("%s%s, %s: %s %s\n", failed ? "FAILED: " : "", lock.name.c_str(),
              way == Way::kCancelled ? "cancelled" : "jumped out", who,
              !failed               ? "has the lock"
              : result == ETIMEDOUT ? "waits for ever"
                                    : "got an error");
  any_failed = any_failed || failed;
}

void run(const Lock& lock, Way way) {
  if (lock.hold() != 0) std::abort();
  Leaver leaver{lock, way};
  pthread_t thread;
  pthread_create(&thread, nullptr, leave, &leaver);
  while (!leaver.ready) usleep(1);
  usleep(static_cast<unsigned>(wait_microseconds));
  int behind = -1, later = -1;
  std::thread other([&] { behind = take_once(lock); });
  usleep(static_cast<unsigned>(wait_microseconds));
  if (way == Way::kCancelled) {
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  } else {
    pthread_kill(thread, SIGUSR1);
    while (!leaver.left) usleep(10);
  }
  lock.give_back();
  other.join();
  std::thread([&] { later = take_once(lock); }).join();
  report(lock, way, "one behind", behind);
  report(lock, way, "one that comes later", later);
  leaver.may_end = true;
  if (way == Way::kJumped) pthread_join(thread, nullptr);
}

void leave_mutexes(Way way) {
  pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
  for (pthread_mutex_t& mutex : mutexes) {
    const bool by_deadline = &mutex == &mutexes[1];
    const auto wait = [&] {
      const timespec at = in_milliseconds(5000);
      return by_deadline ? pthread_mutex_timedlock(&mutex, &at) : pthread_mutex_lock(&mutex);
    };
    run({by_deadline ? "mutex, by deadline" : "mutex", [&] { return pthread_mutex_lock(&mutex); }, wait,
         [&] { return pthread_mutex_unlock(&mutex); },
         [&](const timespec* at) { return pthread_mutex_timedlock(&mutex, at); }},
        way);
  }
}

using RwFunction = int (*)(pthread_rwlock_t*);
using TimedRwFunction = int (*)(pthread_rwlock_t*, const timespec*);

struct RwCase {
  const char* name;
  RwFunction hold, wait;
  TimedRwFunction take;
};
constexpr RwCase kRwCases[] = {
    {"writer behind a writer, then a writer", pthread_rwlock_wrlock, pthread_rwlock_wrlock,
     pthread_rwlock_timedwrlock},
    {"writer behind a writer, then a reader", pthread_rwlock_wrlock, pthread_rwlock_wrlock,
     pthread_rwlock_timedrdlock},
    {"writer behind a reader, then a writer", pthread_rwlock_rdlock, pthread_rwlock_wrlock,
     pthread_rwlock_timedwrlock},
    {"reader behind a writer, then a writer", pthread_rwlock_wrlock, pthread_rwlock_rdlock,
     pthread_rwlock_timedwrlock},
    {"reader behind a writer, then a reader", pthread_rwlock_wrlock, pthread_rwlock_rdlock,
     pthread_rwlock_timedrdlock},
};

void leave_rwlocks(Way way) {
  for (const int kind : {PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    for (const RwCase& row : kRwCases) {
      pthread_rwlockattr_t attributes;
      pthread_rwlockattr_init(&attributes);
      pthread_rwlockattr_setkind_np(&attributes, kind);
      pthread_rwlock_t lock;
      pthread_rwlock_init(&lock, &attributes);
      const std::string writers_first = kind == PTHREAD_RWLOCK_DEFAULT_NP ? "" : "writers first, ";
      run({writers_first + row.name, [&] { return row.hold(&lock); }, [&] { return row.wait(&lock); },
           [&] { return pthread_rwlock_unlock(&lock); },
           [&](const timespec* at) { return row.take(&lock, at); }},
          way);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  wait_microseconds = std::atol(words[1]);
  struct sigaction action {};
  action.sa_handler = jump;
  sigaction(SIGUSR1, &action, nullptr);
  for (const Way way : {Way::kCancelled, Way::kJumped}) {
    leave_mutexes(way);
    if (count == 2) leave_rwlocks(way);
  }
  return any_failed ? 1 : 0;
}
