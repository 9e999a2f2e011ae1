// SPDX-License-Identifier: Apache-2.0
// The threads of a program over sections: they begin together, and their sections are counted.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "sections/plain.h"
#include "support.h"

namespace workloads::sections {

struct TeamOptions {
  unsigned threads = 1;
  std::uint64_t seed = 1;
  bool no_pin = false;
};

/// Waits for all threads of a team.
class TeamBarrier {
 public:
  explicit TeamBarrier(unsigned threads) { pthread_barrier_init(&barrier_, nullptr, threads); }
  ~TeamBarrier() { pthread_barrier_destroy(&barrier_); }
  TeamBarrier(const TeamBarrier&) = delete;
  TeamBarrier& operator=(const TeamBarrier&) = delete;
  void wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

/// Runs `work(thread of the back end, index, barrier)` on as many threads as asked, which begin together.
/// Prints "sections:", "seconds:" and "throughput:" as the other workloads do, and "aborts:" if the back end
/// counts them. `Sections`: the back end.
template <class Sections, class Work>
void run_team(Sections& shared, const TeamOptions& options, Work work) {
  struct alignas(128) Result {
    Counts counts;
    std::uint64_t begin_ns = 0, end_ns = 0;
  };
  std::vector<Result> results(options.threads);
  TeamBarrier barrier(options.threads);
  std::vector<std::thread> threads;
  for (unsigned index = 0; index < options.threads; ++index) {
    threads.emplace_back([&, index] {
      if (!options.no_pin) pin_to(index);
      typename Sections::Thread thread(shared);
      barrier.wait();
      const std::uint64_t begin_ns = now_ns();
      work(thread, index, barrier);
      results[index] = {thread.counts, begin_ns, now_ns()};
      barrier.wait();  // what a back end keeps for its threads may be read by others until then
    });
  }
  for (std::thread& thread : threads) thread.join();
  Counts sum;
  std::uint64_t begin_ns = results[0].begin_ns, end_ns = 0;
  for (const Result& result : results) {
    sum += result.counts;
    begin_ns = std::min(begin_ns, result.begin_ns);
    end_ns = std::max(end_ns, result.end_ns);
  }
  const double seconds = static_cast<double>(end_ns - begin_ns) / 1e9;
  std::printf("sections: %" PRIu64 "\nseconds: %.6f\nthroughput: %.1f sections/s\n", sum.commits, seconds,
              static_cast<double>(sum.commits) / seconds);
  if (Sections::kCountsAborts) std::printf("aborts: %" PRIu64 "\n", sum.aborts);
}

}  // namespace workloads::sections
