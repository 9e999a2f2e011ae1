// SPDX-License-Identifier: Apache-2.0
// threads [ROUNDS [TRANSACTIONS]]: threads that come and go, and transactions in destructors of thread-
// local objects. Pairs of numbers move between accounts; totals are exact.
#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

constexpr long kThreads = 4;
constexpr long kAccounts = 32;
long accounts[kAccounts * 40];  // 320 bytes apart
constexpr long kStripes = 160, kTurns = 4;
long transactions_done, threads_done, written[kStripes][40];

struct AtEnd {
  bool used = false;
  ~AtEnd() {
    if (!used) return;
    __transaction_atomic { ++threads_done; }
  }
};
thread_local AtEnd at_end;

void work(int number, long transactions) {
  at_end.used = true;
  unsigned long state = static_cast<unsigned long>(number) * 77 + 1;
  const auto draw = [&](unsigned long below) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (state >> 33) % below;
  };
  for (long i = 0; i < transactions; ++i) {
    long* const from = &accounts[draw(kAccounts) * 40];
    long* const to = &accounts[draw(kAccounts) * 40];
    const bool is_long = draw(8) == 0, leaves = draw(16) == 0;
    __transaction_atomic {
      if (leaves) leave_hardware();
      *from -= 3;
      *to += 3;
      if (is_long) {
        for (long j = 0; j < kTurns; ++j)  // more stripes, one after the other, than a log of them holds
          for (auto& stripe : written) stripe[j] += 1;
      }
      if (number == 0) ++transactions_done;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 10, transactions = argc > 2 ? std::atol(argv[2]) : 400;
  for (long round = 0; round < rounds; ++round)
    tm_test::run_threads(kThreads, [&](int number) { work(number, transactions); });
  long sum = 0, unequal = 0;
  for (long i = 0; i < kAccounts; ++i) sum += accounts[i * 40];
  for (const auto& stripe : written)
    for (long j = 0; j < kTurns; ++j) unequal += stripe[j] != written[0][0] ? 1 : 0;
  expect("sum", sum, 0);
  expect("unequal", unequal, 0);
  expect("transactions", transactions_done, rounds * transactions);
  expect("threads", threads_done, rounds * kThreads);
}
