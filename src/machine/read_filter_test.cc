// SPDX-License-Identifier: Apache-2.0
// The read filter: it has no false negatives and some false positives, and only requests of other CPUs that
// leave their core are checked against it.
#include "machine/read_filter.h"

#include <vector>

#include "base/random.h"
#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

constexpr std::uint64_t kSets = 64, kWays = 8;

class ReadFilterTest : public ::testing::Test {
 protected:
  void TearDown() override { machine().expect_sound(); }
  TestMachine& machine() {
    if (!machine_) machine_ = std::make_unique<TestMachine>(description_);
    return *machine_;
  }
  /// CPU 0 in a transaction that has read `lines` lines.
  void read(std::uint64_t lines) {
    machine().model().begin(CpuId(0), Cycles(1000), false);
    for (std::uint64_t line = 0; line < lines; ++line) machine().load(0, line, 2000 + 1000 * line);
  }
  /// Of `count` other lines, how many end that transaction when CPU 1 writes them.
  std::uint64_t aborts(std::uint64_t lines, std::uint64_t count) {
    read(lines);
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      machine().store(1, 1'000'000 + 7 * i, 100'000'000 + 1000 * i);
      if (machine().model().in_transaction(CpuId(0))) continue;
      ++found;
      read(lines);
    }
    return found;
  }

  Description description_ = exact_description();

 private:
  std::unique_ptr<TestMachine> machine_;
};

TEST_F(ReadFilterTest, ReadSetWithinL1HasNoFalseConflict) {
  description_.transactions.read_filter_log2 = 4;
  EXPECT_EQ(aborts(kSets * kWays, 300), 0u);
}

TEST_F(ReadFilterTest, SmallFilterHasFalseConflicts) {
  description_.transactions.read_filter_log2 = 10;
  // 512 lines left L1. A share of 1 - e^-1 of 1,024 bits is set by two hashes, so 0.4 of all lines are false
  // positives.
  const std::uint64_t found = aborts(2 * kSets * kWays, 200);
  EXPECT_GT(found, 200 * 0.4 - 35);
  EXPECT_LT(found, 200 * 0.4 + 35);
  EXPECT_EQ(machine().counts(0).false_conflicts, found);
}

TEST_F(ReadFilterTest, LargeFilterIsAlmostExact) {
  description_.transactions.read_filter_log2 = 18;
  EXPECT_LE(aborts(2 * kSets * kWays, 200), 1u);
}

TEST_F(ReadFilterTest, WithoutAFilterThereIsNoFalseConflict) {
  EXPECT_EQ(aborts(2 * kSets * kWays, 200), 0u);
}

/// A system call may name a buffer of any size.
TEST_F(ReadFilterTest, OutsideWriteOfVastRangeEndsTransaction) {
  description_.transactions.read_filter_log2 = 24;
  TestMachine& m = machine();
  m.model().begin(CpuId(0), Cycles(1000), false);
  for (std::uint64_t way = 0; way <= kWays; ++way) m.load(0, way * kSets, 2000 + 1000 * way);
  m.model().end_conflicting(LineAddr(1'000'000), LineAddr(1'000'001), true, Cycles(90'000'000));
  EXPECT_TRUE(m.model().in_transaction(CpuId(0)));
  m.model().end_conflicting(LineAddr(1'000'000), LineAddr(1ull << 41), true, Cycles(91'000'000));
  EXPECT_FALSE(m.model().in_transaction(CpuId(0)));
}

TEST_F(ReadFilterTest, StoreToOwnedLineAsksNobody) {
  description_.transactions.read_filter_log2 = 1;  // two bits: every line is a member
  TestMachine& m = machine();
  m.store(1, 500'000, 500);
  read(2 * kSets * kWays);
  EXPECT_TRUE(m.local_hit(1, 500'000, AccessKind::kStore, 90'000'000));
  EXPECT_TRUE(m.model().in_transaction(CpuId(0)));
  m.load(1, 600'000, 91'000'000);
  EXPECT_TRUE(m.model().in_transaction(CpuId(0))) << "reads do not conflict with reads";
  m.store(1, 700'000, 92'000'000);
  EXPECT_FALSE(m.model().in_transaction(CpuId(0)));
}

TEST_F(ReadFilterTest, LoadThatTakesAModifiedLineIsChecked) {
  description_.transactions.read_filter_log2 = 1;
  description_.coherence.loads_take_modified = true;
  TestMachine& m = machine();
  m.store(2, 700'000, 500);
  read(2 * kSets * kWays);
  m.load(1, 600'000, 91'000'000);
  EXPECT_TRUE(m.model().in_transaction(CpuId(0))) << "no core has modified it";
  m.load(1, 700'000, 92'000'000);
  EXPECT_FALSE(m.model().in_transaction(CpuId(0)));
}

TEST_F(ReadFilterTest, IsEmptyWhenNextTransactionBegins) {
  description_.transactions.read_filter_log2 = 1;
  read(2 * kSets * kWays);
  machine().model().finish_commit(CpuId(0));
  machine().model().begin(CpuId(0), Cycles(50'000'000), false);
  machine().store(1, 700'000, 92'000'000);
  EXPECT_TRUE(machine().model().in_transaction(CpuId(0)));
}

}  // namespace
}  // namespace elision::machine::testing
