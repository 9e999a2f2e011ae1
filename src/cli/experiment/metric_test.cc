// SPDX-License-Identifier: Apache-2.0
// Results read out of what a program printed: which number counts, what is refused, and that time stays
// linear.
#include "cli/experiment/metric.h"

#include <gtest/gtest.h>

#include "cli/host/usage_error.h"

namespace elision::cli::experiment {
namespace {

std::string refusal_of(const std::string& expression) {
  try {
    Metric{expression};
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

Sample printing(const std::string& output) {
  Sample sample;
  sample.output = output;
  return sample;
}

TEST(Metric, LastMatchCounts) {
  const Metric metric("([0-9.,e+]+) ops/s");
  EXPECT_EQ(metric.read("1 ops/s\n2,500 ops/s\n"), 2500);
  EXPECT_EQ(metric.read("1.5e+6 ops/s"), 1.5e6);
  EXPECT_EQ(metric.read("none"), std::nullopt);
  EXPECT_EQ(Metric("[0-9]+").read("7 8"), 8);  // no group: the whole match
}

TEST(Metric, LinesBeginAndEndAnywhereInTheText) {
  EXPECT_EQ(Metric("^time ([0-9]+)$").read("a\ntime 7\nb\n"), 7);
}

TEST(Metric, UnmatchedGroupIsNoNumber) {
  EXPECT_EQ(Metric("rate ([0-9]+)|end").read("rate 5 end"), 5);
  EXPECT_EQ(Metric("rate ([0-9]+)|end").without("rate 5 end"), "rate # end");
}

TEST(Metric, NonFiniteNumberIsNotRead) {
  for (const char* text : {"rate nan", "rate inf", "rate 1e999", "rate x"})
    EXPECT_EQ(Metric("rate (.*)").read(text), std::nullopt) << text;
}

TEST(Metric, BytesThatAreNoTextDoNotHinder) {
  EXPECT_EQ(Metric("rate.([0-9]+)")
                .read("\xff\xfe rate\xff"
                      "12\n"),
            12);
}

TEST(Metric, IsTakenOutOfWhatIsCompared) {
  EXPECT_EQ(Metric("rate ([0-9]+)").without("a 1 rate 22 b rate 3\n"), "a 1 rate # b rate #\n");
}

TEST(Metric, LongLineTakesLinearTime) {
  const std::string line(1'000'000, 'a');
  EXPECT_EQ(Metric("(a|b)*").read(line + "\n12"), std::nullopt);
  EXPECT_EQ(Metric("(?:a+)+b|time ([0-9]+)").read(line + "\ntime 12"), 12);
}

TEST(Metric, BrokenExpressionIsNamedWithTheReason) {
  EXPECT_EQ(refusal_of("("), "--metric '(' is not a regular expression: missing ): (");
  EXPECT_NE(refusal_of("x{1001}").find("'x{1001}' is not a regular expression"), std::string::npos);
}

TEST(Metric, ConstructsWithoutLinearTimeAreNamed) {
  const std::string end = " is not supported (regular expressions are RE2's)";
  EXPECT_EQ(refusal_of("a(?=b)"), "--metric 'a(?=b)': look-ahead ('(?=')" + end);
  EXPECT_EQ(refusal_of("a(?!b)"), "--metric 'a(?!b)': look-ahead ('(?!')" + end);
  EXPECT_EQ(refusal_of("(?<=b)a"), "--metric '(?<=b)a': look-behind ('(?<=')" + end);
  EXPECT_EQ(refusal_of("([0-9])\\1"), "--metric '([0-9])\\1': a back reference ('\\1')" + end);
  EXPECT_EQ(refusal_of("[(?=]\\(?=(?>a)"), "--metric '[(?=]\\(?=(?>a)': an atomic group ('(?>')" + end);
}

TEST(Metric, ReasonWithoutNumberNamesWhatMatched) {
  EXPECT_EQ(Metric("speed ([0-9]+)").complaint(printing("slow"), "prog"),
            "--metric 'speed ([0-9]+)' matches nothing that prog printed");
  EXPECT_EQ(Metric("throughput").complaint(printing("throughput: 7"), "prog"),
            "--metric 'throughput' has no group and matches 'throughput', which is no number; put the number "
            "into a group, as in 'time: ([0-9.]+)'");
  EXPECT_EQ(Metric("rate (.*)").complaint(printing("rate nan"), "prog"),
            "the group of --metric 'rate (.*)' matches 'nan', which is no number");
}

}  // namespace
}  // namespace elision::cli::experiment
