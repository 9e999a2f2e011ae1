// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

namespace elision {
namespace {

TEST(EditDistance, CountsSingleCharacterEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("", "ab"), 2u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("tatas", "tatsa"), 2u);
}

TEST(NearestName, PrefersTheSmallestDistanceAndThenTheFirst) {
  EXPECT_EQ(nearest_name("tikcet", {"tatas", "ticket", "pthread"}), "ticket");
  EXPECT_EQ(nearest_name("x", {"a", "b"}), "a");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(NearName, IsEmptyWithMoreEditsThanATypingErrorHas) {
  EXPECT_EQ(near_name("tatsa", {"tatas", "ticket"}), "tatas");
  EXPECT_EQ(near_name("nope", {"none", "core-i7-4770"}), "none");
  EXPECT_EQ(near_name("nope", {"xeon", "core-i7-4770"}), "");
  EXPECT_EQ(near_name("xeon-gold-5520", {"xeon-gold-5520plus"}), "xeon-gold-5520plus");
  EXPECT_EQ(near_name("xeon-gold-552", {"xeon-gold-5520plus"}), "");
  EXPECT_EQ(near_name("x", {"l1"}), "");
  EXPECT_EQ(near_name("x", {}), "");
}

}  // namespace
}  // namespace elision
