// SPDX-License-Identifier: Apache-2.0
// Private caches with their filter, and the directory, each by itself.
#include "machine/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <vector>

#include "base/property_for_test.h"
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
    cache_.put(slot, LineAddr(line), WayState{});
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

TEST_F(CacheTest, UsedLineGetsSecondChance) {
  for (std::uint64_t i = 0; i < 8; ++i) insert(i * 64);
  insert(8 * 64);  // clears all used bits and takes the first
  cache_.mark_used(cache_.find(LineAddr(1 * 64)));
  insert(9 * 64);
  EXPECT_NE(cache_.find(LineAddr(1 * 64)), kNoSlot);
  EXPECT_EQ(cache_.find(LineAddr(2 * 64)), kNoSlot);
}

TEST_F(CacheTest, EmptyWayIsFilledFirst) {
  for (std::uint64_t i = 0; i < 8; ++i) insert(i * 64);
  const std::uint32_t slot = cache_.find(LineAddr(5 * 64));
  cache_.remove(slot);
  EXPECT_EQ(insert(8 * 64), slot);
}

TEST_F(CacheTest, FilterReturnsUsedBitsBeforeEviction) {
  auto filter = std::make_unique<Filter>();
  const std::uint32_t first = insert(7);
  const std::uint32_t second = insert(7 + Filter::kEntries);  // same filter index
  for (std::uint64_t i = 1; i <= 6; ++i) insert(7 + i * 64);
  cache_.choose_victim(7);  // a full turn of the clock: no way is used any more

  fast_path::remember(*filter, cache_, LineAddr(7), first, FilterEntry::kNoStore);
  filter->entry[7].used = 1;
  fast_path::remember(*filter, cache_, LineAddr(7 + Filter::kEntries), second, FilterEntry::kNoStore);
  EXPECT_TRUE(cache_.used(first));
  EXPECT_FALSE(cache_.used(second));

  filter->entry[7].used = 1;
  fast_path::forget(*filter, cache_, LineAddr(7), first);  // not the line that is there
  EXPECT_NE(filter->entry[7].tag, FilterEntry::kEmpty);
  fast_path::forget(*filter, cache_, LineAddr(7 + Filter::kEntries), second);
  EXPECT_EQ(filter->entry[7].tag, FilterEntry::kEmpty);
  EXPECT_TRUE(cache_.used(second));
}

TEST(FilterEntry, TellsArrivalAndItsLimit) {
  FilterEntry entry{};
  constexpr std::uint64_t kArrival = (std::uint64_t{5} << 40) + 1000;
  entry.set_arrival(kArrival);
  EXPECT_EQ(entry.cycles_to_arrival(kArrival - 1), 1);
  EXPECT_EQ(entry.cycles_to_arrival(kArrival), 0);
  EXPECT_LT(entry.cycles_to_arrival(kArrival + (std::uint64_t{1} << 38)), 0);
  // So old that 40 bits show a time in the future, but one beyond kFarAway.
  EXPECT_GT(entry.cycles_to_arrival(kArrival + (std::uint64_t{1} << 39) + 1), FilterEntry::kFarAway);
}

