// SPDX-License-Identifier: Apache-2.0
// The cost of a line that the other CPU has, by its state (the probe "shared-lines"): shared_lines [ROUNDS].
//
// In each round the other CPU brings a fresh line into its cache. Then this CPU loads it: from a cache that
// has it modified ("dirty"), or exclusive and unmodified ("clean"). Or both CPUs load the line, and this one
// stores to it and waits by MFENCE until it has taken the line from the other one ("upgrade"). Or it
// increments a line that the other one has modified, and waits so ("increment"): where the load brings the
// line to read it only, that takes about a dirty load and an upgrade. Or it stores to such a line that it has
// loaded before ("store after load"): that is about an upgrade, or nothing where the load has taken the line.
// From these the cost of a store and MFENCE on a line that this CPU owns is subtracted. Each line has a page
// of its own, whose translation this CPU knows before it is timed. Lines are flushed before they are used, so
// that no cache has them from earlier; where CLFLUSH does nothing, they are lines that nobody has accessed,
// for up to 8192 rounds.
//
// Prints means without outliers in ticks, less the clock's cost, and for dirty lines the distance from the
// 10th to the 90th percentile in percent of the median: how much latencies vary.
#include <atomic>
#include <thread>

#include "experiment.h"

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 512;

struct alignas(128) Word {
  std::atomic<std::uint64_t> value{0};
};

Word turn;
unsigned char* memory;  // of one case

/// A line of round i, far from the first line of its page. Rounds use each page again, with another line.
unsigned char* line(std::uint64_t round) {
  const std::uint64_t page = round % kPages, use = round / kPages;
  return memory + page * kPage + kPage / 2 + use * 7 % 16 * 2 * probe::kLineBytes;
}

void await(std::uint64_t value) {
  while (turn.value.load(std::memory_order_acquire) != value) asm volatile("pause");
}

enum class Case { kDirty, kClean, kUpgrade, kIncrement, kStoreAfterLoad, kOwned };

/// The other CPU's part: flushes the line, then loads or stores to it.
void prepare_each_round(Case which, std::uint64_t rounds) {
  probe::pin_to(1);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    await(2 * i);
    unsigned char* const place = line(i);
    probe::evict(place);
    probe::fence();
    if (which == Case::kDirty || which == Case::kIncrement || which == Case::kStoreAfterLoad)
      probe::store(place, i);
    if (which == Case::kClean || which == Case::kUpgrade) (void)probe::load(place);
    probe::fence();
    turn.value.store(2 * i + 1, std::memory_order_release);
  }
}

std::uint64_t time_one(Case which, unsigned char* place) {
  if (which == Case::kUpgrade || which == Case::kStoreAfterLoad) (void)probe::load(place);
  if (which == Case::kOwned) probe::store(place, 1);
  probe::fence();
  const std::uint64_t before = probe::ticks();
  if (which == Case::kUpgrade || which == Case::kStoreAfterLoad || which == Case::kOwned) {
    probe::store(place, 2);
    probe::fence();
  } else if (which == Case::kIncrement) {
    probe::store(place, probe::load(place) + 1);
    probe::fence();
  } else {
    (void)probe::load(place);
  }
  return probe::ticks() - before;
}

std::vector<std::uint64_t> run(Case which, std::uint64_t rounds) {
  turn.value = 0;
  memory = probe::touched_memory(kPages * kPage);
  std::thread other(prepare_each_round, which, rounds);
  std::vector<std::uint64_t> spent;
  spent.reserve(rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    await(2 * i + 1);
    unsigned char* const place = line(i);
    (void)probe::load(place - (reinterpret_cast<std::uintptr_t>(place) % kPage));
    spent.push_back(time_one(which, place));
    turn.value.store(2 * i + 2, std::memory_order_release);
  }
  other.join();
  return spent;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = probe::count_argument(argc, argv, 5000);
  probe::require_cpus(2);
  probe::pin_to(0);
  const double clock = probe::clock_mean();
  std::vector<std::uint64_t> dirty = run(Case::kDirty, rounds), clean = run(Case::kClean, rounds),
                             upgrade = run(Case::kUpgrade, rounds), increment = run(Case::kIncrement, rounds),
                             after_load = run(Case::kStoreAfterLoad, rounds),
                             owned = run(Case::kOwned, rounds);
  probe::print("dirty_load_ticks", probe::trimmed_mean(dirty) - clock);
  probe::print("clean_load_ticks", probe::trimmed_mean(clean) - clock);
  probe::print("upgrade_ticks", probe::trimmed_mean(upgrade) - probe::trimmed_mean(owned));
  probe::print("increment_ticks", probe::trimmed_mean(increment) - probe::trimmed_mean(owned));
  probe::print("store_after_load_ticks", probe::trimmed_mean(after_load) - probe::trimmed_mean(owned));
  probe::print("dirty_load_spread_percent", probe::spread_percent(dirty, clock));
  return 0;
}
