// SPDX-License-Identifier: Apache-2.0
#include "profile/path_table.h"

#include <gtest/gtest.h>

#include "profile/export_for_test.h"

namespace elision::profile {
namespace {

using Names = std::vector<std::string>;

Names names_of(const PathTable& table, const WeightedPath& path) {
  Names names;
  for (const Place* frame : stack_of(table, path)) names.push_back(frame->name);
  return names;
}

TEST(PathsOfTime, StateNamesItsLockIfThatIsKnown) {
  PathTable table = table_for_test();
  EXPECT_EQ(kind_label(table, table.paths[0]), "[waiting for queue;lock]");
  EXPECT_EQ(kind_label(table, table.paths[1]), "");
  table.paths[0].lock = Path::kNoLock;
  EXPECT_EQ(kind_label(table, table.paths[0]), "[waiting for a lock]");
  table.paths[0].kind = static_cast<std::uint32_t>(State::kBlocked);
  EXPECT_EQ(kind_label(table, table.paths[0]), "[blocked]");
}

TEST(PathsOfTime, EveryStateButOutsideHasAFrameOfItsOwn) {
  PathTable table = table_for_test();
  Names labels;
  for (std::uint32_t state = 1; state < kStates; ++state) {
    table.paths[0].kind = state;
    labels.push_back(kind_label(table, table.paths[0]));
    EXPECT_TRUE(labels.back().starts_with('[')) << kStateNames[state];
    for (std::size_t other = 0; other + 1 < labels.size(); ++other) EXPECT_NE(labels[other], labels.back());
  }
}

TEST(PathsOfTime, PathWithoutFramesHasOneThatIsUnknown) {
  const PathTable table = table_for_test();
  EXPECT_EQ(names_of(table, table.paths[0]), (Names{"main", "transfer", "add"}));
  EXPECT_EQ(names_of(table, table.paths[2]), Names{"[unknown]"});
}

TEST(PathsOfTime, OrderIsByThreadThenStateThenTime) {
  Profile profile = profile_for_test();
  profile.paths.push_back({State::kWaiting, 0, 0, {0}, 6000, 6});
  EXPECT_EQ(order_by_thread(paths_of_time(profile)), (std::vector<std::size_t>{1, 3, 0, 2}));
}

TEST(PathsOfTime, PeriodIsTimePerSample) {
  PathTable table = table_for_test();
  EXPECT_DOUBLE_EQ(weight_of_sample(table), 1000);
  for (WeightedPath& path : table.paths) path.samples = 0;
  EXPECT_EQ(weight_of_sample(table), 0);
}

TEST(PathsOfAborts, CallsInATransactionAreBelowItsFrame) {
  const PathTable table = paths_of_aborts(aborts_for_test());
  ASSERT_EQ(table.paths.size(), 3u);
  EXPECT_EQ(names_of(table, table.paths[0]), (Names{"main", "transfer", kInTransaction, "transfer", "add"}));
  EXPECT_EQ(names_of(table, table.paths[1]), (Names{"main", "transfer", kInTransaction, "transfer"}));
  EXPECT_EQ(names_of(table, table.paths[2]), (Names{kInTransaction, "[many places]"}));
}

TEST(PathsOfAborts, WeightsAreCyclesOrElseAborts) {
  Profile profile = aborts_for_test();
  PathTable table = paths_of_aborts(profile);
  EXPECT_EQ(table.weight, Weight::kCycles);
  EXPECT_DOUBLE_EQ(table.sum(), 9000);
  EXPECT_EQ(table.remarks, Names{"3 samples were lost"});
  profile.abort_events->cycles = 0;
  table = paths_of_aborts(profile);
  EXPECT_EQ(table.weight, Weight::kAborts);
  EXPECT_DOUBLE_EQ(table.sum(), 100);
}

TEST(PathsOfAborts, CausesAreKindsAndBracesInTheirNamesMeanNothing) {
  const PathTable table = paths_of_aborts(aborts_for_test());
  Names labels;
  for (const WeightedPath& path : table.paths) labels.push_back(kind_label(table, path));
  EXPECT_EQ(labels, (Names{"[conflict]", "[capacity]", "[a {} b]"}));
}

TEST(PathsOfAborts, ProfileWithoutSamplesOfAbortsHasNone) {
  EXPECT_TRUE(paths_of_aborts(profile_for_test()).paths.empty());
}

}  // namespace
}  // namespace elision::profile
