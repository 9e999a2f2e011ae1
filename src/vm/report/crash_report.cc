// SPDX-License-Identifier: Apache-2.0
#include "vm/report/crash_report.h"

#include <fmt/format.h>

#include <cstring>

#include "vm/decode/disassembly.h"
#include "vm/report/symbols.h"

namespace elision::vm {
namespace {

constexpr const char* kPrefix = "elision vm: ";
constexpr const char* kGprNames[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
static_assert(std::size(kGprNames) == kGprCount);
constexpr unsigned kRegistersALine = 4;
constexpr std::size_t kMostShownAlike = 2;

struct CodeName {
  int signal;
  int code;
  const char* text;
};

// sigaction(2). Other codes are shown as numbers.
constexpr CodeName kCodes[] = {
    {SIGSEGV, SEGV_MAPERR, "address not mapped"},
    {SIGSEGV, SEGV_ACCERR, "access not permitted"},
    {SIGSEGV, SI_KERNEL, "general protection"},
    {SIGBUS, BUS_ADRALN, "misaligned address"},
    {SIGBUS, BUS_ADRERR, "no memory behind the address: a mapped file is shorter"},
    {SIGBUS, SI_KERNEL, "stack fault"},
    {SIGFPE, FPE_INTDIV, "integer division by zero, or its quotient does not fit"},
    {SIGFPE, FPE_INTOVF, "integer overflow"},
    {SIGFPE, FPE_FLTDIV, "floating-point division by zero"},
    {SIGFPE, FPE_FLTOVF, "floating-point overflow"},
    {SIGFPE, FPE_FLTUND, "floating-point underflow"},
    {SIGFPE, FPE_FLTRES, "inexact floating-point result"},
    {SIGFPE, FPE_FLTINV, "invalid floating-point operation"},
    {SIGILL, ILL_ILLOPN, "illegal instruction"},
    {SIGILL, ILL_ILLOPC, "illegal instruction"},
    {SIGILL, ILL_PRVOPC, "privileged instruction"},
    {SIGTRAP, TRAP_BRKPT, "breakpoint"},
    {SIGTRAP, TRAP_TRACE, "single step"},
    {SIGTRAP, SI_KERNEL, "breakpoint"},
};

std::string code_text(const siginfo_t& info) {
  if (info.si_code == SI_TKILL) return "raised by the program itself";
  for (const CodeName& name : kCodes)
    if (name.signal == info.si_signo && name.code == info.si_code) return name.text;
  return fmt::format("code {}", info.si_code);
}

/// True if the fault has an address: not all faults of the CPU do.
bool has_address(const siginfo_t& info) {
  return info.si_code > 0 && info.si_code != SI_KERNEL &&
         (info.si_signo == SIGSEGV || info.si_signo == SIGBUS);
}

/// True if the stack has run out, or another fault close to the stack pointer looks the same.
bool near_stack(const siginfo_t& info, const GuestState& state) {
  constexpr std::uint64_t kNear = 65536;
  const auto address = reinterpret_cast<std::uint64_t>(info.si_addr);
  return has_address(info) && address + kNear - state.gpr[kRsp] < 2 * kNear;
}

/// After INT3, a trap, RIP points behind the instruction.
GuestState at_instruction(const GuestState& state, const siginfo_t& info) {
  GuestState result = state;
  if (info.si_signo == SIGTRAP && info.si_code > 0) --result.rip;
  return result;
}

std::string named(const ThreadPlace& thread) {
  return fmt::format("thread {} \"{}\"", thread.tid, thread.name);
}

/// Number of steps from `at` on that repeat the one before.
std::size_t repetitions(const std::vector<Frame>& frames, std::size_t at) {
  std::size_t count = 0;
  while (at != 0 && at + count < frames.size() && frames[at + count].pc == frames[at - 1].pc) ++count;
  return count;
}

std::string backtrace_lines(const GuestState& state, Symbols& symbols, bool with_instruction) {
  std::string text;
  const std::vector<Frame> frames = symbols.backtrace(state, kMostFrames);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::size_t same = repetitions(frames, i);
    if (same > kMostShownAlike) {
      i += same - 1;
      text += fmt::format("{}  ... the same {} more times\n", kPrefix, same);
      continue;
    }
    text += fmt::format("{}  #{} {}", kPrefix, i, symbols.describe(frames[i]));
    if (i == 0 && with_instruction) {
      if (const std::string instruction = disassemble(frames[i].pc); !instruction.empty())
        text += "  " + instruction;
    }
    text += "\n";
  }
  if (frames.size() == kMostFrames) text += fmt::format("{}  ... and more\n", kPrefix);
  return text;
}

std::string register_lines(const GuestState& state) {
  std::string text;
  for (unsigned i = 0; i < kGprCount; ++i) {
    if (i % kRegistersALine == 0) text += kPrefix;
    text += fmt::format("  {:<3} {:016x}", kGprNames[i], state.gpr[i]);
    if (i % kRegistersALine == kRegistersALine - 1) text += "\n";
  }
  return text + fmt::format("{}  rip {:016x}  rflags {:08x}\n", kPrefix, state.rip, state.rflags);
}

std::string repeat_line(const std::string& command) {
  return fmt::format("{}repeat with: {}\n", kPrefix, command);
}

}  // namespace

std::string describe_signal(const siginfo_t& info) {
  const char* const name = sigabbrev_np(info.si_signo);
  std::string text = fmt::format("SIG{} ({})", name != nullptr ? name : std::to_string(info.si_signo).c_str(),
                                 code_text(info));
  if (has_address(info)) text += fmt::format(" at {:#x}", reinterpret_cast<std::uint64_t>(info.si_addr));
  return text;
}

std::string crash_report(const Crash& crash, Symbols& symbols) {
  const bool fault = crash.info.si_code > 0;
  const GuestState& state = *crash.thread.state;
  std::string text =
      fmt::format("{}{}{} in {}, {}, virtual cycle {}, CPU {}\n", kPrefix, describe_signal(crash.info),
                  near_stack(crash.info, state) ? " (near the stack pointer)" : "", crash.program,
                  named(crash.thread), crash.cycle, crash.cpu);
  if (!crash.note.empty()) text += fmt::format("{}  {}\n", kPrefix, crash.note);
  text += backtrace_lines(at_instruction(state, crash.info), symbols, fault);
  if (fault) text += register_lines(state);
  return text + repeat_line(crash.command);
}

std::string deadlock_report(const std::vector<ThreadPlace>& threads, const std::string& program,
                            const std::string& command, Symbols& symbols) {
  std::string text = fmt::format("{} in {}, {} thread{}\n", kDeadlock, program, threads.size(),
                                 threads.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < threads.size() && i < kMostThreads; ++i) {
    text += fmt::format("{}{} waits in {}\n", kPrefix, named(threads[i]), threads[i].waits_for) +
            backtrace_lines(*threads[i].state, symbols, false);
  }
  if (threads.size() > kMostThreads)
    text += fmt::format("{}... and {} more threads\n", kPrefix, threads.size() - kMostThreads);
  return text + repeat_line(command);
}

}  // namespace elision::vm
