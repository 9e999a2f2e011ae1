// SPDX-License-Identifier: Apache-2.0
// What an uncontended lock and unlock costs through the preloaded library, as a ratio to glibc's own, in
// a process with a second thread alive (with one thread glibc leaves its atomics out).
//
// Both are called in one process, through pointers, on mutexes of their own, in interleaved pairs; the
// median of the pairs' ratios is printed. Only the ratio means something: the time of one is that of
// this machine at this moment. Run it with the library preloaded; without it the ratio is glibc's to
// itself, which shows the noise.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

using LockFunction = int (*)(pthread_mutex_t*);

struct Functions {
  LockFunction lock;
  LockFunction unlock;
};

Functions functions_in(void* handle) {
  return {reinterpret_cast<LockFunction>(dlsym(handle, "pthread_mutex_lock")),
          reinterpret_cast<LockFunction>(dlsym(handle, "pthread_mutex_unlock"))};
}

std::uint64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Nanoseconds for `count` lock and unlock pairs.
[[gnu::noinline]] std::uint64_t time_pairs(Functions functions, pthread_mutex_t& mutex, int count) {
  const std::uint64_t start = cpu_ns();
  for (int i = 0; i < count; ++i) {
    functions.lock(&mutex);
    functions.unlock(&mutex);
  }
  return cpu_ns() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct alignas(128) LonelyMutex {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

/// Keeps a second thread alive, asleep, until the benchmark is over.
void* sleep_at_barrier(void* barrier) {
  pthread_barrier_wait(static_cast<pthread_barrier_t*>(barrier));
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 30;
  const int count = argc > 2 ? std::atoi(argv[2]) : 1000000;
  if (pairs < 1 || count < 1) {
    std::fprintf(stderr, "lockcost: usage: lockcost [PAIRS [LOCKS]]\n");
    return 2;
  }
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (libc == nullptr) {
    std::fprintf(stderr, "lockcost: %s\n", dlerror());
    return 1;
  }
  const Functions ours = functions_in(RTLD_DEFAULT);
  const Functions theirs = functions_in(libc);

  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, sleep_at_barrier, &barrier) != 0) return 1;

  static LonelyMutex our_mutex, their_mutex;
  time_pairs(ours, our_mutex.mutex, count / 10 + 1);
  time_pairs(theirs, their_mutex.mutex, count / 10 + 1);
  std::vector<double> ratios;
  for (int i = 0; i < pairs; ++i) {
    // Each goes first in every other pair: what the first one pays for the second is then paid by both.
    const bool ours_first = i % 2 == 0;
    std::uint64_t our_ns = ours_first ? time_pairs(ours, our_mutex.mutex, count) : 0;
    const std::uint64_t their_ns = time_pairs(theirs, their_mutex.mutex, count);
    if (!ours_first) our_ns = time_pairs(ours, our_mutex.mutex, count);
    ratios.push_back(static_cast<double>(our_ns) / static_cast<double>(their_ns));
  }
  pthread_barrier_wait(&barrier);
  pthread_join(thread, nullptr);
  std::printf("preloaded: %s\n", ours.lock == theirs.lock ? "no" : "yes");
  std::printf("lock+unlock ratio to glibc, median of %d pairs: %.4f\n", pairs, median(ratios));
  return 0;
}
