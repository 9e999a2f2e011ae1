// SPDX-License-Identifier: Apache-2.0
// Aborts without a conflict in a million read-only transactions of one line by one pinned thread (the probe
// "spurious"): spurious [TRANSACTIONS [THRASHERS]].
//
// Thrashers store to every few lines of 8 MB. As in the program of the published figures, they are pinned to
// the first four CPUs, so the first one shares its CPU with the transactions.
#include <thread>
#include <vector>

#include "probe.h"

namespace {

alignas(128) volatile std::uint64_t word = 0;

constexpr std::size_t kThrashedWords = (8u << 20) / sizeof(std::uint64_t);
alignas(4096) volatile std::uint64_t thrashed[kThrashedWords];

[[noreturn]] void thrash(unsigned id) {
  probe::pin_to(id % 4);
  const std::size_t stride = (id + 1) * 1024;
  for (;;) {
    for (std::size_t i = 0; i < kThrashedWords; i += stride) thrashed[i] = i;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t transactions = probe::count_argument(argc, argv, 1000000);
  const std::uint64_t thrashers = probe::count_argument(argc, argv, 0, 2);
  probe::require_rtm();
  probe::require_cpus(thrashers == 0 ? 1 : 4);
  for (unsigned id = 0; id < thrashers; ++id) std::thread(thrash, id).detach();
  probe::pin_to(0);
  std::uint64_t aborts = 0;
  for (std::uint64_t i = 0; i < transactions; ++i) {
    if (elision::htm::Rtm::begin().started()) {
      (void)word;
      elision::htm::Rtm::commit();
    } else {
      ++aborts;
    }
  }
  probe::print("aborts_per_million", 1e6 * static_cast<double>(aborts) / static_cast<double>(transactions));
  std::fflush(stdout);
  std::_Exit(0);  // the thrashers never end
}
