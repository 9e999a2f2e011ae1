// SPDX-License-Identifier: Apache-2.0
// Two pinned threads run a number of transactions with one access to the same line each. Measures the share
// of each thread's transactions that abort, for reads and writes (the probe "conflict-matrix").
//
// The program of the published figures counts by atomic additions to six counters of both threads, which
// gcc 12.2 puts on one line. So the threads contend for that line after each transaction, which affects how
// their phases drift. This probe does the same.
#include <atomic>
#include <thread>

#include "probe.h"

namespace {

enum class Access { kRead, kWrite };

struct alignas(128) Line {
  volatile std::uint64_t word = 0;
};

struct alignas(128) Counters {
  std::atomic<std::uint64_t> commits[2], aborts[2], conflicts[2];
};
static_assert(sizeof(Counters::commits) + sizeof(Counters::aborts) + sizeof(Counters::conflicts) <= 64);

Line line;
Counters counters;
pthread_barrier_t barrier;

void count_transactions(Access access, unsigned thread, std::uint64_t transactions) {
  probe::pin_to(thread);
  pthread_barrier_wait(&barrier);
  for (std::uint64_t i = 0; i < transactions; ++i) {
    const elision::htm::Status status = elision::htm::Rtm::begin();
    if (!status.started()) {
      counters.aborts[thread].fetch_add(1);
      if ((status.raw & elision::htm::Status::kConflictBit) != 0) counters.conflicts[thread].fetch_add(1);
      continue;
    }
    if (access == Access::kRead) {
      (void)line.word;
    } else {
      line.word = i;
    }
    elision::htm::Rtm::commit();
    counters.commits[thread].fetch_add(1);
  }
}

double abort_percent(unsigned thread) {
  const double aborts = static_cast<double>(counters.aborts[thread]);
  return 100.0 * aborts / (aborts + static_cast<double>(counters.commits[thread]));
}

void run(const char* name, Access first, Access second, std::uint64_t transactions) {
  for (unsigned thread = 0; thread < 2; ++thread) {
    counters.commits[thread] = counters.aborts[thread] = counters.conflicts[thread] = 0;
  }
  pthread_barrier_init(&barrier, nullptr, 2);
  std::thread one([&] { count_transactions(first, 0, transactions); });
  std::thread two([&] { count_transactions(second, 1, transactions); });
  one.join();
  two.join();
  pthread_barrier_destroy(&barrier);
  std::printf("%s_abort_percent: %.2f %.2f\n", name, abort_percent(0), abort_percent(1));
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t transactions = probe::count_argument(argc, argv, 200000);
  probe::require_rtm();
  probe::require_cpus(2);
  // A warm-up round: pages, predictors, clocks.
  run("warm_up", Access::kRead, Access::kRead, transactions / 10 + 1);
  run("read_read", Access::kRead, Access::kRead, transactions);
  run("read_write", Access::kRead, Access::kWrite, transactions);
  run("write_read", Access::kWrite, Access::kRead, transactions);
  run("write_write", Access::kWrite, Access::kWrite, transactions);
  return 0;
}
