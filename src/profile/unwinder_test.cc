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

bool read_registers(pid_t thread, DwarfRegisters& registers) {
  user_regs_struct at{};
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &at) != 0) return false;
  registers = {at.rax, at.rdx, at.rcx, at.rbx, at.rsi, at.rdi, at.rbp, at.rsp, at.r8,
               at.r9,  at.r10, at.r11, at.r12, at.r13, at.r14, at.r15, at.rip};
  return true;
}

/// The end of this process's first stack, which a child has, too.
std::uint64_t end_of_stack() {
  std::ifstream map("/proc/self/maps");
  for (std::string line; std::getline(map, line);)
    if (line.ends_with("[stack]")) return std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
  return 0;
}

/// A child that stops after each instruction of do_much().
class Stepped {
 public:
  Stepped() : child_(fork()) {
    if (child_ == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kNotAllowed);
      std::raise(SIGSTOP);
      do_much();
      _exit(0);
    }
    if (child_ > 0) waitpid(child_, &status_, 0);
  }
  ~Stepped() {
    if (child_ <= 0 || !WIFSTOPPED(status_)) return;
    kill(child_, SIGKILL);
    waitpid(child_, &status_, 0);
  }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  pid_t child() const { return child_; }
  bool is_stopped() const { return child_ > 0 && WIFSTOPPED(status_); }
  bool is_not_allowed() const {
    return child_ > 0 && WIFEXITED(status_) && WEXITSTATUS(status_) == kNotAllowed;
  }
  bool has_ended_well() const { return child_ > 0 && WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  bool step() {
    const long signal = WSTOPSIG(status_) == SIGUSR1 ? SIGUSR1 : 0;
    return ptrace(PTRACE_SINGLESTEP, child_, nullptr, signal) == 0 && waitpid(child_, &status_, 0) == child_;
  }
  bool read(std::uint64_t address, void* to, std::size_t bytes) const {
    const iovec ours{to, bytes}, theirs{reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(child_, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes);
  }

 private:
  static constexpr int kNotAllowed = 77;
  pid_t child_;
  int status_ = 0;
};

using Chain = std::vector<CallStep>;
bool are_same(const Chain& a, const Chain& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const CallStep& one, const CallStep& other) {
    return one.pc == other.pc && one.returns_here == other.returns_here;
  });
}

/// By own rules from memory and from a copy of the stack, and by the library.
TEST(CallsOfOthers, AreTheSameInEachWayAllOverAProgram) {
  constexpr unsigned kStride = 31;  // instructions from one comparison to the next
  constexpr std::uint64_t kMostCopied = 8192;
  Stepped child;
  if (child.is_not_allowed()) GTEST_SKIP() << "processes may not trace their children here";
  ASSERT_TRUE(child.is_stopped());
  const auto read = [&child](std::uint64_t address, void* to, std::size_t bytes) {
    return child.read(address, to, bytes);
  };
  const Names names{own_memory_map()}, names_for_library{own_memory_map()};
  Unwinder own(names, read), by_library(names_for_library, read, Unwinder::Steps::kByLibrary);
  unsigned compared = 0, copied = 0, different = 0;
  std::size_t longest = 0;
  const std::uint64_t stack_end = end_of_stack();
  for (std::uint64_t instruction = 0; child.is_stopped(); ++instruction) {
    if (instruction % kStride == 0) {
      DwarfRegisters registers;
      ASSERT_TRUE(read_registers(child.child(), registers));
      const Chain ours = own.backtrace(registers, nullptr, kMost);
      bool same = are_same(ours, by_library.backtrace(registers, nullptr, kMost));
      std::vector<std::uint8_t> stack(std::min(kMostCopied, stack_end - registers[kDwarfStackPointer]));
      if (child.read(registers[kDwarfStackPointer], stack.data(), stack.size())) {
        ++copied;
        const StackBytes bytes{stack.data(), stack.size()};
        const Chain from_copy = own.backtrace(registers, &bytes, kMost);
        same = same && from_copy.size() <= ours.size() &&
               are_same(from_copy,
                        Chain(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(from_copy.size()))) &&
               (from_copy.size() == ours.size() || from_copy.size() > 12);
      }
      ++compared;
      longest = std::max(longest, ours.size());
      if (!same && ++different == 1) {
        std::uint64_t offset = 0;
        const std::string name = names.symbol(registers[kDwarfPc], offset);
        ADD_FAILURE() << "at " << name << "+" << offset << ", " << ours.size() << " steps";
      }
    }
    ASSERT_TRUE(child.step());
  }
  EXPECT_TRUE(child.has_ended_well());
  EXPECT_EQ(different, 0u) << "of " << compared;
  EXPECT_GT(compared, 500u);
  EXPECT_GT(copied, 500u);
  EXPECT_GT(longest, 8u);
}

}  // namespace
}  // namespace elision::profile
