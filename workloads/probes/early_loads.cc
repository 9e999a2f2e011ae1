// SPDX-License-Identifier: Apache-2.0
// Whether loads run early across XBEGIN, XEND and atomics (the probe "early-loads"): early_loads [ROUNDS].
//
// Two accesses to lines that were flushed from all caches, one on each side of XBEGIN or XEND. If both misses
// together take as long as one, the second began before the first was done. If they take as long as two, it
// waited. The controls are two loads with LFENCE between them, which wait, and two plain loads, which do not.
#include "experiment.h"

namespace {

using elision::htm::Rtm;

unsigned char *first, *second;

void lfence() { asm volatile("lfence" : : : "memory"); }

/// Ticks of `body` with both lines flushed. If `body` returns false, the round is left out.
template <class Body>
void run(const char* name, std::uint64_t rounds, Body body) {
  std::vector<std::uint64_t> spent;
  spent.reserve(rounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    probe::evict(first);
    probe::evict(second);
    probe::fence();
    const std::uint64_t before = probe::ticks();
    if (body()) spent.push_back(probe::ticks() - before);
  }
  probe::print_quantiles(name, spent);
}

template <bool kFence>
bool atomic_then_transaction() {
  probe::locked_add(first);
  if constexpr (kFence) lfence();
  if (!Rtm::begin().started()) return false;
  (void)probe::load(second);
  Rtm::commit();
  return true;
}

/// A load of the second line after a transaction that loads (or stores to) the first one.
template <bool kStores, bool kFence>
bool transaction_then_load() {
  if (!Rtm::begin().started()) return false;
  if constexpr (kStores) {
    probe::store(first, 1);
  } else {
    (void)probe::load(first);
  }
  Rtm::commit();
  if constexpr (kFence) lfence();
  (void)probe::load(second);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = probe::count_argument(argc, argv, 20000);
  probe::require_rtm();
  probe::pin_to(0);
  unsigned char* memory = probe::touched_memory(1 << 20);
  first = memory + 4096 + 256;
  second = memory + (512 << 10) + 1024;
  std::printf("clock_ticks: %" PRIu64 "\n", probe::clock_ticks());
  run("one_load", rounds, [] { return probe::load(first), true; });
  run("two_loads", rounds, [] { return probe::load(first), probe::load(second), true; });
  run("two_loads_fenced", rounds, [] { return probe::load(first), lfence(), probe::load(second), true; });
  run("one_atomic", rounds, [] { return probe::locked_add(first), true; });
  run("atomic_load", rounds, [] { return probe::locked_add(first), probe::load(second), true; });
  run("two_atomics", rounds, [] { return probe::locked_add(first), probe::locked_add(second), true; });
  run("atomic_begin_load", rounds, atomic_then_transaction<false>);
  run("atomic_fence_begin_load", rounds, atomic_then_transaction<true>);
  run("load_commit_load", rounds, transaction_then_load<false, false>);
  run("load_commit_fence_load", rounds, transaction_then_load<false, true>);
  run("store_commit_load", rounds, transaction_then_load<true, false>);
  run("store_commit_fence_load", rounds, transaction_then_load<true, true>);
  return 0;
}
