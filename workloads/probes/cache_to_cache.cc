// SPDX-License-Identifier: Apache-2.0
// Loads of a line that is dirty in another core's cache (the probe "cache-to-cache"). One thread writes a
// line and signals that in a second line; the other thread loads the line and answers. Only that load is
// timed, in ticks of the time-stamp counter. Prints the median.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "probe.h"

namespace {

struct alignas(128) Line {
  std::atomic<std::uint64_t> word{0};
};

Line data, turn;

void write_each_round(std::uint64_t rounds) {
  probe::pin_to(1);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    while (turn.word.load(std::memory_order_acquire) != 2 * i) asm volatile("pause");
    data.word.store(i, std::memory_order_relaxed);
    turn.word.store(2 * i + 1, std::memory_order_release);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = probe::count_argument(argc, argv, 20000);
  probe::require_cpus(2);
  std::thread writer(write_each_round, rounds);  // before this thread is pinned, since it would inherit that
  probe::pin_to(0);
  std::vector<std::uint64_t> spent;
  spent.reserve(rounds);
  const std::uint64_t before = probe::ticks();
  const std::uint64_t reading = probe::ticks() - before;  // the cost of reading the clock twice
  for (std::uint64_t i = 0; i < rounds; ++i) {
    while (turn.word.load(std::memory_order_acquire) != 2 * i + 1) asm volatile("pause");
    const std::uint64_t start = probe::ticks();
    (void)data.word.load(std::memory_order_relaxed);
    const std::uint64_t ticks = probe::ticks() - start;
    spent.push_back(ticks > reading ? ticks - reading : 0);
    turn.word.store(2 * i + 2, std::memory_order_release);
  }
  writer.join();
  std::nth_element(spent.begin(), spent.begin() + static_cast<std::ptrdiff_t>(rounds / 2), spent.end());
  probe::print("dirty_line_ticks", static_cast<double>(spent[rounds / 2]));
  return 0;
}
