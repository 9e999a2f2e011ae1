// SPDX-License-Identifier: Apache-2.0
// Cycles of XBEGIN with XEND, and of XBEGIN with XABORT, by the time-stamp counter (the probes
// "empty-transaction" and "abort-cost").
#include "probe.h"

int main(int argc, char** argv) {
  using elision::htm::Rtm;
  const std::uint64_t count = probe::count_argument(argc, argv, 1000000);
  probe::require_rtm();
  probe::pin_to(0);
  const std::uint64_t before_commits = probe::ticks();
  for (std::uint64_t i = 0; i < count; ++i) {
    if (Rtm::begin().started()) Rtm::commit();
  }
  const std::uint64_t before_aborts = probe::ticks();
  for (std::uint64_t i = 0; i < count; ++i) {
    if (Rtm::begin().started()) (void)Rtm::abort<1>();
  }
  const std::uint64_t end = probe::ticks();
  probe::print("commit_cycles",
               static_cast<double>(before_aborts - before_commits) / static_cast<double>(count));
  probe::print("abort_cycles", static_cast<double>(end - before_aborts) / static_cast<double>(count));
  return 0;
}
