// SPDX-License-Identifier: Apache-2.0
// The threads of an RMS-TM program: how they wait for each other, share their work, and end.
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rms/locks.h"
#include "spin_barrier.h"
#include "support.h"
#include "team.h"

namespace workloads::rms {

/// What a thread of the program knows.
struct Worker {
  unsigned index, threads;
  Sections& sections;
  SpinBarrier& barrier;

  bool is_first() const { return index == 0; }
  /// The thread's share of `count` things.
  Share share(std::size_t count) const { return share_of(count, index, threads); }
  /// All threads wait; the first one runs `body()` alone.
  template <class Body>
  void alone(Body body) {
    barrier.wait();
    if (is_first()) body();
    barrier.wait();
  }
};

/// Runs `work(worker)` in one thread, without locks.
template <class Work>
void run_alone(Work work) {
  Locks locks(Locking::kNone);
  SpinBarrier barrier(1);
  Sections sections(locks);
  Worker worker{0, 1, sections, barrier};
  work(worker);
}

/// Runs `work(worker)` in as many threads as asked, which begin together. Prints how many sections ran, and
/// the throughput: `number` of `what`.
template <class Work>
void run_together(const TeamOptions& options, const char* what, std::uint64_t number, Work work) {
  Locks locks(options.locking());
  SpinBarrier barrier(options.threads);
  std::vector<std::uint64_t> counts(options.threads);
  const std::uint64_t run_ns = run_team(
      options.threads, !options.no_pin, [&](unsigned) { return Sections(locks); },
      [&](unsigned index, Sections& sections, TeamBarrier&) {
        Worker worker{index, options.threads, sections, barrier};
        work(worker);
        counts[index] = sections.count();
      });
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) sum += count;
  std::printf("sections: %" PRIu64 "\n", sum);
  print_throughput(what, number, run_ns);
}

}  // namespace workloads::rms
