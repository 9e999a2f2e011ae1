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
  EXPECT_EQ(nothing.design.base, abi::LockBase::kPthread);
  EXPECT_STREQ(design_name(nothing), "pthread");
  EXPECT_FALSE(nothing.unknown_design || nothing.wait_spins || nothing.rtm_always_abort || nothing.verbose);
  EXPECT_EQ(nothing.counters_directory, nullptr);
  EXPECT_EQ(nothing.parameters.speculation_tries, 4u);
  EXPECT_EQ(nothing.parameters.max_distance, 4u);
  EXPECT_EQ(nothing.parameters.min_distance, 2u);
  EXPECT_EQ(nothing.parameters.most_warm, 1u);
  EXPECT_EQ(nothing.parameters.busy, locks::Busy::kOutside);
  EXPECT_FALSE(nothing.parameters.backs_off || nothing.parameters.busy_counts ||
               nothing.parameters.abort_at_unlock || nothing.parameters.subscribes || nothing.off ||
               nothing.exclusive_rwlocks);
  EXPECT_EQ(nothing.parameters.pauses, 0u);
  EXPECT_TRUE(nothing.transactions);
  EXPECT_FALSE(nothing.hides_rtm);
}

TEST(Configuration, EveryDesignByName) {
  using abi::LockBase, abi::LockWait, abi::LockElision;
  struct Row {
    const char* name;
    LockBase base;
    LockWait wait;
    LockElision elision;
    std::uint32_t tries;
  };
  const Row rows[] = {
      {"pthread", LockBase::kPthread, LockWait::kPlain, LockElision::kNone, 0},
      {"glibc-elision", LockBase::kPthread, LockWait::kPlain, LockElision::kByGlibc, 0},
      {"tts", LockBase::kTts, LockWait::kPlain, LockElision::kNone, 0},
      {"tatas", LockBase::kTatas, LockWait::kPlain, LockElision::kNone, 0},
      {"ticket", LockBase::kTicket, LockWait::kPlain, LockElision::kNone, 0},
      {"ttstle", LockBase::kTts, LockWait::kPlain, LockElision::kOnceUnlessBusy, 1},
      {"htm-1", LockBase::kTatas, LockWait::kPlain, LockElision::kRetries, 1},
      {"htm-1000000", LockBase::kTatas, LockWait::kPlain, LockElision::kRetries, 1000000},
      {"htm-10-fb-aahtm", LockBase::kTatas, LockWait::kSpeculating, LockElision::kRetries, 10},
      {"hle-scm", LockBase::kTatas, LockWait::kPlain, LockElision::kConflictsQueue, 10},
      {"tatas-aahtm", LockBase::kTatas, LockWait::kSpeculating, LockElision::kNone, 0},
      {"tatas-pri-aahtm", LockBase::kTatas, LockWait::kSpeculatingWithPriority, LockElision::kNone, 0},
      {"ticket-aahtm", LockBase::kTicket, LockWait::kSpeculating, LockElision::kNone, 0},
      {"pthread-aahtm", LockBase::kPthread, LockWait::kSpeculating, LockElision::kNone, 0}};
  for (const Row& row : rows) {
    const Configuration parsed = parse({{"ELISION_LOCK", row.name}});
    EXPECT_FALSE(parsed.unknown_design) << row.name;
    EXPECT_EQ(parsed.design.base, row.base) << row.name;
    EXPECT_EQ(parsed.design.wait, row.wait) << row.name;
    EXPECT_EQ(parsed.design.elision, row.elision) << row.name;
    EXPECT_EQ(parsed.parameters.elision_tries, row.tries) << row.name;
    EXPECT_STREQ(design_name(parsed), row.name);
  }
}

TEST(Configuration, OffAndRecordedMeanPthread) {
  for (const auto& [name, value] :
       {std::pair{"ELISION_OFF", "1"}, std::pair{"RUNNING_UNDER_RR", "1"},
        std::pair{"LD_PRELOAD", "/v/vgpreload_core.so:/v/vgpreload_helgrind-amd64-linux.so"},
        std::pair{"LD_PRELOAD", "/v/vgpreload_drd-amd64-linux.so:/e/libelision.so"}}) {
    const Configuration parsed = parse({{"ELISION_LOCK", "htm-10"}, {name, value}});
    EXPECT_TRUE(parsed.off);
    EXPECT_FALSE(parsed.unknown_design);
    EXPECT_EQ(parsed.design.base, abi::LockBase::kPthread);
    EXPECT_FALSE(parsed.design.elides());
    EXPECT_STREQ(design_name(parsed), "pthread");
  }
  EXPECT_FALSE(
      parse({{"ELISION_OFF", "0"}, {"RUNNING_UNDER_RR", "0"}, {"LD_PRELOAD", "/v/vgpreload_memcheck.so"}})
          .off);
}

