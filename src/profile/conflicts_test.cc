// SPDX-License-Identifier: Apache-2.0
// Conflicts as a reader tells them apart.
#include "profile/conflicts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace elision::profile {
namespace {

const Place kAdd{1, "add", "a.c", 3}, kSub{2, "sub", "a.c", 9};

Conflict conflict(const Place& data, const Place& victim, const Place& other, double count,
                  double apart = 0) {
  Conflict result;
  result.data = data;
  result.victim = victim;
  result.other = other;
  result.counts = {count, apart};
  return result;
}

/// Conflicts at `places` words of an array, `count` at each.
std::vector<Conflict> spread_over(const std::string& array, std::uint64_t places, double count) {
  std::vector<Conflict> conflicts;
  for (std::uint64_t i = 0; i < places; ++i) {
    const std::string name = i == 0 ? array : fmt::format("{}+{:#x}", array, 8 * i);
    conflicts.push_back(conflict({0x1000 + 8 * i, array.empty() ? "" : name}, kAdd, kSub, count, 1));
  }
  return conflicts;
}

TEST(Sharing, IsThatOfMostConflictsWithTwoKnownAccesses) {
  EXPECT_EQ(sharing_of({}), Sharing::kUnknown);
  EXPECT_EQ(sharing_of({10, 5}), Sharing::kSameData);
  EXPECT_EQ(sharing_of({10, 6}), Sharing::kSameLine);
  EXPECT_EQ(sharing_of({10, 3, 3}), Sharing::kSameLine);
  EXPECT_EQ(sharing_of({10, 3, 4}), Sharing::kPrefetch);
  EXPECT_EQ(sharing_of({10, 0, 0, 5}), Sharing::kSameData);
  EXPECT_EQ(sharing_of({10, 3, 0, 5}), Sharing::kSameLine);
  EXPECT_EQ(sharing_of({10, 4, 0, 6}), Sharing::kUnknown);
}

TEST(ByPlace, ConflictsThatLookAlikeAreOne) {
  const Place total{0x2000, "total"};
  const auto found = by_place({conflict(total, kAdd, kSub, 4), conflict(total, kAdd, kAdd, 3, 3),
                               conflict(total, {5, "sub", "a.c", 9}, {7, "add", "a.c", 3}, 2, 1)},
                              9);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].counts.count, 6);
  EXPECT_EQ(found[0].counts.apart, 1);
  EXPECT_EQ(found[1].counts.count, 3);
  EXPECT_EQ(found[1].counts.apart, 3);
}

TEST(ByPlace, FrequentOnesWithoutNameStayApart) {
  const auto found = by_place({conflict({0x2000}, kAdd, kAdd, 4), conflict({0x2040}, kAdd, kAdd, 3)}, 7);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].data.address, 0x2000u);
}

TEST(ByPlace, ManyRareOnesAreThatOfTheirVariable) {
  std::vector<Conflict> conflicts = spread_over("accounts", 300, 3);
  conflicts.push_back(conflict({0x9000, "linkage"}, kAdd, kSub, 24, 24));
  conflicts.push_back(conflict({0x1008, "accounts+0x8"}, kAdd, kAdd, 100));
  const auto found = by_place(conflicts, 1024);
  ASSERT_EQ(found.size(), 2u) << "2 % of the conflicts are no place to name";
  EXPECT_EQ(found[0].data.name, "accounts");
  EXPECT_EQ(found[0].data.address, 0x1000u);
  EXPECT_EQ(found[0].places, 300u);
  EXPECT_EQ(found[0].counts.count, 900);
  EXPECT_EQ(found[0].counts.apart, 300);
  EXPECT_EQ(found[1].data.name, "accounts+0x8");
  EXPECT_EQ(found[1].places, 1u);
}

TEST(ByPlace, ManyRareOnesWithoutNameAreOneForEachPairOfLines) {
  std::vector<Conflict> conflicts = spread_over("", 100, 1);
  for (Conflict other : spread_over("", 50, 1)) {
    std::swap(other.victim, other.other);
    other.data.address += 0x10000;
    conflicts.push_back(other);
  }
  conflicts.push_back(conflict({0x3000}, kAdd, kAdd, 2));
  const auto found = by_place(conflicts, 152);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].places, 150u);
  EXPECT_EQ(data_text(found[0].data.name, found[0].data.address, found[0].places, 0),
            "memory without a name (150 places)");
}

TEST(ByPlace, TwiceIsTheSameAsOnce) {
  std::vector<Conflict> conflicts = spread_over("accounts", 300, 3);
  conflicts[0].counts.count = 100;  // the first element, called as the array is
  const auto once = by_place(conflicts, 1000);
  const auto twice = by_place(once, 1000);
  ASSERT_EQ(once.size(), 2u);
  ASSERT_EQ(twice.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(twice[i].places, once[i].places);
    EXPECT_EQ(twice[i].counts.count, once[i].counts.count);
  }
}

TEST(ByPlace, PlacesOfSeveralLocksAddUp) {
  auto both = by_place(spread_over("", 30, 3), 90);
  for (Conflict& one : spread_over("", 40, 3)) one.data.address += 0x9000, both.push_back(one);
  const auto other = by_place({both.begin() + 1, both.end()}, 120);
  both.resize(1);
  both.insert(both.end(), other.begin(), other.end());
  const auto found = by_place(both, 210);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].places, 70u);
}

TEST(ByPlace, AFileWithoutSymbolsIsNoVariable) {
  std::vector<Conflict> conflicts = spread_over("prog", 30, 3);
  for (Conflict& one : conflicts) one.data.is_in_file = true;
  const auto found = by_place(conflicts, 90);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].data.name, "");
  EXPECT_EQ(found[0].places, 30u);
}

}  // namespace
}  // namespace elision::profile
