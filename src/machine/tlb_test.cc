// SPDX-License-Identifier: Apache-2.0
// Translation: which pages a TLB holds, the cost of a miss, and which accesses need no translation.
#include "machine/tlb.h"

#include <map>

#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

constexpr AccessKind kLoad = AccessKind::kLoad;
constexpr std::uint64_t kPageLines = 64, kHugeLines = 32768;

/// A first level of two sets of four entries, a second level of sixteen entries; 8 cycles to the second
/// level, 30 more for a walk.
Description small_tlb() {
  Description d = exact_description(2);
  d.tlb = {.data_entries = 8,
           .data_ways = 4,
           .huge_entries = 2,
           .huge_ways = 2,
           .code_entries = 4,
           .code_ways = 4,
           .shared_entries = 16,
           .shared_ways = 4,
           .shared_latency_cycles = 8,
           .walk_cycles = 30};
  return d;
}

class TlbTest : public ::testing::Test {
 protected:
  void TearDown() override { m.expect_sound(); }
  /// The cycles that translation adds to a load from memory of an unused line of `page`. The CPU has no
  /// outstanding loads.
  std::uint64_t delay(std::uint64_t page) {
    now_ += 10'000;
    return m.load(0, line(page, ++used_[page]), now_).data_ready.value - now_ - kMemoryCycles;
  }
  /// Line `index` of page `page`, in a different L1 set for each page.
  static std::uint64_t line(std::uint64_t page, std::uint64_t index = 0) {
    return page * kPageLines + (page + index) % kPageLines;
  }
  /// Evicts `page` from the first level by four other pages of its set.
  void push_out(std::uint64_t page) {
    for (std::uint64_t other = 2; other <= 8; other += 2) delay(page + other);
  }

  static constexpr std::uint64_t kMemoryCycles = 200;
  TestMachine m{small_tlb()};

 private:
  std::uint64_t now_ = 1000;
  std::map<std::uint64_t, std::uint64_t> used_;
};

TEST_F(TlbTest, SecondLevelServesFirstLevelMiss) {
  EXPECT_EQ(delay(2), 38u) << "the walk comes before the fetch";
  EXPECT_EQ(m.counts(0).tlb_misses, 1u);
  EXPECT_EQ(m.counts(0).page_walks, 1u);
  EXPECT_EQ(delay(2), 0u);
  push_out(2);
  EXPECT_EQ(delay(2), 8u) << "the page is in the second level";
  EXPECT_EQ(m.counts(0).page_walks, 5u);
}

TEST_F(TlbTest, OnlyOldestPageOfSetIsEvicted) {
  for (std::uint64_t page = 2; page <= 8; page += 2) delay(page);
  EXPECT_EQ(delay(2), 0u);  // a hit does not make it younger
  delay(10);                // the fifth of the set
  EXPECT_EQ(delay(4), 0u);
  EXPECT_EQ(delay(2), 8u);
  EXPECT_EQ(delay(6), 0u) << "4 was the next to go";
  EXPECT_EQ(delay(4), 8u);
}

