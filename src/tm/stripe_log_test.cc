// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "tm/thread.h"

namespace elision::tm {
namespace {

TEST(StripeLog, NotesStripesThatTakeTurnsOnce) {
  for (std::uint32_t distance = 1; distance < 1U << 19; distance *= 2) {
    StripeLog log;
    log.clear();
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(log.note(0));
      ASSERT_TRUE(log.note(distance));
    }
    EXPECT_EQ(log.end() - log.begin(), 2) << distance;
  }
}

TEST(StripeLog, KeepsEveryStripeUntilItIsFull) {
  StripeLog log;
  log.clear();
  std::set<std::uint32_t> noted;
  for (std::uint32_t i = 0; i < StripeLog::kMost; ++i) {
    ASSERT_TRUE(log.note(i * 16));
    noted.insert(i * 16);
  }
  EXPECT_EQ(std::set<std::uint32_t>(log.begin(), log.end()), noted);
  EXPECT_FALSE(log.note(7));
  EXPECT_FALSE(log.note(7));  // still not noted
  log.clear();
  EXPECT_TRUE(log.is_empty());
  EXPECT_TRUE(log.note(7));
}

}  // namespace
}  // namespace elision::tm
