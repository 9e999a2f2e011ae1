// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/show/annotate_text.h"

namespace elision::cli::experiment {
namespace {

using profile::Conflict;
using profile::Lock;
using profile::SourceFunction;
using profile::State;

SourceText numbered_lines(std::size_t count) {
  SourceText source;
  for (std::size_t i = 1; i <= count; ++i) source.lines.push_back("\tcode " + std::to_string(i));
  return source;
}

/// Waiting at line 2, holding at lines 2 and 9.
SourceFunction function_for_test() {
  SourceFunction function;
  function.name = "transfer()";
  function.file = "bank.cc";
  time_in(function.ns, State::kWaiting) = time_in(function.lines[2].ns, State::kWaiting) = 5e6;
  time_in(function.ns, State::kSection) = 4e6;
  time_in(function.lines[2].ns, State::kSection) = 1e6;
  time_in(function.lines[9].ns, State::kSection) = 3e6;
  time_in(function.own_ns, State::kSection) = 3e6;
  return function;
}

TEST(Annotate, LinesHaveTheirTimesAndTwoLinesAround) {
  EXPECT_EQ(annotated_text(function_for_test(), numbered_lines(20)),
            "transfer() in bank.cc: 9.00 ms, of which 3.00 ms its own\n"
            "     section     waiting  line\n"
            "                             1          code 1\n"
            "     1.00 ms     5.00 ms     2          code 2\n"
            "                             3          code 3\n"
            "                             4          code 4\n"
            "                           ...\n"
            "                             7          code 7\n"
            "                             8          code 8\n"
            "     3.00 ms                 9          code 9\n"
            "                            10          code 10\n"
            "                            11          code 11\n");
}

TEST(Annotate, WithoutSourceOnlyLinesWithTimeAreShown) {
  EXPECT_EQ(annotated_text(function_for_test(), {{}, "'bank.cc' is not there"}),
            "transfer() in bank.cc: 9.00 ms, of which 3.00 ms its own\n"
            "'bank.cc' is not there\n"
            "     section     waiting  line\n"
            "     1.00 ms     5.00 ms     2\n"
            "                           ...\n"
            "     3.00 ms                 9\n");
}

TEST(Annotate, ConflictsStandBelowTheirLine) {
  Lock lock;
  lock.place = {0x1000, "queue_lock"};
  Conflict conflict;
  conflict.data = {0x2000, "accounts+0x8"};
  conflict.victim = {0x10, "transfer()", "bank.cc", 2};
  conflict.other = {0x20, "audit()", "audit.cc", 7};
  conflict.counts = {.count = 40, .apart = 40};
  Conflict unknown = conflict;
  unknown.other = {};
  unknown.counts = {.count = 1, .unknown = 1};
  SourceFunction function;
  function.name = "transfer()";
  function.file = "bank.cc";
  function.lines[2].conflicts = {
      {&lock, &conflict, true}, {&lock, &unknown, true}, {&lock, &conflict, false}};
  EXPECT_EQ(
      annotated_text(function, {{}, "no source"}),
      "transfer() in bank.cc\n"
      "no source\n"
      "  line\n"
      "     2\n"
      "        ^ aborts 40 times because of audit() (audit.cc:7): accounts+0x8 under queue_lock, by false "
      "sharing\n"
      "        ^ aborts once because of an access that is not known: accounts+0x8 under queue_lock\n"
      "        ^ ends attempts 40 times, of transfer() (bank.cc:2): accounts+0x8 under queue_lock, by "
      "false sharing\n");
}

TEST(Annotate, SourceCannotControlATerminal) {
  SourceText source;
  source.lines = {"", "\x1b[2J \xff"};
  SourceFunction function = function_for_test();
  function.lines.erase(9);
  EXPECT_NE(annotated_text(function, source).find("     2  \\x1b[2J \\xff\n"), std::string::npos);
}

}  // namespace
}  // namespace elision::cli::experiment