TEST_F(TlbTest, LineInL1NeedsNoTranslation) {
  m.load(0, line(2), 1000);
  push_out(2);
  EXPECT_EQ(m.local_load(0, line(2), 900'000), Cycles(0));
  EXPECT_TRUE(m.fast_path(0, line(2), kLoad));
  const std::uint64_t misses = m.counts(0).tlb_misses;
  m.store(0, line(2), 910'000);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(910'000)).value, 910'000u);
  EXPECT_EQ(m.counts(0).tlb_misses, misses);
}

TEST_F(TlbTest, StoreDrainsLaterAndAtomicStalls) {
  delay(2);
  push_out(2);
  m.store(0, line(2), 900'000);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(900'000)).value, 900'000 + 8 + kMemoryCycles);
  push_out(2);
  EXPECT_EQ(m.atomic(0, line(2, 60), 990'000).clock.value, 990'000 + 8 + kMemoryCycles - 4);
}

TEST_F(TlbTest, RepeatedAccessStillWaitsForTranslation) {
  m.atomic(1, line(3), 1000);  // in flight to CPU 1 until 1200
  const Reply reply = m.once(0, line(3), kLoad, 1190);
  ASSERT_EQ(reply.verdict, Reply::Verdict::kWait);
  const Reply again = m.once(0, line(3), kLoad, reply.clock.value);
  EXPECT_GE(again.data_ready.value, 1190 + 38 + 100u) << "the walk began with the first try";
  EXPECT_EQ(m.counts(0).page_walks, 1u);
}

TEST_F(TlbTest, AccessDuringPageWalkWaitsForIt) {
  m.load(0, line(2), 1000);
  EXPECT_EQ(m.load(0, line(2, 1), 1037).data_ready, Cycles(1038 + kMemoryCycles));
  EXPECT_EQ(m.load(0, line(2, 2), 1038).data_ready, Cycles(1038 + kMemoryCycles));
  EXPECT_EQ(m.load(0, line(2, 3), 1039).data_ready, Cycles(1039 + kMemoryCycles));
  EXPECT_EQ(m.counts(0).tlb_misses, 1u);
}

TEST_F(TlbTest, HugePagesAreTranslatedWhole) {
  const std::uint64_t base = 8 * kHugeLines;
  m.model().set_huge_pages(start_of(LineAddr(base)), start_of(LineAddr(base + 4 * kHugeLines)), true);
  m.load(0, base, 1000);
  const std::uint64_t walks = m.counts(0).page_walks;
  for (std::uint64_t page = 1; page < 300; ++page) m.load(0, base + page * kPageLines, 1000 + 1000 * page);
  EXPECT_EQ(m.counts(0).page_walks, walks) << "one page of 2 MB";
  m.load(0, base + kHugeLines, 400'000);
  EXPECT_EQ(m.counts(0).page_walks, walks + 1);
  m.model().set_huge_pages(start_of(LineAddr(base)), start_of(LineAddr(base + 4 * kHugeLines)), false);
  m.load(0, base + kHugeLines + 1, 600'000);
  EXPECT_EQ(m.counts(0).page_walks, walks + 2);
}

TEST(HugePages, HoldsWholePagesWithinTheRange) {
  HugePages pages;
  EXPECT_FALSE(pages.add(GuestAddr(1), GuestAddr((2 << 20) + 4096)));
  EXPECT_TRUE(pages.add(GuestAddr(4096), GuestAddr(3 * (2 << 20) + 4096)));
  EXPECT_FALSE(pages.contains(LineAddr(kHugeLines - 1)));
  EXPECT_TRUE(pages.contains(LineAddr(kHugeLines)));
  EXPECT_TRUE(pages.contains(LineAddr(3 * kHugeLines - 1)));
  EXPECT_FALSE(pages.contains(LineAddr(3 * kHugeLines)));
  EXPECT_TRUE(pages.remove(GuestAddr(2 << 20), GuestAddr(2 * (2 << 20))));
  EXPECT_FALSE(pages.contains(LineAddr(kHugeLines)));
  EXPECT_TRUE(pages.contains(LineAddr(2 * kHugeLines)));
  EXPECT_FALSE(pages.remove(GuestAddr(0), GuestAddr(4096)));
}

TEST(HugePages, KeepsGapsAndJoinsNeighbours) {
  const auto at = [](std::uint64_t page) { return GuestAddr(page << 21); };
  const auto huge = [](const HugePages& pages, std::uint64_t page) {
    return pages.contains(LineAddr(page * kHugeLines));
  };
  HugePages pages;
  EXPECT_TRUE(pages.add(at(10), at(20)));
  EXPECT_FALSE(pages.add(at(12), at(15))) << "they are huge";
  EXPECT_TRUE(pages.remove(GuestAddr((14u << 21) + 4096), GuestAddr((14u << 21) + 8192)));
  EXPECT_TRUE(huge(pages, 13));
  EXPECT_FALSE(huge(pages, 14));
  EXPECT_TRUE(huge(pages, 15));
  EXPECT_TRUE(huge(pages, 19));
  for (std::uint64_t page = 100; page < 400; ++page) EXPECT_TRUE(pages.add(at(page), at(page + 1))) << page;
  EXPECT_TRUE(huge(pages, 399)) << "neighbours are one range";
  for (std::uint64_t page = 1000; page < 1200; page += 2) pages.add(at(page), at(page + 1));
  EXPECT_FALSE(huge(pages, 1198)) << "no room for so many";
  EXPECT_TRUE(huge(pages, 1000));
}

}  // namespace
}  // namespace elision::machine::testing
