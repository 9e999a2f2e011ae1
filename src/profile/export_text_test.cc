// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "profile/export_folded.h"
#include "profile/export_for_test.h"
#include "profile/export_rows.h"
#include "profile/export_speedscope.h"

namespace elision::profile {
namespace {

using nlohmann::ordered_json;

TEST(Folded, LinesAreSortedAndSafe) {
  EXPECT_EQ(folded_text(table_for_test()),
            "thread 11;[unknown];[waiting for queue:lock] 1\n"
            "worker (12);main;transfer 2\n"
            "worker (12);main;transfer;add;[waiting for queue:lock] 5\n");
}

TEST(Folded, StacksThatReadAlikeAreAddedBeforeTheyAreRounded) {
  Profile profile = profile_for_test();
  profile.paths = {{State::kOutside, Path::kNoLock, 0, {0, 1}, 300, 1},
                   {State::kOutside, Path::kNoLock, 0, {0, 3}, 300, 1},
                   {State::kOutside, Path::kNoLock, 1, {0}, 300, 1}};
  EXPECT_EQ(folded_text(paths_of_time(profile)), "worker (12);main;transfer 1\n")
      << "nothing of the last one";
}

TEST(Folded, NameStaysInItsLine) { EXPECT_EQ(folded_name("f;\n<int>"), "f:\\n<int>"); }

TEST(Speedscope, FunctionAtSeveralLinesIsOneFrame) {
  const ordered_json file = speedscope_json(table_for_test(), kOriginForTest);
  ASSERT_EQ(file["profiles"].size(), 3u) << "all, outside, waiting";
  EXPECT_EQ(file["profiles"][0]["samples"], ordered_json::parse("[[0, 1, 2, 3], [0, 1], [4, 3]]"));
  EXPECT_EQ(file["profiles"][2]["weights"], ordered_json::parse("[5000, 1000]"));
  EXPECT_EQ(file["profiles"][2]["endValue"], 6000);
}

TEST(Rows, WhatIsNotKnownIsNullOrEmpty) {
  const ordered_json row = rows_json(table_for_test())[2];
  EXPECT_EQ(row["thread"], ordered_json::parse(R"({"id": 11, "name": null})"));
  EXPECT_EQ(row["stack"], ordered_json::array());
  const ExportTable table = rows_table(table_for_test());
  EXPECT_EQ(table.rows[1],
            (std::vector<std::string>{"outside", "", "12", "worker", "2000", "2", "main;transfer"}));
  EXPECT_EQ(table.rows[2].back(), "");
}

TEST(ExportsOfAborts, HaveCausesAndCycles) {
  const PathTable aborts = paths_of_aborts(aborts_for_test());
  EXPECT_EQ(folded_text(aborts),
            "all threads;[in a transaction];[many places];[a {} b] 500\n"
            "all threads;main;transfer;[in a transaction];transfer;[capacity] 2500\n"
            "all threads;main;transfer;[in a transaction];transfer;add;[conflict] 6000\n");
  const ordered_json row = rows_json(aborts)[1];
  EXPECT_EQ(row["cause"], "capacity");
  EXPECT_EQ(row["cycles"], 2500);
  EXPECT_FALSE(row.contains("thread"));
  EXPECT_EQ(rows_table(aborts).columns, (std::vector<std::string>{"cause", "cycles", "samples", "stack"}));
  EXPECT_EQ(rows_table(aborts).rows[0].size(), 4u);
  const ordered_json file = speedscope_json(aborts, kOriginForTest);
  EXPECT_EQ(file["profiles"][0]["name"], "all causes");
  EXPECT_EQ(file["profiles"][0]["unit"], "none");
  EXPECT_EQ(file["profiles"][0]["endValue"], 9000);
}

}  // namespace
}  // namespace elision::profile
