// SPDX-License-Identifier: Apache-2.0
#include "profile/source_lines.h"

#include <gtest/gtest.h>

namespace elision::profile {
namespace {

const Place kMain = {0x100, "main", "/src/bank.cc", 90};
const Place kFrom = {0x200, "bank::transfer()", "/src/bank.cc", 12};
const Place kTo = {0x210, "bank::transfer()", "/src/bank.cc", 13};
const Place kLibrary = {0x900, "pthread_mutex_lock", "", 0};

/// main calls transfer, whose first line waits in a library; the second one holds the lock.
Profile profile_of_bank() {
  Profile profile;
  profile.locks.resize(1);
  profile.locks[0].place = {0x5000, "lock"};
  profile.threads.resize(1);
  profile.frames = {kMain, kFrom, kTo, kLibrary};
  profile.paths = {{State::kWaiting, 0, 0, {0, 1, 3}, 500, 5},
                   {State::kSection, 0, 0, {0, 2}, 300, 3},
                   {State::kOutside, Path::kNoLock, 0, {0}, 9000, 90}};
  return profile;
}

Conflict conflict(const Place& victim, const Place& other, double count) {
  Conflict conflict;
  conflict.victim = victim;
  conflict.other = other;
  conflict.counts.count = count;
  return conflict;
}

TEST(SourceFunctions, ThoseWithTimeAtLocksComeFirst) {
  const std::vector<SourceFunction> functions = source_functions(profile_of_bank());
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "bank::transfer()");
  EXPECT_EQ(functions[1].name, "main");
}

TEST(SourceFunctions, TimeIsOwnWhereCalleesHaveNoSource) {
  const std::vector<SourceFunction> functions = source_functions(profile_of_bank());
  EXPECT_EQ(at_locks_ns(functions[0].own_ns), 800);
  EXPECT_EQ(sum_ns(functions[1].ns), 9800);
  EXPECT_EQ(sum_ns(functions[1].own_ns), 9000);
}

TEST(SourceFunctions, EachLineHasTheTimeOfEachState) {
  const SourceFunction transfer = source_functions(profile_of_bank())[0];
  ASSERT_EQ(transfer.lines.size(), 2u);
  EXPECT_EQ(time_in(transfer.lines.at(12).ns, State::kWaiting), 500);
  EXPECT_EQ(sum_ns(transfer.lines.at(12).ns), 500);
  EXPECT_EQ(time_in(transfer.lines.at(13).ns, State::kSection), 300);
}

TEST(SourceFunctions, RecursionCountsOnce) {
  Profile profile = profile_of_bank();
  profile.paths = {{State::kSection, 0, 0, {1, 1, 2, 1}, 100, 1}};
  const SourceFunction transfer = source_functions(profile)[0];
  EXPECT_EQ(sum_ns(transfer.ns), 100);
  EXPECT_EQ(sum_ns(transfer.own_ns), 100);
  EXPECT_EQ(sum_ns(transfer.lines.at(12).ns), 100);
}

TEST(SourceFunctions, ConflictsStandOnBothLinesByTheNameOfTheFile) {
  Profile profile = profile_of_bank();
  Place victim = kFrom, other = kTo;
  victim.file = other.file = "bank.cc";
  profile.locks[0].conflicts = {conflict(victim, other, 3), conflict(victim, {}, 7)};
  const std::vector<SourceFunction> functions = source_functions(profile);
  ASSERT_EQ(functions.size(), 2u) << "the function is the one with time";
  const std::vector<LineConflict>& first = functions[0].lines.at(12).conflicts;
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].conflict->counts.count, 7) << "most frequent first";
  EXPECT_TRUE(first[0].is_victim);
  ASSERT_EQ(functions[0].lines.at(13).conflicts.size(), 1u);
  EXPECT_FALSE(functions[0].lines.at(13).conflicts[0].is_victim);
}

TEST(SourceFunctions, FunctionMayHaveConflictsAlone) {
  Profile profile = profile_of_bank();
  profile.paths.clear();
  profile.locks[0].conflicts = {conflict(kMain, kLibrary, 1), conflict(kTo, kLibrary, 2)};
  const std::vector<SourceFunction> functions = source_functions(profile);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "bank::transfer()");
}

TEST(SourceFunctions, NameMayLackNamespacesAndParentheses) {
  SourceFunction function;
  function.name = "bank::Account<int (*)(int)>::add()";
  for (const char* name :
       {"bank::Account<int (*)(int)>::add()", "bank::Account<int (*)(int)>::add", "add", "add()"})
    EXPECT_TRUE(is_called(function, name)) << name;
  EXPECT_EQ(short_name(function), "add");
  for (const char* name : {"dd", "Account", "bank", "sub"}) EXPECT_FALSE(is_called(function, name)) << name;
}

TEST(SourceFunctions, ShortNameKeepsItsTemplateArguments) {
  const auto short_name_of = [](const char* name) {
    SourceFunction function;
    function.name = name;
    return short_name(function);
  };
  EXPECT_EQ(short_name_of("push<std::string>"), "push<std::string>");
  EXPECT_EQ(short_name_of("q::Queue<a::B>::push<std::string>(std::string)"), "push<std::string>");
  EXPECT_EQ(short_name_of("q::Queue<a::B>::operator<<"), "operator<<");
  EXPECT_EQ(short_name_of("q::Queue::operator->"), "operator->");
  EXPECT_EQ(short_name_of("(anonymous namespace)::pop"), "pop");
  EXPECT_EQ(short_name_of("main"), "main");
}

}  // namespace
}  // namespace elision::profile
