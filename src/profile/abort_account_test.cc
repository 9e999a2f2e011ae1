// SPDX-License-Identifier: Apache-2.0
#include "profile/abort_account.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>

#include "profile/perf_record_for_test.h"

namespace elision::profile {
namespace {

TEST(CauseOf, SaysWhatTheFlagsSay) {
  const auto code = [](std::uint64_t number) { return number << PERF_TXN_ABORT_SHIFT; };
  const struct {
    std::uint64_t flags;
    const char* cause;
  } cases[] = {
      {PERF_TXN_TRANSACTION | PERF_TXN_ASYNC | PERF_TXN_CONFLICT, "conflict"},
      {PERF_TXN_TRANSACTION | PERF_TXN_ASYNC | PERF_TXN_CAPACITY_WRITE, "capacity"},
      {PERF_TXN_TRANSACTION | PERF_TXN_CAPACITY_READ, "capacity"},
      {PERF_TXN_TRANSACTION | PERF_TXN_SYNC, "instruction"},
      {PERF_TXN_TRANSACTION | PERF_TXN_ASYNC, "interrupt"},
      {0, "unknown"},
      {PERF_TXN_TRANSACTION | PERF_TXN_SYNC | code(0x5a), "explicit"},
      {PERF_TXN_TRANSACTION | PERF_TXN_SYNC | code(0xff), "explicit"},
      {PERF_TXN_TRANSACTION | PERF_TXN_SYNC | code(0xfc), "lock-busy"},
      {PERF_TXN_TRANSACTION | PERF_TXN_SYNC | PERF_TXN_CONFLICT | code(0xfe), "lock-busy"},
  };
  for (const auto& c : cases) EXPECT_EQ(cause_of(c.flags), c.cause) << c.flags;
}

/// A program at 0x1000 and the lock library at 0x8000.
class AbortAccountTest : public testing::Test {
 protected:
  AbortAccountTest() {
    images_.add(mapping_record(1, 0x1000, 0x1000, 0, "/no/program"));
    images_.add(mapping_record(1, 0x8000, 0x1000, 0, "/no/libelision.so"));
  }

  void add(std::uint64_t ip, std::uint64_t flags, std::uint64_t weight, std::uint64_t period,
           std::vector<std::uint64_t> calls, std::vector<PerfBranch> branches = {}) {
    PerfSample sample;
    sample.ip = ip;
    sample.transaction = flags;
    sample.weight = weight;
    sample.period = period;
    sample.process = 1;
    sample.calls = std::move(calls);
    sample.branches = std::move(branches);
    sample.has_calls_and_returns = has_calls_and_returns_;
    account_.add(sample, images_, images_.number_of(1));
  }