TEST(Configuration, UnknownDesignBehavesAsPthread) {
  for (const char* name : {"tatsa", "TATAS", "htm", "htm-", "htm-0", "htm-1x", "htm--1", "htm-4294967297",
                           "tatas ", "htm-01", "htm-N", "htm-10-fb", "htm--fb-aahtm"}) {
    const Configuration parsed = parse({{"ELISION_LOCK", name}});
    EXPECT_TRUE(parsed.unknown_design) << name;
    EXPECT_EQ(parsed.design.base, abi::LockBase::kPthread) << name;
    EXPECT_STREQ(parsed.asked_design, name);
    EXPECT_STREQ(design_name(parsed), "pthread");
  }
}

TEST(Configuration, EveryVariable) {
  const Configuration parsed = parse({{"ELISION_WAIT", "spin"},
                                      {"ELISION_BUSY", "inside"},
                                      {"ELISION_BUSY_COUNTS", "1"},
                                      {"ELISION_RETRY", "back-off"},
                                      {"ELISION_SPECULATION", "abort-at-unlock"},
                                      {"ELISION_TRIES", "7"},
                                      {"ELISION_MAX_DIST", "9"},
                                      {"ELISION_MIN_DIST", "0"},
                                      {"ELISION_MAX_SPECS", "3"},
                                      {"ELISION_SUBSCRIBE", "1"},
                                      {"ELISION_PAUSES", "8"},
                                      {"ELISION_RWLOCK", "exclusive"},
                                      {"ELISION_CONDITION", "aware"},
                                      {"ELISION_TRANSACTIONS", "0"},
                                      {"ELISION_RTM_ALWAYS_ABORT", "1"},
                                      {"ELISION_HIDE_RTM", "1"},
                                      {"ELISION_COUNTERS_DIR", "/tmp/x"},
                                      {"ELISION_VERBOSE", "1"},
                                      {"ELISION_LOCK", "ticket-aahtm"}});
  EXPECT_TRUE(parsed.wait_spins && parsed.rtm_always_abort && parsed.verbose);
  EXPECT_TRUE(parsed.parameters.busy_counts && parsed.parameters.abort_at_unlock && parsed.exclusive_rwlocks);
  EXPECT_TRUE(parsed.parameters.backs_off && parsed.parameters.subscribes);
  EXPECT_EQ(parsed.parameters.pauses, 8u);
  EXPECT_EQ(parsed.condition, ConditionKind::kAware);
  EXPECT_FALSE(parsed.transactions);
  EXPECT_TRUE(parsed.hides_rtm);
  EXPECT_EQ(parsed.parameters.busy, locks::Busy::kInside);
  EXPECT_EQ(parse({{"ELISION_BUSY", "abort"}}).parameters.busy, locks::Busy::kAbort);
  EXPECT_EQ(parsed.parameters.most_warm, 3u);
  EXPECT_EQ(parsed.parameters.speculation_tries, 7u);
  EXPECT_EQ(parsed.parameters.max_distance, 9u);
  EXPECT_EQ(parsed.parameters.min_distance, 0u);
  EXPECT_STREQ(parsed.counters_directory, "/tmp/x");
}

TEST(Configuration, UnknownValueMeansDefault) {
  const Configuration parsed = parse({{"ELISION_WAIT", "spinn"},
                                      {"ELISION_TRIES", "many"},
                                      {"ELISION_MAX_DIST", ""},
                                      {"ELISION_HIDE_RTM", "yes"}});
  EXPECT_FALSE(parsed.wait_spins || parsed.hides_rtm);
  EXPECT_EQ(parsed.parameters.speculation_tries, 4u);
  EXPECT_EQ(parsed.parameters.max_distance, 4u);
}

TEST(Configuration, NameOfElidedDesignSetsTries) {
  EXPECT_EQ(parse({{"ELISION_LOCK", "htm-3"}, {"ELISION_TRIES", "9"}}).parameters.elision_tries, 3u);
  EXPECT_EQ(parse({{"ELISION_LOCK", "hle-scm"}, {"ELISION_SCM_TRIES", "5"}}).parameters.elision_tries, 5u);
}

}  // namespace
}  // namespace elision::runtime
