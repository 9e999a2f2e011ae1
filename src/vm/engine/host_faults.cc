// SPDX-License-Identifier: Apache-2.0
// The handler may run with the guest's TLS (fs), so it calls nothing that uses TLS. It only copies the
// general registers to the Cpu and continues in the stub that leaves to the engine; the vectors stay live.
// The run loop looks up the block.
#include "vm/engine/host_faults.h"

#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <cstdint>

#include "vm/code/code_cache.h"
#include "vm/cpu/cpu.h"
#include "vm/cpu/stubs.h"
#include "vm/host/failure.h"
#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/host/host_signals.h"

namespace elision::vm {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

siginfo_t last_fault;
Trap last_trap;
int dies_by = 0;
Exit host_fault_exit{.reason = ExitReason::kHostFault};

constexpr int kContextRegister[kGprCount] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                             REG_R12, REG_R13, REG_R14, REG_R15};

bool in_translated_code(std::uint64_t rip) { return rip >= kCodeRegion && rip < kCodeRegion + kCodeBytes; }

void leave_to_engine(Cpu& cpu, greg_t* registers) {
  for (unsigned i = 0; i < kGprCount; ++i)
    cpu.state.gpr[i] = static_cast<std::uint64_t>(registers[kContextRegister[i]]);
  const auto flags = static_cast<std::uint64_t>(registers[REG_EFL]);
  cpu.flags_slot = ((flags & 0xd7) << 8) | ((flags >> 11) & 1);
  cpu.direction_flag = (flags >> 10) & 1;
  cpu.exit_value =
      static_cast<std::uint64_t>(registers[REG_RIP]);  // a host address: host_fault() looks it up
  cpu.exit = &host_fault_exit;
  registers[REG_RIP] = reinterpret_cast<greg_t>(&elision_stub_fault_exit);
}

[[noreturn]] void die_without_report() {
  static const char kMessage[] = "elision vm: the program crashed, and so did its crash report\n";
  host_call(SYS_write, STDERR_FILENO, reinterpret_cast<std::uint64_t>(kMessage), sizeof kMessage - 1);
  die_by_host_signal(dies_by);
}

void on_fault(int, siginfo_t* info, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
  if (rip >= reinterpret_cast<std::uint64_t>(&elision_copy_line) &&
      rip < reinterpret_cast<std::uint64_t>(elision_copy_line_end)) {
    registers[REG_RIP] = reinterpret_cast<greg_t>(elision_copy_line_failed);
    return;
  }
  if (info->si_code <= 0) return record_host_signal(*info, context);  // sent by kill() or the like
  if (recover_guest_access(static_cast<ucontext_t*>(context))) return;
  if (in_translated_code(rip)) {
    last_fault = *info;
    last_trap = {static_cast<std::uint64_t>(registers[REG_TRAPNO]),
                 static_cast<std::uint64_t>(registers[REG_ERR]),
                 static_cast<std::uint64_t>(registers[REG_CR2])};
    leave_to_engine(*current_cpu(), registers);
    return;
  }
  if (dies_by != 0) die_without_report();
  fail_by_fault(*info, rip);
}

}  // namespace

void die_if_faulting(int signal) { dies_by = signal; }

const siginfo_t& host_fault_info() { return last_fault; }
const Trap& host_fault_trap() { return last_trap; }

void install_fault_handlers() {
  stack_t stack{};
  stack.ss_size = kStackBytes;
  stack.ss_sp = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);  // no other handler may record a signal meanwhile
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace elision::vm