  ProcessImages images_;
  AbortAccount account_;
  bool has_calls_and_returns_ = true;
};

constexpr std::uint64_t kConflict = PERF_TXN_TRANSACTION | PERF_TXN_CONFLICT;

TEST_F(AbortAccountTest, CallsInTheTransactionAreThoseOfItsBranches) {
  const PerfBranch abort{0x1100, 0x8010, true, true, PERF_BR_UNKNOWN};
  const auto call = [](std::uint64_t from) { return PerfBranch{from, 0, true, false, PERF_BR_CALL}; };
  const PerfBranch outside{0x1200, 0x8000, false, false, PERF_BR_CALL};
  add(0x1100, kConflict, 100, 10, {0x8010, 0x1205},
      {abort, call(0x1180), call(0x8050), call(0x1208), outside});
  add(0x1100, kConflict, 100, 10, {0x8010, 0x1205}, {abort, call(0x1190)});
  add(0x1100, kConflict, 100, 10, {0x8010, 0x1205});
  const AbortEvents events = account_.events(images_, nullptr);
  EXPECT_EQ(events.with_branches, 2);
  EXPECT_EQ(events.whole_paths, 1);
  ASSERT_EQ(events.rows.size(), 3u) << "paths are told apart";
  std::vector<std::vector<std::uint64_t>> inside;
  for (const AbortRow& row : events.rows) {
    EXPECT_EQ(row.callers.front().address, 0x1205u);
    std::vector<std::uint64_t>& calls = inside.emplace_back();
    for (const Place& place : row.inside) calls.push_back(place.address);
  }
  std::sort(inside.begin(), inside.end());
  EXPECT_EQ(inside, (std::vector<std::vector<std::uint64_t>>{{}, {0x1180, 0x1208}, {0x1190}}))
      << "without those of the library";
}

TEST_F(AbortAccountTest, SectionsAreTheCallersOfTheLibrary) {
  add(0x1100, kConflict, 100, 10, {0x8010, 0x8020, 0x1200, 0x1300});
  add(0x1100, kConflict, 300, 10, {0x3000, 0x8044, 0x1200, 0x1300});  // in code that the library calls
  add(0x1100, kConflict, 50, 10, {0x1400, 0x1300});
  const AbortEvents events = account_.events(images_, nullptr);
  ASSERT_EQ(events.rows.size(), 2u);
  EXPECT_EQ(events.rows[0].place.address, 0x1100u);
  EXPECT_EQ(events.rows[0].cause, "conflict");
  ASSERT_EQ(events.rows[0].callers.size(), 2u);
  EXPECT_EQ(events.rows[0].callers[0].address, 0x1200u);
  EXPECT_EQ(events.rows[0].samples, 2);
  EXPECT_EQ(events.rows[0].aborts, 20);
  EXPECT_EQ(events.rows[0].cycles, 4000);
  EXPECT_EQ(events.rows[1].callers[0].address, 0x1400u) << "a transaction of the program's own";
  EXPECT_EQ(events.by_cause, (std::map<std::string, double>{{"conflict", 30}}));
  EXPECT_EQ(events.cycles, 4500);
}

TEST_F(AbortAccountTest, SamplesStandForEqualPartsOfWhatWasCounted) {
  add(0x1100, kConflict, 100, 10, {});
  add(0x1104, PERF_TXN_TRANSACTION | PERF_TXN_SYNC, 100, 30, {});
  account_.add_losses(3);
  const AbortCounts counts{80, 5, 7000, 0.5};
  const AbortEvents events = account_.events(images_, &counts);
  EXPECT_EQ(events.aborts, 80);
  EXPECT_EQ(events.commits, 5);
  EXPECT_EQ(events.counted_cycles, 7000);
  EXPECT_EQ(events.running, 0.5);
  EXPECT_EQ(events.sampled_aborts, 40);
  EXPECT_EQ(events.lost, 3);
  EXPECT_EQ(events.by_cause.at("conflict"), 20);
  EXPECT_EQ(events.by_cause.at("instruction"), 60);
  EXPECT_EQ(events.cycles, 8000);
}

TEST_F(AbortAccountTest, CallsAreNotKnownFromBranchesThatLackReturns) {
  const PerfBranch call{0x1300, 0x1400, true, false, PERF_BR_CALL}, abort{0x1400, 0x1200, true, true, 0};
  add(0x1400, kConflict, 100, 1, {0x1200}, {abort, call});
  has_calls_and_returns_ = false;
  add(0x1400, kConflict, 100, 1, {0x1200}, {abort, call});
  const AbortEvents events = account_.events(images_, nullptr);
  EXPECT_EQ(events.with_branches, 1);
  ASSERT_EQ(events.rows.size(), 2u);
  EXPECT_EQ(events.rows[0].inside.size() + events.rows[1].inside.size(), 1u);
}

TEST_F(AbortAccountTest, SamplesOfUnequalWeightAreAsGoodAsFewerEqualOnes) {
  add(0x1100, kConflict, 100, 1, {});
  add(0x1104, kConflict, 300, 1, {});
  EXPECT_DOUBLE_EQ(account_.events(images_, nullptr).equal_samples, 400.0 * 400 / (100 * 100 + 300 * 300));
}

TEST_F(AbortAccountTest, RowsAreBoundedAndNothingIsLost) {
  for (std::uint64_t i = 0; i < 3 * AbortAccount::kMostRows; ++i)
    add(0x100000 + i, kConflict, 1, 1, {0x1200 + i});
  const AbortEvents events = account_.events(images_, nullptr);
  EXPECT_EQ(events.rows.size(), AbortAccount::kMostWritten + 1);
  double aborts = 0;
  for (const AbortRow& row : events.rows) aborts += row.aborts;
  EXPECT_EQ(aborts, events.samples);
  EXPECT_EQ(events.samples, 3.0 * AbortAccount::kMostRows);
  EXPECT_EQ(events.by_cause.at("conflict"), events.samples);
  EXPECT_EQ(events.rows[0].place.address, 0u) << "all that had no row";
}

}  // namespace
}  // namespace elision::profile
