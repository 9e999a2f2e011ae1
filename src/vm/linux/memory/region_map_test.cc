// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/memory/region_map.h"

#include <gtest/gtest.h>

namespace elision::vm {
namespace {

constexpr std::uint64_t page(std::uint64_t n) { return n * kPageBytes; }

TEST(RegionMap, MergesEqualNeighboursOnly) {
  RegionMap map;
  map.add(page(1), page(2), {});
  map.add(page(2), page(3), {});
  map.add(page(3), page(4), {true, false, RegionUse::kMapping});
  ASSERT_EQ(map.regions().size(), 2u);
  EXPECT_EQ(map.find(page(1))->second.end, page(3));
  map.set_permissions(page(3), page(4), false, false);
  EXPECT_EQ(map.regions().size(), 1u);
}

TEST(RegionMap, RemoveSplits) {
  RegionMap map;
  map.add(page(1), page(10), {});
  map.remove(page(4), page(6));
  EXPECT_TRUE(map.covers(page(1), page(4)));
  EXPECT_TRUE(map.is_free(page(4), page(6)));
  EXPECT_TRUE(map.covers(page(6), page(10)));
  EXPECT_FALSE(map.covers(page(3), page(7)));
  EXPECT_FALSE(map.is_free(page(5), page(7)));
}

TEST(RegionMap, ForeignIsNeitherFreeNorCovered) {
  RegionMap map;
  map.add(page(1), page(3), {});
  map.add(page(2), page(3), {false, false, RegionUse::kForeign});
  EXPECT_FALSE(map.covers(page(1), page(3)));
  EXPECT_FALSE(map.is_free(page(2), page(3)));
}

TEST(RegionMap, FindsTheLowestGapThatFits) {
  RegionMap map;
  map.add(page(2), page(4), {});
  map.add(page(5), page(8), {});
  EXPECT_EQ(map.find_free(page(2), page(100), page(1)), page(4));
  EXPECT_EQ(map.find_free(page(2), page(100), page(2)), page(8));
  EXPECT_EQ(map.find_free(page(3), page(100), page(2), page(16)), page(16));
  EXPECT_EQ(map.find_free(page(2), page(9), page(2)), 0u);
  EXPECT_EQ(map.find_free(page(1), page(9), page(1)), page(1));
}

TEST(RegionMap, KnowsWhereCodeIs) {
  RegionMap map;
  map.add(page(1), page(10), {});
  map.set_permissions(page(4), page(5), true, false);
  EXPECT_TRUE(map.any_executable(page(1), page(10)));
  EXPECT_TRUE(map.any_executable(page(4) + 100, page(4) + 101));
  EXPECT_FALSE(map.any_executable(page(1), page(4)));
  EXPECT_FALSE(map.any_executable(page(5), page(10)));
}

}  // namespace
}  // namespace elision::vm
