// SPDX-License-Identifier: Apache-2.0
#include "profile/transaction_paths.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace elision::profile {
namespace {

constexpr std::uint64_t kFallback = 0x99;

PerfBranch call(std::uint64_t from) { return {from, from + 0x1000, true, false, PERF_BR_CALL}; }
PerfBranch call_by_pointer(std::uint64_t from) {
  return {from, from + 0x1000, true, false, PERF_BR_IND_CALL};
}
PerfBranch leave(std::uint64_t from) { return {from, from - 0x1000, true, false, PERF_BR_RET}; }
PerfBranch outside(PerfBranch branch) {
  branch.in_transaction = false;
  return branch;
}
PerfBranch abort_at(std::uint64_t pc) { return {pc, kFallback, true, true, PERF_BR_UNKNOWN}; }

/// In the order in which they were executed, then the abort.
std::optional<TransactionPath> path_of(std::vector<PerfBranch> branches) {
  branches.push_back(abort_at(0x42));
  std::reverse(branches.begin(), branches.end());
  return path_in_transaction(branches, 0x42);
}

using Calls = std::vector<std::uint64_t>;

TEST(TransactionPaths, CallsThatHaveNotReturned) {
  const auto path =
      path_of({outside(call(1)), leave(0x2000), call(3), call(4), leave(0x3000), call_by_pointer(5)});
  ASSERT_TRUE(path);
  EXPECT_EQ(path->calls, (Calls{5, 3})) << "innermost first";
  EXPECT_TRUE(path->is_whole);
}

TEST(TransactionPaths, NoCallsAtAll) {
  const auto path = path_of({outside(call(1)), leave(0x2000)});
  ASSERT_TRUE(path);
  EXPECT_EQ(path->calls, Calls{});
  EXPECT_TRUE(path->is_whole);
}

TEST(TransactionPaths, BeginIsNoLongerInTheRecords) {
  const auto path = path_of({leave(0x2000), call(3), call(4)});
  ASSERT_TRUE(path);
  EXPECT_EQ(path->calls, (Calls{4, 3}));
  EXPECT_FALSE(path->is_whole);
}

TEST(TransactionPaths, AnOlderTransactionIsNotOfThePath) {
  PerfBranch older = abort_at(0x41);
  const auto path = path_of({call(1), older, call(3)});
  ASSERT_TRUE(path);
  EXPECT_EQ(path->calls, Calls{3});
  EXPECT_TRUE(path->is_whole);
}

TEST(TransactionPaths, JumpsDoNotMatter) {
  PerfBranch jump = call(7);
  jump.type = PERF_BR_COND;
  const auto path = path_of({outside(call(1)), call(3), jump});
  ASSERT_TRUE(path);
  EXPECT_EQ(path->calls, Calls{3});
}

TEST(TransactionPaths, CallsOfAnEarlierTryAreNotOfThePath) {
  const auto path = path_of({outside(call(1)), call(3), abort_at(0x42)});
  ASSERT_TRUE(path);
  EXPECT_EQ(path->calls, Calls{});
  EXPECT_TRUE(path->is_whole);
}

TEST(TransactionPaths, TheInterruptEndedTheNextTransactionToo) {
  const std::vector<PerfBranch> branches = {abort_at(0x50), call(5), abort_at(0x42), call(3),
                                            outside(call(1))};
  const auto path = path_in_transaction(branches, 0x42);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->calls, Calls{3});
}

TEST(TransactionPaths, AnAbortRecordedElsewhereIsTheNewestBranch) {
  const auto path = path_in_transaction({abort_at(0x42), call(3), outside(call(1))}, 0x40);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->calls, Calls{3});
  EXPECT_FALSE(path_in_transaction({call(5), abort_at(0x42), call(3)}, 0x40));
}

TEST(TransactionPaths, WithoutAbortOrTypesThereIsNone) {
  EXPECT_FALSE(path_in_transaction({}, 0x42));
  EXPECT_FALSE(path_in_transaction({call(3), outside(call(1))}, 0x42));
  PerfBranch untyped = call(3);
  untyped.type = PERF_BR_UNKNOWN;
  EXPECT_FALSE(path_of({untyped}));
}

}  // namespace
}  // namespace elision::profile
