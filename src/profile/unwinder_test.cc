// SPDX-License-Identifier: Apache-2.0
// Follows this program's own calls, from a copy of its stack.
#include "profile/unwinder.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
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

// A child is followed in single steps through code of many kinds: of libraries without frame pointers, with
// callbacks, of the dynamic linker, stubs of the PLT, a signal handler, exceptions, frames of variable size.

int handled = 0;
void handle(int) { handled = std::snprintf(nullptr, 0, "%d", handled); }
[[gnu::noinline]] double sum_of_variable_size(std::size_t count) {
  auto* const numbers = static_cast<volatile double*>(__builtin_alloca(count * sizeof(double)));
  for (std::size_t i = 0; i < count; ++i) numbers[i] = std::strtod("1.5", nullptr);
  return numbers[count / 2];
}
[[gnu::noinline]] void throw_it(int depth) {
  if (depth == 0) throw std::string("a text that is longer than its object");
  throw_it(depth - 1);
  asm volatile("");
}
void do_much() {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g %s", sum_of_variable_size(3), "text");
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof numbers[0], [](const void* a, const void* b) {
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  std::signal(SIGUSR1, handle);
  std::raise(SIGUSR1);
  try {
    throw_it(3);
  } catch (const std::string& thrown) {
    std::ostringstream stream;
    stream << thrown << numbers[0];
  }
}

DwarfRegisters registers_of(pid_t thread) {
  user_regs_struct at{};
  ptrace(PTRACE_GETREGS, thread, nullptr, &at);
  return {at.rax, at.rdx, at.rcx, at.rbx, at.rsi, at.rdi, at.rbp, at.rsp, at.r8,
          at.r9,  at.r10, at.r11, at.r12, at.r13, at.r14, at.r15, at.rip};
}

TEST(CallsOfOthers, AreTheSameByOwnRulesAndByTheLibraryAtEachStep) {
  constexpr unsigned kStride = 31;  // instructions from one comparison to the next
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    std::raise(SIGSTOP);
    do_much();
    _exit(0);
  }
  const auto read = [child](std::uint64_t address, void* to, std::size_t bytes) {
    const iovec ours{to, bytes}, theirs{reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(child, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes);
  };
  const Names names{own_memory_map()}, names_for_library{own_memory_map()};
  Unwinder own(names, read), by_library(names_for_library, read, Unwinder::Steps::kByLibrary);
  int status = 0, signal = 0;
  unsigned compared = 0, different = 0;
  std::size_t longest = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSTOPPED(status));
  for (std::uint64_t instruction = 0; WIFSTOPPED(status); ++instruction) {
    if (instruction % kStride == 0) {
      const DwarfRegisters registers = registers_of(child);
      const std::vector<CallStep> ours = own.backtrace(registers, nullptr, kMost),
                                  theirs = by_library.backtrace(registers, nullptr, kMost);
      ++compared;
      longest = std::max(longest, ours.size());
      const auto same = [](const CallStep& a, const CallStep& b) {
        return a.pc == b.pc && a.returns_here == b.returns_here;
      };
      if (!std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), same) && ++different == 1) {
        std::uint64_t offset = 0;
        ADD_FAILURE() << "at " << names.symbol(registers[kDwarfPc], offset) << "+" << offset << ": "
                      << ours.size() << " and " << theirs.size() << " steps";
      }
    }
    ASSERT_EQ(ptrace(PTRACE_SINGLESTEP, child, nullptr, signal), 0);
    waitpid(child, &status, 0);
    signal = WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1 ? SIGUSR1 : 0;
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(different, 0u) << "of " << compared;
  EXPECT_GT(compared, 500u);
  EXPECT_GT(longest, 8u);
  std::printf("%u compared, the longest of %zu steps\n", compared, longest);
}

}  // namespace
}  // namespace elision::profile
