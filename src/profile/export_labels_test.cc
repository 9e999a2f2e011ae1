// SPDX-License-Identifier: Apache-2.0
#include "profile/export_labels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "profile/export_for_test.h"

namespace elision::profile {
namespace {

TEST(ExportLabels, ThreadHasNameAndNumber) {
  const Profile profile = profile_for_test();
  EXPECT_EQ(label_of(profile.threads[0]), "worker (12)");
  EXPECT_EQ(label_of(profile.threads[1]), "thread 11");
}

TEST(ExportLabels, FunctionWithoutNameIsItsAddress) {
  EXPECT_EQ(label_of(Place{.address = 0x7f12, .name = "main"}), "main");
  EXPECT_EQ(label_of(Place{.address = 0x7f12}), "0x7f12");
}

TEST(ExportLabels, StateNamesItsLockIfThatIsKnown) {
  Profile profile = profile_for_test();
  EXPECT_EQ(state_label(profile, profile.paths[0]), "[waiting for queue;lock]");
  EXPECT_EQ(state_label(profile, profile.paths[1]), "");
  profile.paths[0].lock = Path::kNoLock;
  EXPECT_EQ(state_label(profile, profile.paths[0]), "[waiting for a lock]");
  profile.paths[0].state = State::kBlocked;
  EXPECT_EQ(state_label(profile, profile.paths[0]), "[blocked]");
}

TEST(ExportLabels, EveryStateButOutsideHasAFrameOfItsOwn) {
  Profile profile = profile_for_test();
  std::vector<std::string> labels;
  for (std::size_t state = 1; state < kStates; ++state) {
    profile.paths[0].state = static_cast<State>(state);
    labels.push_back(state_label(profile, profile.paths[0]));
    EXPECT_TRUE(labels.back().starts_with('[')) << kStateNames[state];
    for (std::size_t other = 0; other + 1 < labels.size(); ++other) EXPECT_NE(labels[other], labels.back());
  }
}

TEST(ExportLabels, PathWithoutFramesHasOneThatIsUnknown) {
  const Profile profile = profile_for_test();
  EXPECT_EQ(stack_of(profile, profile.paths[0]).size(), 3u);
  ASSERT_EQ(stack_of(profile, profile.paths[2]).size(), 1u);
  EXPECT_EQ(stack_of(profile, profile.paths[2])[0]->name, "[unknown]");
}

TEST(ExportLabels, OrderIsByThreadThenStateThenTime) {
  Profile profile = profile_for_test();
  profile.paths.push_back({State::kWaiting, 0, 0, {0}, 6000, 6});
  EXPECT_EQ(order_by_thread(profile), (std::vector<std::size_t>{1, 3, 0, 2}));
}

TEST(ExportLabels, NumbersBecomeWholeAndStayInRange) {
  EXPECT_EQ(whole(2.5), 3);
  EXPECT_EQ(whole(-1), 0);
  EXPECT_EQ(whole(1e300), std::int64_t{1} << 62);
}

TEST(ExportLabels, PeriodIsTimePerSample) {
  Profile profile = profile_for_test();
  EXPECT_DOUBLE_EQ(sampling_period_ns(profile), 1000);
  for (Path& path : profile.paths) path.samples = 0;
  EXPECT_EQ(sampling_period_ns(profile), 0);
}

TEST(ExportLabels, LostSamplesAreRemarked) {
  Profile profile = profile_for_test();
  EXPECT_EQ(remarks_of(profile, kOriginForTest).size(), 3u);
  profile.paths_lost = 5;
  EXPECT_EQ(remarks_of(profile, kOriginForTest).back(), "5 samples were lost");
}

}  // namespace
}  // namespace elision::profile
