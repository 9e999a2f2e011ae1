// SPDX-License-Identifier: Apache-2.0
// The begin, the commit and the abort of a transaction one by one (the probe "transaction-parts"):
// transaction_parts [TRANSACTIONS].
//
// The clock is read before XBEGIN, within the transaction and after XEND. A fenced reading keeps each part
// from running beside the next, as they may in an ordinary transaction. The abort is XBEGIN and XABORT less
// the begin. Prints means without outliers, less the clock's cost, and for begin and abort together the
// distance from the 10th to the 90th percentile in percent of the median: how much these costs vary.
#include "experiment.h"

int main(int argc, char** argv) {
  using elision::htm::Rtm;
  const std::uint64_t transactions = probe::count_argument(argc, argv, 20000);
  probe::require_rtm();
  probe::pin_to(0);
  std::vector<std::uint64_t> begins, commits, aborts;
  for (auto* each : {&begins, &commits, &aborts}) each->reserve(transactions);
  for (std::uint64_t i = 0; i < transactions; ++i) {
    probe::fence();  // XEND waits for earlier stores
    const std::uint64_t before = probe::ticks();
    if (!Rtm::begin().started()) continue;
    const std::uint64_t inside = probe::ticks();
    Rtm::commit();
    const std::uint64_t after = probe::ticks();
    begins.push_back(inside - before);
    commits.push_back(after - inside);
  }
  for (std::uint64_t i = 0; i < transactions; ++i) {
    probe::fence();
    const std::uint64_t before = probe::ticks();
    if (Rtm::begin().started()) (void)Rtm::abort<1>();
    aborts.push_back(probe::ticks() - before);
  }
  if (begins.empty()) {
    std::puts("skipped: no transaction with a reading of the clock committed");
    return probe::kSkipped;
  }
  const double clock = probe::clock_mean(), begin = probe::trimmed_mean(begins) - clock;
  probe::print("begin_ticks", begin);
  probe::print("commit_ticks", probe::trimmed_mean(commits) - clock);
  probe::print("abort_ticks", probe::trimmed_mean(aborts) - clock - begin);
  probe::print("abort_spread_percent", probe::spread_percent(aborts, clock));
  return 0;
}
