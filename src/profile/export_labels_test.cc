// SPDX-License-Identifier: Apache-2.0
#include "profile/export_labels.h"

#include <gtest/gtest.h>

#include "profile/export_for_test.h"

namespace elision::profile {
namespace {

TEST(ExportLabels, ThreadHasNameAndNumber) {
  const Profile profile = profile_for_test();
  EXPECT_EQ(label_of(profile.threads[0]), "worker (12)");
  EXPECT_EQ(label_of(profile.threads[1]), "thread 11");
  EXPECT_EQ(label_of(Thread{.name = "all threads"}), "all threads");
}

TEST(ExportLabels, FunctionWithoutNameIsItsAddress) {
  EXPECT_EQ(label_of(Place{.address = 0x7f12, .name = "main"}), "main");
  EXPECT_EQ(label_of(Place{.address = 0x7f12}), "0x7f12");
}

TEST(ExportLabels, NumbersBecomeWholeAndStayInRange) {
  EXPECT_EQ(whole(2.5), 3);
  EXPECT_EQ(whole(-1), 0);
  EXPECT_EQ(whole(1e300), std::int64_t{1} << 62);
}

TEST(ExportLabels, LostSamplesAreRemarked) {
  Profile profile = profile_for_test();
  EXPECT_EQ(remarks_of(paths_of_time(profile), kOriginForTest).size(), 3u);
  profile.paths_lost = 5;
  EXPECT_EQ(remarks_of(paths_of_time(profile), kOriginForTest).back(), "5 samples were lost");
}

}  // namespace
}  // namespace elision::profile
