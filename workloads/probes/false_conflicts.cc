// SPDX-License-Identifier: Apache-2.0
// Conflicts on lines that only one CPU accesses or writes (the probe "false-conflicts"): false_conflicts
// [TRANSACTIONS].
//
// First: a transaction writes one line of an aligned pair, while the other CPU loads the other line now and
// then, which it does not have. If the core fetches pairs and such a prefetch takes lines from others, the
// transaction aborts. Second: a transaction reads more lines than L1 holds, while the other CPU stores to
// lines that no cache has. A filter that stands for the lines that left L1 takes some of those stores for
// conflicts; the smaller it is, the more. Third: a transaction reads a line, and the other CPU loads the same
// line. Where a load takes a modified line from the core that has it, the transaction aborts if its core had
// modified the line before ("modified"), and commits if both had loaded it ("unmodified"). Prints the
// percentage of attempts that abort by conflict, and for the second case also with the other CPU idle, as a
// check.
#include <atomic>
#include <thread>

#include "experiment.h"

namespace {

using elision::htm::Rtm;
using elision::htm::Status;

constexpr std::size_t kReadBytes = 128 << 10;             // more than any L1D, less than any L2
constexpr std::size_t kStoredBytes = 256 << 20;           // more than the other CPU gets to
constexpr std::uint64_t kPairGap = 300, kFilterGap = 50;  // multiplications from access to access

struct alignas(128) Pair {
  std::uint64_t words[16] = {};
  unsigned char* second() { return reinterpret_cast<unsigned char*>(&words[8]); }
};

Pair pair;
unsigned char *reads, *stored;
std::atomic<bool> stop, started;

/// Calls `access` again and again, after gaps of random length from `gap` to twice that, until told to stop.
template <class Access>
void disturb(std::uint64_t gap, Access access) {
  probe::pin_to(1);
  elision::Random random(7);
  started = true;
  while (!stop.load(std::memory_order_relaxed)) {
    probe::work(gap + random.below(gap));
    access();
  }
}

/// The percentage of attempts of `transaction` that a conflict aborts while the other CPU calls `access`.
template <class Transaction, class Access>
double conflict_percent(std::uint64_t attempts, Transaction transaction, std::uint64_t gap, Access access) {
  stop = started = false;
  std::thread other([&] { disturb(gap, access); });
  while (!started.load()) sched_yield();
  std::uint64_t conflicts = 0;
  for (std::uint64_t i = 0; i < attempts; ++i) conflicts += transaction();
  stop = true;
  other.join();
  return 100 * static_cast<double>(conflicts) / static_cast<double>(attempts);
}

/// True if a conflict aborts it.
bool write_one_of_a_pair() {
  probe::store(pair.words, 1);  // the other CPU has to fetch that line again
  const Status status = Rtm::begin();
  if (!status.started()) return status.is_conflict();
  probe::store(pair.second(), 2);
  probe::work(400);
  Rtm::commit();
  return false;
}

/// `modifies`: the line, before the transaction begins.
bool read_one_line(bool modifies) {
  if (modifies) probe::store(pair.words, 1);
  probe::fence();
  const Status status = Rtm::begin();
  if (!status.started()) return status.is_conflict();
  (void)probe::load(pair.words);
  probe::work(400);
  Rtm::commit();
  return false;
}

/// Not inlined, so that nothing else accesses memory between begin and commit.
[[gnu::noinline]] bool read_more_than_l1() {
  const Status status = Rtm::begin();
  if (!status.started()) return status.is_conflict();
  for (std::size_t i = 0; i < kReadBytes; i += probe::kLineBytes) (void)probe::load(reads + i);
  Rtm::commit();
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t transactions = probe::count_argument(argc, argv, 2000);
  probe::require_rtm();
  probe::require_cpus(2);
  probe::pin_to(0);
  reads = probe::touched_memory(kReadBytes);
  stored = probe::touched_memory(kStoredBytes);
  probe::print("neighbour_conflict_percent", conflict_percent(5 * transactions, write_one_of_a_pair, kPairGap,
                                                              [] { (void)probe::load(pair.words); }));
  probe::print("idle_conflict_percent", conflict_percent(transactions, read_more_than_l1, kFilterGap, [] {}));
  const auto store_somewhere = [place = std::uint64_t{0}]() mutable {
    // Lines far apart: no prefetcher has fetched the next one.
    place = (place + 67 * probe::kLineBytes) % kStoredBytes;
    probe::store(stored + place, 1);
  };
  probe::print("filter_conflict_percent",
               conflict_percent(transactions, read_more_than_l1, kFilterGap, store_somewhere));
  for (const bool modifies : {true, false})
    probe::print(modifies ? "modified_conflict_percent" : "unmodified_conflict_percent",
                 conflict_percent(
                     5 * transactions, [modifies] { return read_one_line(modifies); }, kPairGap,
                     [] { (void)probe::load(pair.words); }));
  return 0;
}
