// SPDX-License-Identifier: Apache-2.0
// Follows this program's own calls, from a copy of its stack.
#include "profile/unwinder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

namespace elision::profile {
namespace {

constexpr std::size_t kMost = 64;

std::string own_memory_map() {
  std::ifstream stream("/proc/self/maps");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool read_own(std::uint64_t address, void* to, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return true;
}

struct Copy {
  DwarfRegisters registers{};
  std::vector<std::uint8_t> stack;
};

/// What the tests copy of the stack: there is more of it even where the environment is empty.
constexpr std::size_t kStack = 1024;

/// The registers that calls preserve, and `bytes` of the stack.
[[gnu::noinline]] Copy copy_here(std::size_t bytes) {
  Copy copy;
  std::uint64_t* const to = copy.registers.data();
  asm volatile(
      "movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)\n\t"
      "leaq 1f(%%rip), %%rax\n\t1: movq %%rax, 128(%0)"
      :
      : "r"(to)
      : "rax", "memory");
  const auto* const from = reinterpret_cast<const std::uint8_t*>(copy.registers[kDwarfStackPointer]);
  copy.stack.assign(from, from + bytes);
  return copy;
}

[[gnu::noinline]] Copy inner(std::size_t bytes) {
  Copy copy = copy_here(bytes);
  asm volatile("");
  return copy;
}
[[gnu::noinline]] Copy middle(std::size_t bytes) {
  Copy copy = inner(bytes);
  asm volatile("" : : : "memory");
  return copy;
}

class Calls : public ::testing::Test {
 protected:
  std::vector<std::string> names_of(const Copy& copy, std::size_t limit = kMost) {
    const StackBytes stack{copy.stack.data(), copy.stack.size()};
    std::vector<std::string> found;
    for (const CallStep& step : unwinder.backtrace(copy.registers, &stack, limit)) {
      std::uint64_t offset = 0;
      found.push_back(names.symbol(step.place(), offset));
    }
    return found;
  }
  static bool is(const std::string& name, const char* function) {
    return name.find(function) != std::string::npos;
  }

  const Names names{own_memory_map()};
  Unwinder unwinder{names, read_own};
};

TEST_F(Calls, AreFollowedInACopyOfTheStack) {
  const std::vector<std::string> found = names_of(middle(kStack));
  ASSERT_GE(found.size(), 4u);
  EXPECT_TRUE(is(found[0], "copy_here")) << found[0];
  EXPECT_TRUE(is(found[1], "inner")) << found[1];
  EXPECT_TRUE(is(found[2], "middle")) << found[2];
  EXPECT_TRUE(is(found[3], "TestBody")) << found[3];
}

TEST_F(Calls, EndWhereTheCopyEnds) {
  const std::vector<std::string> whole = names_of(middle(kStack));
  std::size_t steps = 1;
  EXPECT_EQ(names_of(middle(0)).size(), 1u);
  for (std::size_t bytes = 8; bytes <= kStack; bytes += 8) {
    const std::vector<std::string> cut = names_of(middle(bytes));
    ASSERT_GE(cut.size(), steps) << bytes;
    ASSERT_LE(cut.size(), whole.size()) << bytes;
    EXPECT_TRUE(std::equal(cut.begin(), cut.end(), whole.begin()))
        << "the same steps, with " << bytes << " bytes";
    steps = cut.size();
  }
  EXPECT_EQ(steps, whole.size());
}

TEST_F(Calls, EndAtTheLimit) { EXPECT_EQ(names_of(middle(kStack), 2).size(), 2u); }

TEST_F(Calls, SurviveAnyRegisters) {
  Copy copy = middle(512);
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    copy.registers.fill(value);
    EXPECT_LE(names_of(copy).size(), kMost);
  }
}

}  // namespace
}  // namespace elision::profile
