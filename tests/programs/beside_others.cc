// SPDX-License-Identifier: Apache-2.0
// Runs beside other preloaded libraries and under tools that watch programs (beside_others_test.py): three
// threads, ROUNDS sections each under every kind of lock, with allocations all the time. Ends with 1 if an
// update is lost. With "racy" one counter is updated without its lock, and race detectors must report it.
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 3;
int rounds = 0;
std::mutex mutex;
std::shared_mutex shared_mutex;
std::condition_variable may_start;
pthread_spinlock_t spin_lock;
bool started = false;
std::atomic<int> arrived{0};
int locked = 0, written = 0, spun = 0, left_alone = 0;

/// Returns when all threads have come here for the `times`-th time. Orders nothing, so that a race detector
/// sees what they do between two meetings as unordered, and all of them are alive.
void meet(int times) {
  arrived.fetch_add(1, std::memory_order_relaxed);
  while (arrived.load(std::memory_order_relaxed) < times * kThreads) std::this_thread::yield();
}

void work(bool racy) {
  {
    std::unique_lock lock(mutex);
    may_start.wait(lock, [] { return started; });
  }
  if (racy) {
    meet(1);
    ++left_alone;
    meet(2);
  }
  for (int i = 0; i < rounds; ++i) {
    delete[] new char[static_cast<std::size_t>(16 + i % 500)];
    {
      std::lock_guard lock(mutex);
      ++locked;
    }
    if (racy) ++left_alone;
    {
      std::unique_lock lock(shared_mutex);
      ++written;
    }
    {
      std::shared_lock lock(shared_mutex);
      if (written > kThreads * rounds) std::abort();
    }
    pthread_spin_lock(&spin_lock);
    ++spun;
    pthread_spin_unlock(&spin_lock);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  rounds = std::atoi(argv[1]);
  pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, argc > 2);
  {
    std::lock_guard lock(mutex);
    started = true;
    may_start.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d %d %d\n", locked, written, spun);
  return locked == kThreads * rounds && written == locked && spun == locked ? 0 : 1;
}
