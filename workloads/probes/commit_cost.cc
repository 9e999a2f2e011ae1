// SPDX-License-Identifier: Apache-2.0
// The cost of a commit with stores in the transaction (the probe "commit-cost"): commit_cost [ROUNDS].
//
// Ticks from before XBEGIN to after XEND, with 0 to 32 stores to separate lines that are in L1 or were
// flushed from all caches. For comparison, the same stores without a transaction, followed by MFENCE, which
// waits for them. If a store costs more in a transaction, commit work grows with the write set. If a
// transaction with misses takes as long as one miss, stores overlap and XEND waits for the last one.
#include "experiment.h"

namespace {

using elision::htm::Rtm;

constexpr std::size_t kMost = 32;
constexpr std::size_t kApart =
    5 * probe::kLineBytes;  // no two in a pair of adjacent lines, spread over the sets of L1

template <bool kTransaction>
std::uint64_t time_stores(unsigned char* lines, std::size_t count) {
  const std::uint64_t before = probe::ticks();
  if constexpr (kTransaction) {
    if (!Rtm::begin().started()) return 0;
  }
  for (std::size_t i = 0; i < count; ++i) probe::store(lines + i * kApart, before);
  if constexpr (kTransaction) {
    Rtm::commit();
  } else {
    probe::fence();
  }
  return probe::ticks() - before;
}

template <bool kTransaction>
void run(unsigned char* lines, std::size_t count, bool misses, std::uint64_t rounds) {
  std::vector<std::uint64_t> spent;
  spent.reserve(rounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      probe::store(lines + i * kApart, round);
      if (misses) probe::evict(lines + i * kApart);
    }
    probe::fence();
    if (const std::uint64_t each = time_stores<kTransaction>(lines, count); each != 0) spent.push_back(each);
  }
  char name[64];
  std::snprintf(name, sizeof name, "%s_%s_%zu", kTransaction ? "transaction" : "plain",
                misses ? "missing" : "in_l1", count);
  probe::print_quantiles(name, spent);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = probe::count_argument(argc, argv, 20000);
  probe::require_rtm();
  probe::pin_to(0);
  unsigned char* lines = probe::touched_memory(kMost * kApart);
  std::printf("clock_ticks: %" PRIu64 "\n", probe::clock_ticks());
  for (const bool misses : {false, true}) {
    for (const std::size_t count : {0, 1, 2, 8, 32}) {
      if (misses && count == 0) continue;
      run<true>(lines, count, misses, rounds);
      run<false>(lines, count, misses, rounds);
    }
  }
  return 0;
}
