// SPDX-License-Identifier: Apache-2.0
// The state of lines that an aborted transaction has read or written (the probe "aborted-lines"):
// aborted_lines [ROUNDS].
//
// Ticks of one access to one of the lines right after the abort: a load, or a store and MFENCE, which also
// needs the line's ownership. For comparison, the same accesses to a line in L1, in L2, in no cache. Each
// round accesses one line, a different one each time, so that no prefetcher helps. The transaction accesses
// `kTouched` lines and ends by XABORT. Rounds with another abort are left out.
#include "experiment.h"

namespace {

using elision::htm::Rtm;
using elision::htm::Status;

constexpr std::uint8_t kAbortCode = 1;
constexpr std::size_t kTouched = 16;
constexpr std::size_t kApart = 5 * probe::kLineBytes;
constexpr std::size_t kPushing =
    256 << 10;  // bytes: more than any L1D, less than the L2 of servers since Skylake

enum class Before { kInL1, kInL2, kFlushed, kRead, kWritten, kReadFromL2, kWrittenFromL2 };
struct Kind {
  const char* name;
  Before before;
};

unsigned char *lines, *pushing;

unsigned char* line(std::size_t index) { return lines + index * kApart; }

/// Brings every line into L1, owned, outside of transactions.
void touch_all() {
  for (std::size_t i = 0; i < kTouched; ++i) probe::store(line(i), i);
  probe::fence();
}

void push_out_of_l1() {
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < kPushing; i += probe::kLineBytes) (void)probe::load(pushing + i);
  }
  probe::fence();
}

/// False if the transaction aborted for another reason.
template <bool kWrites>
bool abort_after_touching() {
  const Status status = Rtm::begin();
  if (!status.started()) return status.has_code(kAbortCode);
  for (std::size_t i = 0; i < kTouched; ++i) {
    if constexpr (kWrites) {
      probe::store(line(i), i);
    } else {
      (void)probe::load(line(i));
    }
  }
  (void)Rtm::abort<kAbortCode>();
  return false;
}

bool prepare(Before before, std::size_t index) {
  touch_all();
  if (before == Before::kInL2 || before == Before::kReadFromL2 || before == Before::kWrittenFromL2)
    push_out_of_l1();
  switch (before) {
    case Before::kInL1:
    case Before::kInL2:
      return true;
    case Before::kFlushed:
      probe::evict(line(index));
      return probe::fence(), true;
    case Before::kRead:
    case Before::kReadFromL2:
      return abort_after_touching<false>();
    case Before::kWritten:
    case Before::kWrittenFromL2:
      return abort_after_touching<true>();
  }
  return false;
}

template <bool kStores>
void run(const Kind& kind, std::uint64_t rounds) {
  std::vector<std::uint64_t> spent;
  spent.reserve(rounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::size_t index = round * 7 % kTouched;
    if (!prepare(kind.before, index)) continue;
    const std::uint64_t before = probe::ticks();
    if constexpr (kStores) {
      probe::store(line(index), round);
      probe::fence();
    } else {
      (void)probe::load(line(index));
    }
    spent.push_back(probe::ticks() - before);
  }
  char name[64];
  std::snprintf(name, sizeof name, "%s_%s", kStores ? "store" : "load", kind.name);
  probe::print_quantiles(name, spent);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = probe::count_argument(argc, argv, 2000);
  probe::require_rtm();
  probe::pin_to(0);
  lines = probe::touched_memory(kTouched * kApart);
  pushing = probe::touched_memory(kPushing);
  std::printf("clock_ticks: %" PRIu64 "\n", probe::clock_ticks());
  for (const Kind& kind :
       {Kind{"l1", Before::kInL1}, Kind{"l2", Before::kInL2}, Kind{"flushed", Before::kFlushed},
        Kind{"read", Before::kRead}, Kind{"written", Before::kWritten},
        Kind{"read_from_l2", Before::kReadFromL2}, Kind{"written_from_l2", Before::kWrittenFromL2}}) {
    run<false>(kind, rounds);
    run<true>(kind, rounds);
  }
  return 0;
}
