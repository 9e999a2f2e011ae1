// SPDX-License-Identifier: Apache-2.0
// Threads that all exchange the same word get its line equally often, since waiting requests are served in
// turn. Ends when the first thread has done its share. Exit code 1 if another has done less than half of it.
// Virtual only: it needs one CPU per thread.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  constexpr unsigned kThreads = 18, kShare = 300;
  struct alignas(128) Count {
    unsigned exchanges = 0;
  };
  alignas(128) static std::atomic<unsigned> word{0};
  alignas(128) static std::atomic<bool> done{false};
  static Count counts[kThreads];
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&ready, t] {
      ++ready;
      while (ready != kThreads) {
      }
      while (!done && counts[t].exchanges < kShare) {
        word.exchange(t);
        ++counts[t].exchanges;
      }
      done = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  unsigned least = kShare;
  for (const Count& count : counts) least = count.exchanges < least ? count.exchanges : least;
  std::printf("the first had %u exchanges, the last %u\n", kShare, least);
  return 2 * least >= kShare ? 0 : 1;
}