TEST_F(CacheTest, ReplacementLooksBeforeItReadsAUsedBit) {
  for (std::uint64_t i = 0; i < 8; ++i) insert(i * 64);
  EXPECT_EQ(cache_.choose_victim(0), 0u);  // no way is used any more, and the hand has passed it
  std::vector<std::uint32_t> looked;
  const std::uint32_t victim = cache_.choose_victim(0, [&](std::uint32_t slot) {
    looked.push_back(slot);
    return slot < 4;
  });
  EXPECT_EQ(victim, 4u);
  EXPECT_EQ(looked, (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

/// The clock algorithm in its textbook form.
struct Clock {
  std::vector<bool> occupied, used;
  std::size_t hand = 0;

  explicit Clock(std::size_t ways) : occupied(ways), used(ways) {}

  std::uint32_t choose() {
    for (std::size_t way = 0; way < occupied.size(); ++way)
      if (!occupied[way]) return static_cast<std::uint32_t>(way);
    for (;;) {
      const std::size_t way = hand;
      hand = (hand + 1) % used.size();
      if (!used[way]) return static_cast<std::uint32_t>(way);
      used[way] = false;
    }
  }
};

constexpr std::uint32_t kTestedSets = 3;

/// An access to a set: finds the line, or fills it in.
struct Access {
  std::uint32_t set;
  std::uint64_t line;  // of three times as many as there are ways
  bool clears;         // takes a line out that is found
  bool asks;           // chooses a victim with take_used
};

Access draw_access(Random& random) {
  return {static_cast<std::uint32_t>(random.below(kTestedSets)), random.below(1u << 30),
          random.below(10) == 0, random.below(2) != 0};
}

void showValue(const Access& access, std::ostream& out) {
  out << (access.clears ? "clear or fill " : "find or fill ") << access.line << " in set " << access.set
      << (access.asks ? ", asking" : "");
}

/// Sets of lines, compared with the textbook's.
class SetsAndModel {
 public:
  using Sets = CacheSets<24>;

  SetsAndModel(Arena& arena, std::uint32_t ways) : ways_(ways), clocks_(kTestedSets, Clock(ways)) {
    sets_.place(arena, kTestedSets, ways);
    lines_.assign(kTestedSets, std::vector<std::uint64_t>(ways, kNoLine));
  }

  void apply(const Access& access) {
    const std::uint64_t wanted = access.line % (std::uint64_t{3} * ways_) * 85;  // tags meet
    const auto& lines = lines_[access.set];
    const auto at = std::find(lines.begin(), lines.end(), wanted);
    const std::uint32_t found =
        sets_.find(access.set, wanted, [&](std::uint32_t way) { return lines[way] == wanted; });
    RC_ASSERT(found == (at == lines.end() ? Sets::kNoWay : static_cast<std::uint32_t>(at - lines.begin())));
    if (found == Sets::kNoWay) return fill(access, wanted);
    if (access.clears) return clear(access.set, found);
    sets_.mark_used(access.set, found);
    clocks_[access.set].used[found] = true;
  }

 private:
  static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};

  void fill(const Access& access, std::uint64_t line) {
    Clock& clock = clocks_[access.set];
    const std::uint32_t victim = access.asks
                                     ? sets_.choose_victim(access.set, [](std::uint32_t) { return false; })
                                     : sets_.choose_victim(access.set);
    RC_ASSERT(victim == clock.choose());
    sets_.fill(access.set, victim, line);
    clock.occupied[victim] = clock.used[victim] = true;
    lines_[access.set][victim] = line;
  }
  void clear(std::uint32_t set, std::uint32_t way) {
    sets_.clear(set, way);
    clocks_[set].occupied[way] = clocks_[set].used[way] = false;
    lines_[set][way] = kNoLine;
  }

  std::uint32_t ways_;
  Sets sets_{};
  std::vector<Clock> clocks_;
  std::vector<std::vector<std::uint64_t>> lines_;
};

TEST_F(CacheTest, SetsReplaceAsTextbookClock) {
  check_property(200, [&] {
    const auto ways = *rc::gen::resize(rc::kNominalSize,
                                       rc::gen::inRange<std::uint32_t>(1, SetsAndModel::Sets::kMostWays + 1));
    SetsAndModel both(arena_, ways);
    for (const Access& access : *steps(500, draw_access)) both.apply(access);
  });
}

TEST_F(CacheTest, DirectoryTellsLinesApart) {
  check_property(1, [] {
    Arena arena = Arena::reserve(std::size_t{1} << 30);
    Directory directory{};
    directory.place(arena, testing::exact_description());
    std::map<std::uint32_t, std::uint64_t> expected;
    const auto draw = [](Random& random) {
      return random.below(std::uint64_t{1} << 31) << 10 | random.below(1024);
    };
    for (const std::uint64_t line : *steps(30'000, draw)) {  // up to 2^41
      if (directory.find(LineAddr(line)) != kNoSlot) continue;
      const std::uint32_t slot = directory.choose_victim(LineAddr(line), 0);
      directory.put(slot, LineAddr(line));
      expected[slot] = line;
    }
    const bool all_found = std::all_of(expected.begin(), expected.end(), [&](const auto& entry) {
      return directory.find(LineAddr(entry.second)) == entry.first &&
             directory.line(entry.first).value == entry.second;
    });
    arena.release();
    RC_ASSERT(all_found);
  });
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
    const std::uint32_t slot = directory.choose_victim(LineAddr(line), 0);
    evictions += !directory.empty(slot);
    directory.put(slot, LineAddr(line));
  }
  EXPECT_LT(evictions, lines / 100);
}

TEST_F(CacheTest, PowerOfTwoStridesSpreadOverSlices) {
  for (unsigned shift = 11; shift < 26; ++shift) {
    Description d = testing::exact_description();
    d.l3 = {20480, 20, 50};
    d.l3_slices = 8;
    Directory directory{};
    directory.place(arena_, d);
    unsigned evictions = 0;
    for (std::uint64_t i = 0; i < 80; ++i) {  // half of what all slices hold, four times what one holds
      const LineAddr line(77 + (i << shift));
      const std::uint32_t slot = directory.choose_victim(line, 0);
      evictions += !directory.empty(slot);
      directory.put(slot, line);
    }
    EXPECT_LE(evictions, 10u) << "stride of 2^" << shift << " lines";
  }
}

TEST_F(CacheTest, ReadWriteSetsAreReusedOnlyWhenEmpty) {
  directory_.put(3, LineAddr(3));
  ReadWriteSets& first = directory_.make_read_write_sets(3);
  first.readers.set(1);
  directory_.release_if_empty(first);
  EXPECT_EQ(directory_.read_write_sets(3), &first);
  ReadWriteSets& second = directory_.make_read_write_sets(4);
  EXPECT_NE(&first, &second);
  first.readers.clear(1);
  directory_.release_if_empty(first);
  EXPECT_EQ(directory_.read_write_sets(3), nullptr);
  EXPECT_EQ(&directory_.make_read_write_sets(5), &first);
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
