// SPDX-License-Identifier: Apache-2.0
// Threads that begin together, and the time from the first one's beginning to the last one's end.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

#include "support.h"

namespace workloads {

/// A part of the indices: the first one, and the end.
struct Share {
  std::size_t begin, end;
};

/// The share of thread `index` of `count` things.
inline Share share_of(std::size_t count, unsigned index, unsigned threads) {
  return {count * index / threads, count * (index + 1) / threads};
}

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

/// Runs `threads` threads. Each calls `prepare(index)`, waits for the others, and calls
/// `work(index, prepared, barrier)` with what that returned, which lives until all have ended their work.
/// With `pin`, each is bound to a CPU. Returns the nanoseconds of the work. If a thread cannot be started,
/// the program ends with one line and exit code 2: the others would wait for it for ever.
template <class Prepare, class Work>
std::uint64_t run_team(unsigned threads, bool pin, Prepare prepare, Work work) {
  struct alignas(128) Span {
    std::uint64_t begin_ns, end_ns;
  };
  std::vector<Span> spans(threads);
  TeamBarrier barrier(threads);
  const auto run = [&](unsigned index) {
    if (pin) pin_to(index);
    auto prepared = prepare(index);
    barrier.wait();
    const std::uint64_t begin_ns = now_ns();
    work(index, prepared, barrier);
    spans[index] = {begin_ns, now_ns()};
    barrier.wait();
  };
  std::vector<std::thread> team;
  for (unsigned index = 0; index < threads; ++index) {
    try {
      team.emplace_back(run, index);
    } catch (const std::system_error& error) {
      std::fprintf(stderr, "cannot start thread %u of %u: %s\n", index + 1, threads, error.what());
      std::_Exit(2);
    }
  }
  for (std::thread& thread : team) thread.join();
  Span whole = spans.front();
  for (const Span& span : spans) {
    whole.begin_ns = std::min(whole.begin_ns, span.begin_ns);
    whole.end_ns = std::max(whole.end_ns, span.end_ns);
  }
  return whole.end_ns - whole.begin_ns;
}

}  // namespace workloads
