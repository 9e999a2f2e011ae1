// SPDX-License-Identifier: Apache-2.0
// The environment in, the configuration out; and the table's defaults, which are the papers' values.
#include "runtime/configuration.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace elision::runtime {
namespace {

std::map<std::string, std::string> variables;

const char* look_up(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

Configuration parse(std::map<std::string, std::string> given) {
  variables = std::move(given);
  return parse_configuration(look_up);
}

TEST(Configuration, DefaultsAreThePapers) {
  const Configuration nothing = parse({});
  EXPECT_EQ(nothing.base, Base::kPthread);
  EXPECT_STREQ(design_name(nothing), "pthread");
  EXPECT_FALSE(nothing.unknown_design || nothing.wait_spins || nothing.rtm_always_abort || nothing.verbose);
  EXPECT_EQ(nothing.counters_directory, nullptr);
  EXPECT_EQ(nothing.parameters.tries, 4u);
  EXPECT_EQ(nothing.parameters.max_distance, 4u);
  EXPECT_EQ(nothing.parameters.min_distance, 2u);
  EXPECT_FALSE(nothing.parameters.busy_inside || nothing.parameters.busy_counts ||
               nothing.parameters.abort_at_unlock);
}

TEST(Configuration, EveryDesignByName) {
  struct Row {
    const char* name;
    Base base;
    bool speculates;
    std::uint32_t tries;
  };
  const Row rows[] = {
      {"pthread", Base::kPthread, false, 4},    {"tatas", Base::kTatas, false, 4},
      {"ticket", Base::kTicket, false, 4},      {"tatas-aahtm", Base::kTatas, true, 4},
      {"ticket-aahtm", Base::kTicket, true, 4}, {"htm-1", Base::kElided, false, 1},
      {"htm-10", Base::kElided, false, 10},     {"htm-1000000", Base::kElided, false, 1000000}};
  for (const Row& row : rows) {
    const Configuration parsed = parse({{"ELISION_LOCK", row.name}});
    EXPECT_FALSE(parsed.unknown_design) << row.name;
    EXPECT_EQ(parsed.base, row.base) << row.name;
    EXPECT_EQ(parsed.speculates, row.speculates) << row.name;
    EXPECT_EQ(parsed.parameters.tries, row.tries) << row.name;
    EXPECT_STREQ(design_name(parsed), row.name);
  }
}

TEST(Configuration, WhatIsNoDesignBehavesAsPthread) {
  for (const char* name :
       {"tatsa", "TATAS", "htm", "htm-", "htm-0", "htm-1x", "htm--1", "htm-4294967297", "tatas "}) {
    const Configuration parsed = parse({{"ELISION_LOCK", name}});
    EXPECT_TRUE(parsed.unknown_design) << name;
    EXPECT_EQ(parsed.base, Base::kPthread) << name;
    EXPECT_STREQ(parsed.asked_design, name);
    EXPECT_STREQ(design_name(parsed), "pthread");
  }
}

TEST(Configuration, EveryVariable) {
  const Configuration parsed = parse({{"ELISION_WAIT", "spin"},
                                      {"ELISION_BUSY", "inside"},
                                      {"ELISION_BUSY_COUNTS", "1"},
                                      {"ELISION_SPECULATION", "abort-at-unlock"},
                                      {"ELISION_TRIES", "7"},
                                      {"ELISION_MAX_DIST", "9"},
                                      {"ELISION_MIN_DIST", "0"},
                                      {"ELISION_RTM_ALWAYS_ABORT", "1"},
                                      {"ELISION_COUNTERS_DIR", "/tmp/x"},
                                      {"ELISION_VERBOSE", "1"},
                                      {"ELISION_LOCK", "ticket-aahtm"}});
  EXPECT_TRUE(parsed.wait_spins && parsed.rtm_always_abort && parsed.verbose);
  EXPECT_TRUE(parsed.parameters.busy_inside && parsed.parameters.busy_counts &&
              parsed.parameters.abort_at_unlock);
  EXPECT_EQ(parsed.parameters.tries, 7u);
  EXPECT_EQ(parsed.parameters.max_distance, 9u);
  EXPECT_EQ(parsed.parameters.min_distance, 0u);
  EXPECT_STREQ(parsed.counters_directory, "/tmp/x");
}

TEST(Configuration, AnUnknownValueMeansTheDefault) {
  const Configuration parsed =
      parse({{"ELISION_WAIT", "spinn"}, {"ELISION_TRIES", "many"}, {"ELISION_MAX_DIST", ""}});
  EXPECT_FALSE(parsed.wait_spins);
  EXPECT_EQ(parsed.parameters.tries, 4u);
  EXPECT_EQ(parsed.parameters.max_distance, 4u);
}

TEST(Configuration, TheNumberOfTriesOfAnElidedDesignIsInItsName) {
  EXPECT_EQ(parse({{"ELISION_LOCK", "htm-3"}, {"ELISION_TRIES", "9"}}).parameters.tries, 3u);
}

}  // namespace
}  // namespace elision::runtime
