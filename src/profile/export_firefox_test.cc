// SPDX-License-Identifier: Apache-2.0
// tests/programs/export_test.py checks whole files by a schema of the format.
#include "profile/export_firefox.h"

#include <gtest/gtest.h>

#include "profile/export_for_test.h"

namespace elision::profile {
namespace {

using nlohmann::ordered_json;

TEST(Firefox, PathsOfAThreadFollowEachOther) {
  const ordered_json file = firefox_json(table_for_test(), kOriginForTest);
  const ordered_json& samples = file["threads"][0]["samples"];
  EXPECT_EQ(samples["time"], ordered_json::parse("[0.0, 0.002, 0.002, 0.007]"));
  EXPECT_EQ(samples["weight"], ordered_json::parse("[0.002, 0, 0.005, 0]"));
  EXPECT_EQ(samples["length"], 4);
}

TEST(Firefox, APlaceInTwoStatesIsTwoFramesOfOneFunction) {
  const ordered_json thread = firefox_json(table_for_test(), kOriginForTest)["threads"][0];
  EXPECT_EQ(thread["frameTable"]["func"], ordered_json::parse("[0, 1, 0, 1, 2, 3]"));
  EXPECT_EQ(thread["frameTable"]["category"], ordered_json::parse("[1, 1, 6, 6, 6, 6]"));
  EXPECT_EQ(thread["stackTable"]["prefix"], ordered_json::parse("[null, 0, null, 2, 3, 4]"));
}

TEST(Firefox, MainThreadIsTheFirstOne) {
  const ordered_json file = firefox_json(table_for_test(), kOriginForTest);
  EXPECT_EQ(file["threads"][0]["isMainThread"], false);
  EXPECT_EQ(file["threads"][1]["isMainThread"], true);
  EXPECT_EQ(file["meta"]["initialSelectedThreads"], ordered_json::array({1}));
}

TEST(Firefox, SourceOfAFunctionIsSharedByThreads) {
  Profile profile = profile_for_test();
  profile.paths[2].frames = {0};
  const ordered_json file = firefox_json(paths_of_time(profile), kOriginForTest);
  EXPECT_EQ(file["shared"]["sources"]["length"], 2);
  EXPECT_EQ(file["threads"][0]["funcTable"]["source"][0], file["threads"][1]["funcTable"]["source"][0]);
}

TEST(Firefox, AbortsAreWeighedByTheirCycles) {
  const ordered_json file = firefox_json(paths_of_aborts(aborts_for_test()), kOriginForTest);
  const ordered_json& samples = file["threads"][0]["samples"];
  EXPECT_EQ(samples["weightType"], "samples");
  EXPECT_EQ(samples["weight"], ordered_json::parse("[6000.0, 0, 2500.0, 0, 500.0, 0]"));
  EXPECT_EQ(file["meta"]["categories"][1]["name"], "conflict");
}

}  // namespace
}  // namespace elision::profile
