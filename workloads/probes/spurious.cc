// SPDX-License-Identifier: Apache-2.0
// One pinned thread, a million read-only transactions of one line: how many abort although nothing
// conflicts (the probe "spurious").
#include "probe.h"

namespace {
alignas(128) volatile std::uint64_t word = 0;
}

int main(int argc, char** argv) {
  const std::uint64_t transactions = probe::count_argument(argc, argv, 1000000);
  probe::require_rtm();
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
  return 0;
}
