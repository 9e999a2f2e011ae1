// SPDX-License-Identifier: Apache-2.0
// Two pinned threads, each so many transactions of one access to the same line, free running: what share
// of each one's transactions abort, for reads and writes (the probe "conflict-matrix").
#include <thread>

#include "probe.h"

namespace {

enum class Access { kRead, kWrite };

struct alignas(128) Line {
  volatile std::uint64_t word = 0;
};

Line line;
pthread_barrier_t barrier;

double abort_percent(Access access, unsigned cpu, std::uint64_t transactions) {
  probe::pin_to(cpu);
  std::uint64_t aborts = 0;
  pthread_barrier_wait(&barrier);
  for (std::uint64_t i = 0; i < transactions; ++i) {
    if (elision::htm::Rtm::begin().started()) {
      if (access == Access::kRead) {
        (void)line.word;
      } else {
        line.word = i;
      }
      elision::htm::Rtm::commit();
    } else {
      ++aborts;
    }
  }
  return 100.0 * static_cast<double>(aborts) / static_cast<double>(transactions);
}

void run(const char* name, Access first, Access second, std::uint64_t transactions) {
  pthread_barrier_init(&barrier, nullptr, 2);
  double percents[2];
  std::thread one([&] { percents[0] = abort_percent(first, 0, transactions); });
  std::thread two([&] { percents[1] = abort_percent(second, 1, transactions); });
  one.join();
  two.join();
  pthread_barrier_destroy(&barrier);
  std::printf("%s_abort_percent: %.2f %.2f\n", name, percents[0], percents[1]);
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
