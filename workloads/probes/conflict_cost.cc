// SPDX-License-Identifier: Apache-2.0
// The time from another CPU's store to the abort of a transaction (the probe "conflict-cost"): conflict_cost
// [ROUNDS].
//
// A transaction reads a line, writes 0, 8 or 32 others, and spins. The other CPU reads the clock and stores
// to that line. The aborted thread reads the clock when it is back after XBEGIN. The difference to a plain
// loop that waits for the line to change is the cost of the abort. The time-stamp counters of both CPUs must
// agree, which Linux checks (constant_tsc, tsc_adjust); negative differences are dropped and counted. With
// "missing", there is always a load from a large array in progress, which misses the near caches.
#include <atomic>
#include <thread>

#include "experiment.h"

namespace {

using elision::htm::Rtm;
using elision::htm::Status;

constexpr std::size_t kMost = 32;
constexpr std::size_t kApart = 5 * probe::kLineBytes;
constexpr std::uint64_t kLargeBytes = 16 << 20;

struct alignas(128) Word {
  std::atomic<std::uint64_t> value{0};
};

Word target, turn, stored_at;
unsigned char* large;

/// Round i: waits for turn 2i + 1, waits until the other thread is well inside its loop, stores, and
/// publishes the time.
void store_each_round(std::uint64_t rounds) {
  probe::pin_to(1);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    while (turn.value.load(std::memory_order_acquire) != 2 * i + 1) {
    }
    probe::work(300);
    const std::uint64_t before = probe::ticks();
    target.value.store(i + 1, std::memory_order_release);
    stored_at.value.store(before, std::memory_order_relaxed);
    turn.value.store(2 * i + 2, std::memory_order_release);
  }
}

std::uint64_t found_at(std::uint64_t state) {
  return probe::load(large +
                     (((state >> 32) * (kLargeBytes / probe::kLineBytes)) >> 32) * probe::kLineBytes) &
         0;
}

[[noreturn]] void spin_until_aborted(unsigned char* lines, std::size_t written, bool missing) {
  for (std::size_t i = 0; i < written; ++i) probe::store(lines + i * kApart, 1);
  (void)target.value.load(std::memory_order_relaxed);
  // Each address depends on the load before, whose value is always 0.
  std::uint64_t state = written;
  for (;;) {
    if (missing) state = (state + found_at(state)) * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : : : "memory");
  }
}

struct Kind {
  const char* name;
  bool transaction;
  std::size_t written;
  bool missing;
};

void run(const Kind& kind, unsigned char* lines, std::uint64_t rounds) {
  turn.value = 0;
  target.value = 0;
  std::thread other(store_each_round, rounds);
  std::vector<std::uint64_t> spent;
  spent.reserve(rounds);
  std::uint64_t dropped = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    for (std::size_t each = 0; each < kind.written; ++each) probe::store(lines + each * kApart, i);
    probe::fence();
    turn.value.store(2 * i + 1, std::memory_order_release);
    bool by_conflict = !kind.transaction;
    if (kind.transaction) {
      const Status status = Rtm::begin();
      if (status.started()) spin_until_aborted(lines, kind.written, kind.missing);
      by_conflict = status.is_conflict();
    } else {
      while (target.value.load(std::memory_order_relaxed) != i + 1) {
      }
    }
    const std::uint64_t back = probe::ticks();
    while (turn.value.load(std::memory_order_acquire) != 2 * i + 2) {
    }
    const std::uint64_t before = stored_at.value.load(std::memory_order_relaxed);
    if (by_conflict && back > before) {
      spent.push_back(back - before);
    } else {
      ++dropped;
    }
  }
  other.join();
  probe::print_quantiles(kind.name, spent);
  std::printf("%s_dropped: %" PRIu64 "\n", kind.name, dropped);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = probe::count_argument(argc, argv, 20000);
  probe::require_rtm();
  probe::require_cpus(2);
  probe::pin_to(0);
  unsigned char* lines = probe::touched_memory(kMost * kApart);
  large = probe::touched_memory(kLargeBytes);
  for (std::uint64_t i = 0; i < kLargeBytes; i += probe::kLineBytes) probe::store(large + i, 0);
  std::printf("clock_ticks: %" PRIu64 "\n", probe::clock_ticks());
  for (const Kind& kind :
       {Kind{"warm_up", false, 0, false}, Kind{"plain", false, 0, false}, Kind{"aborted", true, 0, false},
        Kind{"aborted_written_8", true, 8, false}, Kind{"aborted_written_32", true, 32, false},
        Kind{"aborted_missing", true, 0, true}}) {
    run(kind, lines, rounds);
  }
  return 0;
}
