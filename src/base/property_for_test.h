// SPDX-License-Identifier: Apache-2.0
// Properties checked by RapidCheck within GoogleTest. A failure is shrunk to a small counterexample and shows
// the command that repeats it. The same cases run every time, unless RC_PARAMS says otherwise, as in
// RC_PARAMS="seed=7 max_success=1000".
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cerrno>  // program_invocation_name
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace elision {

namespace property_internal {

class SilentListener final : public rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

inline std::string current_test() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(test->test_suite_name()) + "." + test->name();
}

inline std::string command_that_repeats(const std::string& test, const rc::detail::FailureResult& failure) {
  rc::detail::Configuration configuration;
  configuration.reproduce[test] = failure.reproduce;
  return "RC_PARAMS=\"" + rc::detail::configToMinimalString(configuration) + "\" " + program_invocation_name +
         " --gtest_filter=" + test;
}

inline void report(const std::string& test, const rc::detail::TestResult& result) {
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  if (result.is<rc::detail::FailureResult>())
    text << "\n\nRepeat with\n" << command_that_repeats(test, result.get<rc::detail::FailureResult>());
  ADD_FAILURE() << text.str();
}

}  // namespace property_internal

/// Checks `property`, a function whose arguments are generated and that fails by RC_ASSERT, on `cases`
/// inputs.
template <class Property>
void check_property(int cases, Property&& property) {
  rc::detail::Configuration fixed;
  fixed.testParams.seed = 1;
  fixed.testParams.maxSuccess = cases;
  const char* asked = std::getenv("RC_PARAMS");
  const auto configuration = rc::detail::configFromString(asked == nullptr ? "" : asked, fixed);
  const std::string test = property_internal::current_test();
  property_internal::SilentListener silent;
  property_internal::report(
      test, rc::detail::checkProperty(rc::detail::toProperty(std::forward<Property>(property)), {test, ""},
                                      configuration.testParams, silent, configuration.reproduce));
}

/// The number `most`, which shrinks towards 0.
inline rc::Gen<std::size_t> shrinking_from(std::size_t most) {
  return rc::Gen<std::size_t>([most](const rc::Random&, int) {
    return rc::shrinkable::shrinkRecur(most, [](std::size_t count) { return rc::shrink::integral(count); });
  });
}

/// `length` steps, each made by `draw` from random numbers. Shrinking leaves steps out.
template <class Draw>
auto steps(std::size_t length, Draw draw) {
  using Steps = std::vector<decltype(draw(std::declval<Random&>()))>;
  return rc::Gen<Steps>([length, draw](const rc::Random& seed, int) {
    Random random(rc::Random(seed).next());
    Steps all;
    all.reserve(length);
    for (std::size_t i = 0; i < length; ++i) all.push_back(draw(random));
    return rc::shrinkable::shrinkRecur(std::move(all),
                                       [](const Steps& some) { return rc::shrink::removeChunks(some); });
  });
}

}  // namespace elision
