// SPDX-License-Identifier: Apache-2.0
#include "cli/show/shared_data.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace elision::cli::experiment {
namespace {

using profile::Place;

constexpr Appearance kPlain{.width = 200};

profile::Profile with_accesses() {
  profile::Profile profile;
  profile.access_events = {.period = 1009,
                           .loads = 600,
                           .stores = 400,
                           .unknown = 3,
                           .shared = 100,
                           .apart = 30,
                           .rows = {{Place{0x1000, "counter", "", 0}, Place{0x10, "add()", "a.cc", 7},
                                     Place{0x20, "look()", "a.cc", 9}, true, false, 70, 2, 1},
                                    {Place{0x2000, "", "", 0}, Place{0x30, "", "", 0},
                                     Place{0x40, "mine()", "", 0}, false, true, 30, 28, 4}}};
  return profile;
}

TEST(SharedData, RowsSayWhatTwoThreadsDidToWhichData) {
  const std::string text = shared_data_text(with_accesses(), 5, kPlain);
  EXPECT_NE(text.find("sampled 600 loads and 400 stores, one in 1009 of a thread. 10 % of them met data"),
            text.npos)
      << text;
  EXPECT_NE(
      text.find("70 % the same data: counter, loaded at look() (a.cc:9), after a store at add() (a.cc:7)"),
      text.npos)
      << text;
  EXPECT_NE(
      text.find(
          "30 % different data in one cache line: 4 cache lines without names, stored at mine(), after a "
          "load at 0x30"),
      text.npos)
      << text;
  EXPECT_NE(text.find("known to 10 points"), text.npos) << text;
  EXPECT_NE(text.find("Of 3 samples the CPU did not record the address."), text.npos) << text;
}

TEST(SharedData, OnlySoManyRowsAreShown) {
  EXPECT_EQ(shared_data_text(with_accesses(), 1, kPlain).find("different data"), std::string::npos);
  EXPECT_EQ(shared_data_json(with_accesses())["rows"].size(), 2u);
}

TEST(SharedData, AProfileWithoutSamplesSaysNothing) {
  EXPECT_EQ(shared_data_text({}, 5, kPlain), "");
  EXPECT_EQ(shared_data_markdown({}, 5), "");
  EXPECT_TRUE(shared_data_json({}).is_null());
}

TEST(SharedData, NothingSharedIsSaid) {
  profile::Profile profile;
  profile.access_events = {.loads = 5};
  EXPECT_NE(shared_data_text(profile, 5, kPlain).find("none met another thread's access"), std::string::npos);
  EXPECT_EQ(shared_data_text(profile, 5, kPlain).find("points"), std::string::npos);
}

TEST(SharedData, TableAndJsonHaveTheSame) {
  const std::string markdown = shared_data_markdown(with_accesses(), 5);
  EXPECT_NE(markdown.find("| the same data | counter | loaded at look()"), std::string::npos) << markdown;
  const nlohmann::json json = shared_data_json(with_accesses());
  EXPECT_FALSE(json["rows"][0]["false_sharing"]);
  EXPECT_TRUE(json["rows"][1]["false_sharing"]);
  EXPECT_EQ(json["rows"][0]["title"], "counter");
  EXPECT_EQ(json["rows"][1]["title"], "4 cache lines without names");
  EXPECT_EQ(json["rows"][1]["lines"], 4);
  EXPECT_EQ(json["rows"][0]["share"], 0.7);
}

}  // namespace
}  // namespace elision::cli::experiment
