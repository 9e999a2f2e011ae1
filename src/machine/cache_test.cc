// SPDX-License-Identifier: Apache-2.0
// Private caches, the fast path's filter beside them, and the directory, each by itself.
#include "machine/cache.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "base/random.h"
#include "machine/directory.h"
#include "machine/fast_path.h"
#include "machine/test_machine.h"

namespace elision::machine {
namespace {

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() : arena_(Arena::reserve(std::size_t{1} << 30)) {
    cache_.place(arena_, {32, 8, 4});
    directory_.place(arena_, testing::exact_description());
  }
  ~CacheTest() override { arena_.release(); }

  std::uint32_t insert(std::uint64_t line) {
    const std::uint32_t slot = cache_.choose_victim(cache_.set_of(LineAddr(line)));
    cache_.put(slot, LineAddr(line), WayState{0, kUsed, 0});
    return slot;
  }

  Arena arena_;
  PrivateCache cache_{};
  Directory directory_{};
};

TEST_F(CacheTest, HoldsExactlySetsTimesWays) {
  EXPECT_EQ(cache_.sets(), 64u);
  for (std::uint64_t line = 0; line < 512; ++line) insert(line);
  for (std::uint64_t line = 0; line < 512; ++line) EXPECT_NE(cache_.find(LineAddr(line)), kNoSlot);
  insert(512);
  EXPECT_EQ(cache_.find(LineAddr(0)), kNoSlot);  // same set, oldest
  EXPECT_NE(cache_.find(LineAddr(1)), kNoSlot);
}

TEST_F(CacheTest, LineZeroIsNotAnEmptyWay) {
  EXPECT_EQ(cache_.find(LineAddr(0)), kNoSlot);
  insert(0);
  EXPECT_NE(cache_.find(LineAddr(0)), kNoSlot);
}

TEST_F(CacheTest, AUsedLineGetsASecondChance) {
  for (std::uint64_t i = 0; i < 8; ++i) insert(i * 64);
  insert(8 * 64);  // clears all used bits and takes the first
  cache_.state(cache_.find(LineAddr(1 * 64))).flags |= kUsed;
  insert(9 * 64);
  EXPECT_NE(cache_.find(LineAddr(1 * 64)), kNoSlot);
  EXPECT_EQ(cache_.find(LineAddr(2 * 64)), kNoSlot);
}

TEST_F(CacheTest, AnEmptyWayIsFilledFirst) {
  for (std::uint64_t i = 0; i < 8; ++i) insert(i * 64);
  const std::uint32_t slot = cache_.find(LineAddr(5 * 64));
  cache_.remove(slot);
  EXPECT_EQ(insert(8 * 64), slot);
}

TEST_F(CacheTest, TheFilterGivesBackUsedBitsBeforeAnEntryGoes) {
  auto filter = std::make_unique<Filter>();
  const std::uint32_t first = insert(7);
  const std::uint32_t second = insert(7 + Filter::kEntries);  // same filter index
  for (const std::uint32_t slot : {first, second}) cache_.state(slot).flags = 0;

  fast_path::remember(*filter, cache_, LineAddr(7), first, FilterEntry::kNoStore);
  filter->entry[7].used = 1;
  fast_path::remember(*filter, cache_, LineAddr(7 + Filter::kEntries), second, FilterEntry::kNoStore);
  EXPECT_TRUE(cache_.state(first).flags & kUsed);
  EXPECT_FALSE(cache_.state(second).flags & kUsed);

  filter->entry[7].used = 1;
  fast_path::forget(*filter, cache_, LineAddr(7), first);  // not the line that is there
  EXPECT_NE(filter->entry[7].tag, FilterEntry::kEmpty);
  fast_path::forget(*filter, cache_, LineAddr(7 + Filter::kEntries), second);
  EXPECT_EQ(filter->entry[7].tag, FilterEntry::kEmpty);
  EXPECT_TRUE(cache_.state(second).flags & kUsed);
}

TEST_F(CacheTest, ReplacementLooksBeforeItReadsAUsedBit) {
  for (std::uint64_t i = 0; i < 8; ++i) cache_.state(insert(i * 64)).flags = 0;
  std::vector<std::uint32_t> looked;
  const std::uint32_t victim = cache_.choose_victim(0, [&](std::uint32_t slot) {
    looked.push_back(slot);
    if (slot < 3) cache_.state(slot).flags |= kUsed;
  });
  EXPECT_EQ(victim, 3u);
  EXPECT_EQ(looked, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST_F(CacheTest, TheDirectoryTellsEveryLineFromEveryOther) {
  Random random(3);
  std::map<std::uint32_t, std::uint64_t> expected;
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t line = random.below(std::uint64_t{1} << 31) << 10 | random.below(1024);  // up to 2^41
    if (directory_.find(LineAddr(line)) != kNoSlot) continue;
    const std::uint32_t slot = directory_.choose_victim(LineAddr(line));
    directory_.put(slot, LineAddr(line));
    expected[slot] = line;
  }
  for (const auto& [slot, line] : expected) {
    ASSERT_EQ(directory_.find(LineAddr(line)), slot);
    ASSERT_EQ(directory_.line(slot).value, line);
  }
}

TEST_F(CacheTest, ContiguousMemoryFillsTheDirectoryEvenly) {
  Description d = testing::exact_description();
  d.l3 = {46080, 20, 50};
  d.l3_slices = 18;
  Directory directory{};
  directory.place(arena_, d);
  std::uint32_t evictions = 0;
  const std::uint64_t lines = d.l3.lines() * 9 / 10;
  for (std::uint64_t line = 12345; line < 12345 + lines; ++line) {
    const std::uint32_t slot = directory.choose_victim(LineAddr(line));
    evictions += !directory.empty(slot);
    directory.put(slot, LineAddr(line));
  }
  EXPECT_LT(evictions, lines / 100);
}

TEST_F(CacheTest, StridesOfAPowerOfTwoSpreadOverSlices) {
  for (unsigned shift = 11; shift < 26; ++shift) {
    Description d = testing::exact_description();
    d.l3 = {20480, 20, 50};
    d.l3_slices = 8;
    Directory directory{};
    directory.place(arena_, d);
    unsigned evictions = 0;
    for (std::uint64_t i = 0; i < 80; ++i) {  // half of what all slices hold, four times what one holds
      const LineAddr line(77 + (i << shift));
      const std::uint32_t slot = directory.choose_victim(line);
      evictions += !directory.empty(slot);
      directory.put(slot, line);
    }
    EXPECT_LE(evictions, 10u) << "stride of 2^" << shift << " lines";
  }
}

TEST_F(CacheTest, MarksAreReusedOnlyWhenEmpty) {
  directory_.put(3, LineAddr(3));
  TransactionMarks& first = directory_.make_marks(3);
  first.readers.set(1);
  directory_.release_if_empty(first);
  EXPECT_EQ(directory_.marks(3), &first);
  TransactionMarks& second = directory_.make_marks(4);
  EXPECT_NE(&first, &second);
  first.readers.clear(1);
  directory_.release_if_empty(first);
  EXPECT_EQ(directory_.marks(3), nullptr);
  EXPECT_EQ(&directory_.make_marks(5), &first);
}

TEST(CpuMask, CountsToItsLastCpu) {
  CpuMask mask;
  EXPECT_TRUE(mask.empty());
  for (unsigned cpu : {127u, 64u, 63u, 0u}) {
    mask.set(cpu);
    EXPECT_EQ(mask.first(), cpu);
    EXPECT_TRUE(mask.has(cpu));
  }
  EXPECT_EQ(CpuMask::of(64).without(64), CpuMask());
  EXPECT_FALSE(mask.without(63).has(63));
}

}  // namespace
}  // namespace elision::machine
