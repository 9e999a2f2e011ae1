// SPDX-License-Identifier: Apache-2.0
#include "vm/report/profile_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace elision::vm {
namespace {

ProfileReport example() {
  return {
      .program = "prog",
      .lines = {{.name = "code", .group = WorkGroup::kTranslated, .count = 2000000, .ns = 6e6, .events = {}},
                {.name = "access",
                 .group = WorkGroup::kAccess,
                 .count = 10000,
                 .ns = 3e6,
                 .events = {.accesses = 10001, .l1_misses = 9}},
                {.name = "kernel", .count = 4, .ns = 1e6, .events = {}}},
      .ns = 1e7,
      .own_ns = 5e5,
      .wall_ns = 1.05e7,
      .cpu_ns = 9e6};
}

TEST(ProfileReport, TableHasTimesSharesAndWhatOneCosts) {
  const std::string text = profile_table(example());
  EXPECT_EQ(
      text,
      "elision vm: 10.0 ms of the host's time for prog, and 0.5 ms for this profile (CPU time: 9.0 ms):\n"
      "                                              count          time    share       each\n"
      "  code                                      2000000       6.00 ms   60.0 %     3.0 ns\n"
      "  access                                      10000       3.00 ms   30.0 %   300.0 ns\n"
      "  kernel                                          4       1.00 ms   10.0 % 250000.0 ns\n"
      "  In all: translated code 60 %, accesses that left it 30 %, order and changes of CPU 0 %, the rest of "
      "the engine 10 %. The largest is where a faster virtual machine would gain most.\n");
}

TEST(ProfileReport, NothingMeasuredDividesByNothing) {
  const std::string text = profile_table({.program = "prog", .lines = {{.name = "code"}}});
  EXPECT_NE(text.find("0.0 %"), text.npos);
  EXPECT_EQ(text.find("nan"), text.npos);
}

TEST(ProfileReport, JsonLeavesOutEventsThatDidNotHappen) {
  const nlohmann::ordered_json json = profile_json(example());
  EXPECT_EQ(
      json.dump(),
      R"({"ns":10000000,"own_ns":500000,"wall_ns":10500000,"cpu_ns":9000000,"work":{"code":{"count":2000000,"ns":6000000},)"
      R"("access":{"count":10000,"ns":3000000,"accesses":10001,"l1_misses":9},)"
      R"("kernel":{"count":4,"ns":1000000}}})");
}

}  // namespace
}  // namespace elision::vm
