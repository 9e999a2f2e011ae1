// SPDX-License-Identifier: Apache-2.0
// Pages that nobody has touched: which they are, what their first access costs, and that transactions abort
// there until somebody outside of a transaction touches them.
#include "machine/untouched_pages.h"

#include "machine/link.h"
#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

constexpr std::uint64_t kPageLines = 64, kHugeLines = 32768, kFaultCycles = 1000;
constexpr std::uint64_t kMemoryCycles = 200;
constexpr GuestAddr page(std::uint64_t number) { return GuestAddr(number * 4096); }
constexpr LineAddr line_of(std::uint64_t page) { return LineAddr(page * kPageLines); }

Description slow_faults() {
  Description d = exact_description(2);
  d.system.page_fault_cycles = kFaultCycles;
  return d;
}

class UntouchedPagesTest : public ::testing::Test {
 protected:
  void TearDown() override { m.expect_sound(); }
  TestMachine m{slow_faults()};
};

TEST_F(UntouchedPagesTest, FirstAccessFaultsOfAnyCpu) {
  m.model().set_untouched(page(8), page(10), true);
  EXPECT_EQ(m.load(0, 8 * kPageLines, 5000).data_ready.value, 5000 + kFaultCycles + kMemoryCycles);
  EXPECT_EQ(m.load(1, 8 * kPageLines + 1, 50'000).data_ready.value, 50'000 + kMemoryCycles);
  m.store(1, 9 * kPageLines, 60'000);
  m.store(0, 9 * kPageLines + 5, 70'000);
  m.load(0, 10 * kPageLines, 80'000);
  m.load(0, 7 * kPageLines, 90'000);
  EXPECT_EQ(m.counts(0).page_faults, 1u);
  EXPECT_EQ(m.counts(1).page_faults, 1u);
}

TEST_F(UntouchedPagesTest, FaultWaitsForEarlierLoadsAndTheAddress) {
  m.model().set_untouched(page(8), page(9), true);
  const Reply earlier = m.load(0, 3, 1000);
  const Reply reply = m.access(0, 8 * kPageLines, AccessKind::kLoad, 1001);
  EXPECT_EQ(reply.data_ready.value, earlier.data_ready.value + kFaultCycles + kMemoryCycles);
  m.model().set_untouched(page(8), page(9), true);
  m.rest(0);
  const Reply late = m.access(0, 8 * kPageLines + 1, AccessKind::kLoad, 20'000, 20'300);
  EXPECT_EQ(late.data_ready.value, 20'300 + kFaultCycles + kMemoryCycles);
}

TEST_F(UntouchedPagesTest, TransactionsAbortUntilTheyAreTouchedOutside) {
  m.model().set_untouched(page(8), page(9), true);
  for (const std::uint64_t now : {1000, 20'000}) {
    m.model().begin(CpuId(0), Cycles(now), false);
    const Reply reply = m.once(0, 8 * kPageLines, AccessKind::kStore, now + 100);
    EXPECT_EQ(reply.verdict, Reply::Verdict::kAborted);
    EXPECT_EQ(reply.cause, HardwareAbort::kFault);
    EXPECT_FALSE(m.model().in_transaction(CpuId(0)));
  }
  EXPECT_EQ(m.counts(0).page_faults, 0u);
  EXPECT_EQ(m.counts(0).aborts[static_cast<unsigned>(HardwareAbort::kFault)], 2u);
  m.store(0, 8 * kPageLines, 40'000);
  m.model().begin(CpuId(0), Cycles(60'000), false);
  EXPECT_EQ(m.once(0, 8 * kPageLines, AccessKind::kStore, 60'100).verdict, Reply::Verdict::kDone);
}

TEST_F(UntouchedPagesTest, CachesLoseTheLinesOfPagesThatBecomeUntouched) {
  m.model().set_untouched(page(8), page(9), true);
  m.store(0, 8 * kPageLines, 1000);
  m.load(1, 8 * kPageLines + 1, 10'000);
  m.load(1, 9 * kPageLines, 15'000);
  m.model().set_untouched(page(8), page(9), true);
  m.expect_sound();
  m.load(0, 8 * kPageLines, 20'000);
  EXPECT_EQ(m.counts(0).page_faults, 2u);
  const std::uint64_t misses = m.counts(1).l2_misses;
  m.load(1, 8 * kPageLines + 1, 30'000);
  EXPECT_EQ(m.counts(1).l2_misses, misses + 1);
  m.load(1, 9 * kPageLines, 40'000);
  EXPECT_EQ(m.counts(1).l2_misses, misses + 1) << "another page";
}

TEST_F(UntouchedPagesTest, FaultTouchesAHugePageWhole) {
  m.model().set_huge_pages(start_of(LineAddr(kHugeLines)), start_of(LineAddr(2 * kHugeLines)), true);
  m.model().set_untouched(start_of(LineAddr(kHugeLines)), start_of(LineAddr(3 * kHugeLines)), true);
  m.load(0, kHugeLines, 1000);
  m.load(0, kHugeLines + 100 * kPageLines, 10'000);
  EXPECT_EQ(m.counts(0).page_faults, 1u);
  m.load(0, 2 * kHugeLines, 20'000);
  m.load(0, 2 * kHugeLines + kPageLines, 30'000);
  EXPECT_EQ(m.counts(0).page_faults, 3u);
}

TEST_F(UntouchedPagesTest, HugePageIsClearedAtTheRateOfTheMemory) {
  Description d = slow_faults();
  d.memory_line_time = 2 << Link::kFractionBits;
  TestMachine slow(d);
  slow.model().set_huge_pages(start_of(LineAddr(kHugeLines)), start_of(LineAddr(2 * kHugeLines)), true);
  slow.model().set_untouched(start_of(LineAddr(kHugeLines)), start_of(LineAddr(2 * kHugeLines)), true);
  EXPECT_EQ(slow.load(0, kHugeLines, 1000).data_ready.value,
            1000 + kFaultCycles + 2 * kHugeLines + kMemoryCycles);
}

class UntouchedPagesAlone : public ::testing::Test {
 protected:
  UntouchedPagesAlone() { pages.place(arena); }
  ~UntouchedPagesAlone() override { arena.release(); }
  Arena arena = Arena::reserve(UntouchedPages::bytes());
  UntouchedPages pages;
  std::vector<std::uint64_t> again;  // pages that were touched and are untouched again
  void set(GuestAddr begin, GuestAddr end, bool untouched) {
    pages.set(begin, end, untouched, [this](std::uint64_t page) { again.push_back(page); });
  }
};

TEST_F(UntouchedPagesAlone, RangesEndAtTheirPages) {
  EXPECT_FALSE(pages.contains(line_of(0)));
  set(page(500), page(1600), true);
  for (const std::uint64_t inside : {500, 511, 512, 1023, 1024, 1599})
    EXPECT_TRUE(pages.contains(line_of(inside))) << inside;
  EXPECT_TRUE(pages.contains(LineAddr(line_of(1599).value + kPageLines - 1)));
  for (const std::uint64_t outside : {0, 499, 1600})
    EXPECT_FALSE(pages.contains(line_of(outside))) << outside;
  set(page(510), page(1025), false);
  for (const std::uint64_t inside : {509, 1025}) EXPECT_TRUE(pages.contains(line_of(inside))) << inside;
  for (const std::uint64_t outside : {510, 1024}) EXPECT_FALSE(pages.contains(line_of(outside))) << outside;
  pages.touch(line_of(509), false);
  EXPECT_FALSE(pages.contains(line_of(509)));
  EXPECT_TRUE(pages.contains(line_of(508)));
  again.clear();
  set(page(508), page(512), true);
  EXPECT_EQ(again, (std::vector<std::uint64_t>{509, 510, 511}));
}

TEST_F(UntouchedPagesAlone, PagesBeyondTheTableCountAsTouched) {
  constexpr std::uint64_t kHeld = std::uint64_t{128} << 30, kBase = std::uint64_t{1} << 40;
  set(GuestAddr(kBase), GuestAddr(kBase + kHeld + (4 << 20)), true);
  EXPECT_TRUE(pages.contains(line_of(kBase / 4096)));
  EXPECT_TRUE(pages.contains(line_of((kBase + kHeld) / 4096 - 1)));
  EXPECT_FALSE(pages.contains(line_of((kBase + kHeld) / 4096)));
  set(GuestAddr(kBase), GuestAddr(kBase + kHeld + (4 << 20)), false);
  EXPECT_FALSE(pages.contains(line_of(kBase / 4096)));
}

}  // namespace
}  // namespace elision::machine::testing
