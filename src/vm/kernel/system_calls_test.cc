// SPDX-License-Identifier: Apache-2.0
#include "vm/kernel/system_calls.h"

#include <gtest/gtest.h>

#include <set>

#include "vm/kernel/system_call_names.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kLast = 462;

TEST(SystemCalls, EveryNumberWithANameIsDecided) {
  for (const NamedSystemCall& call : named_system_calls())
    EXPECT_NE(find_call_handler(call.number), nullptr) << call.number << " " << call.name;
}

TEST(SystemCalls, EveryNumberHasOneName) {
  std::set<std::uint64_t> numbers;
  for (const NamedSystemCall& call : named_system_calls())
    EXPECT_TRUE(numbers.insert(call.number).second) << call.name;
  for (std::uint64_t number = 0; number <= kLast; ++number) {
    const bool gap = number > 334 && number < 424;  // syscall_64.tbl has none there
    EXPECT_EQ(numbers.contains(number), !gap) << number;
    EXPECT_EQ(system_call_name(number) != nullptr, !gap) << number;
  }
}

TEST(SystemCalls, OthersAreUnknown) {
  for (const std::uint64_t number : {std::uint64_t{335}, std::uint64_t{423}, kLast + 1, ~std::uint64_t{0}}) {
    EXPECT_EQ(find_call_handler(number), nullptr) << number;
    EXPECT_EQ(system_call_name(number), nullptr) << number;
  }
}

}  // namespace
}  // namespace elision::vm
