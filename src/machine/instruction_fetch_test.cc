// SPDX-License-Identifier: Apache-2.0
// Instruction fetch: the cost of a line of code by the cache that has it, and when it is fetched again.
#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

class FetchTest : public ::testing::Test {
 protected:
  void TearDown() override { m.expect_sound(); }
  /// Cycles that the core stalls for the line.
  std::uint64_t stall(unsigned cpu, std::uint64_t line) {
    now_ += 10'000;
    if (m.filter(cpu).has_code(LineAddr(line))) return 0;
    std::uint64_t at = now_;
    Reply reply = m.model().fetch(CpuId(cpu), LineAddr(line), Cycles(at), Reach::kMachine);
    while (reply.verdict == Reply::Verdict::kWait) {
      at = reply.clock.value;
      reply = m.model().fetch(CpuId(cpu), LineAddr(line), Cycles(at), Reach::kMachine);
    }
    EXPECT_TRUE(m.filter(cpu).has_code(LineAddr(line)));
    return reply.clock.value - now_;
  }

  TestMachine m{exact_description()};
  std::uint64_t now_ = 1000;
};

TEST_F(FetchTest, FetchMissStallsForLatencyBeyondPipeline) {
  EXPECT_EQ(stall(0, 640), 200 - 4u);
  EXPECT_EQ(stall(0, 640), 0u);
  EXPECT_EQ(stall(1, 640), 90 - 4u) << "CPU 0 had it alone";
  EXPECT_EQ(stall(2, 640), 50 - 4u);
  EXPECT_EQ(m.counts(0).l1i_misses, 1u);
  EXPECT_EQ(m.counts(0).fetch_stall_cycles, 196u);
}

TEST_F(FetchTest, FetchLimitedToCoreEndsAtL2) {
  const auto within_core = [&](unsigned cpu, std::uint64_t line) {
    return m.model().fetch(CpuId(cpu), LineAddr(line), Cycles(90'000), Reach::kCore);
  };
  EXPECT_EQ(within_core(0, 640).verdict, Reply::Verdict::kNeedsOrder);
  EXPECT_EQ(m.counts(0).l1i_misses, 0u);
  EXPECT_FALSE(m.filter(0).has_code(LineAddr(640)));

  stall(0, 640);  // brings 641 to L2
  const Reply from_l2 = within_core(0, 641);
  EXPECT_EQ(from_l2.verdict, Reply::Verdict::kDone);
  EXPECT_EQ(from_l2.reach, Reach::kCore);
  EXPECT_EQ(from_l2.clock.value, 90'000 + 12 - 4u);
  EXPECT_EQ(within_core(0, 641).clock.value, 90'000 + 12 - 4u) << "in L1I, and still on its way";
  EXPECT_EQ(within_core(1, 641).verdict, Reply::Verdict::kNeedsOrder) << "in another core";
}

TEST_F(FetchTest, NextLineIsPrefetchedWithinPage) {
  stall(0, 640);
  EXPECT_EQ(stall(0, 641), 12 - 4u);
  EXPECT_EQ(stall(0, 63), 196u);
  EXPECT_EQ(stall(0, 64), 196u);
}

TEST_F(FetchTest, OldestEntryOfSetIsEvicted) {
  for (std::uint64_t i = 0; i < 8; ++i) stall(0, 640 + 64 * i);
  EXPECT_EQ(stall(0, 640), 0u);
  stall(0, 640 + 64 * 8);
  EXPECT_EQ(stall(0, 640 + 64), 0u);
  EXPECT_EQ(stall(0, 640), 12 - 4u) << "in L2 still";
}

TEST_F(FetchTest, WriteToCodeTakesLine) {
  stall(0, 640);
  stall(1, 640);
  m.store(1, 640, now_ + 10'000);
  now_ += 50'000;
  EXPECT_FALSE(m.filter(0).has_code(LineAddr(640)));
  EXPECT_EQ(stall(0, 640), 100 - 4u);
}

TEST_F(FetchTest, CodeLineAbortsWriterWithoutReadSet) {
  m.model().begin(CpuId(0), Cycles(1000), false);
  stall(0, 640);
  m.store(1, 640, 900'000);
  EXPECT_TRUE(m.model().in_transaction(CpuId(0)));
  m.model().begin(CpuId(1), Cycles(1'000'000), false);
  m.store(1, 6400, 1'000'100);
  now_ = 1'010'000;
  stall(0, 6400);
  EXPECT_FALSE(m.model().in_transaction(CpuId(1)));
}

TEST_F(FetchTest, DataBesideCodeKeepsItsPermissions) {
  m.store(0, 640, 1000);
  stall(0, 640);
  EXPECT_TRUE(m.local_hit(0, 640, AccessKind::kStore, 90'000));
}

}  // namespace
}  // namespace elision::machine::testing
