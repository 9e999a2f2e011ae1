// SPDX-License-Identifier: Apache-2.0
// What the engine does when translated code leaves to it.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "vm/cpu/cpuid.h"
#include "vm/cpu/light_path.h"
#include "vm/cpu/stubs.h"
#include "vm/engine/engine.h"
#include "vm/engine/host_faults.h"
#include "vm/host/failure.h"

namespace elision::vm {
namespace {

/// INT1, INT3 and INT 4 are traps: RIP is behind them.
bool is_trap(const Trap& trap) { return trap.number == 1 || trap.number == 3 || trap.number == 4; }

/// What the hardware would report of a fault that the engine finds: an undefined instruction, a general
/// protection, or the fetch of an instruction where there is none.
void note_trap(Trap& trap, const siginfo_t& info) {
  constexpr std::uint64_t kInvalidOpcode = 6, kGeneralProtection = 13;
  if (info.si_signo == SIGILL) {
    trap.number = kInvalidOpcode, trap.error = 0;
  } else if (info.si_code == SI_KERNEL) {
    trap.number = kGeneralProtection, trap.error = 0;
  } else {
    trap = {Trap::kPageFault, Trap::kUser | Trap::kFetch, reinterpret_cast<std::uint64_t>(info.si_addr)};
  }
}

}  // namespace

void Engine::system_call(Core& core, Exit& exit) {
  if (core.in_transaction) return transactions_.abort(core, machine::HardwareAbort::kInstruction);
  charge(core, context_.machine.instructions.syscall_cycles);
  Thread& thread = *core.thread;
  constexpr auto kBadAddress = static_cast<std::uint64_t>(-EFAULT);
  const std::uint64_t number = core.state.gpr[kRax];
  const std::uint64_t pc = exit.pc;
  const std::uint64_t next_pc = pc + exit.length;
  core.state.rip = next_pc;
  core.state.gpr[kRcx] = next_pc;
  Scheduler::capture(core);
  core.state.gpr[kR11] = thread.state.gpr[kR11] = thread.state.rflags;
  const SyscallOutcome outcome = [&] {
    const ProfileScope scope(Work::kKernel);
    return kernel_->system_call(thread);
  }();
  if (outcome == SyscallOutcome::kExited || outcome == SyscallOutcome::kParked) return;
  if (core.thread != &thread) return;  // yielded or migrated: the state waits in the thread
  // The kernel may not write where code was translated from: let it, and try again.
  const bool refused = outcome == SyscallOutcome::kReturn && thread.state.gpr[kRax] == kBadAddress;
  if (refused && code_.code_changes(0, ~std::uint64_t{0})) {
    core.state.gpr[kRax] = number;
    return code_.repeat_without_guard(core, pc);
  }
  if (outcome == SyscallOutcome::kRestart) thread.state.rip = pc;
  if (Scheduler::of(thread).wants_signals) {
    Scheduler::of(thread).wants_signals = false;
    kernel_->deliver_signals(thread);
    if (core.thread != &thread) return;
  }
  scheduler_.restore(core);
}

void Engine::read_clock(Core& core, Exit& exit) {
  core.advance_to(
      context_.model->settle(core.id, core.clock()));  // or a later reading could be the smaller one
  charge(core, context_.machine.instructions.rdtsc_cycles);
  const std::uint64_t now = core.clock().value;
  core.state.gpr[kRax] = now & 0xffffffffu;
  core.state.gpr[kRdx] = now >> 32;
  if (exit.detail != 0) core.state.gpr[kRcx] = core.id.value;  // RDTSCP: IA32_TSC_AUX
  code_.next_instruction(core, exit);
}

/// There is XCR0 alone.
void Engine::read_xcr(Core& core, Exit& exit) {
  if (static_cast<std::uint32_t>(core.state.gpr[kRcx]) != 0)
    return raise_fault(core, exit.pc, SIGSEGV, SI_KERNEL, 0);
  core.state.gpr[kRax] = kVirtualXcr0;
  core.state.gpr[kRdx] = 0;
  code_.next_instruction(core, exit);
}

void Engine::cpuid(Core& core, Exit& exit) {
  if (core.in_transaction) return transactions_.abort(core, machine::HardwareAbort::kInstruction);
  virtual_cpuid(context_.machine, cpu_count(), core.id.value, core.state.gpr);
  code_.next_instruction(core, exit);
}

/// LFENCE waits for the loads before it, MFENCE for the stores too (SDM Vol. 2; the block's cost has the
/// rest).
void Engine::fence(Core& core, Exit& exit) {
  core.advance_to(context_.model->settle(core.id, core.clock()));
  if (exit.detail != 0) core.advance_to(context_.model->drain_time(core.id, core.clock()));
  code_.next_instruction(core, exit);
}

/// RDRAND and RDSEED: from the seed; always succeeds.
void Engine::random_number(Core& core, Exit& exit) {
  const Instruction i = decode(exit.pc, {exit.bytes, exit.length});
  const unsigned reg = static_cast<unsigned>(__builtin_ctz(i.gpr_write));
  const bool wide = (i.bytes[0] & 0xf8) == 0x48;
  const bool half = i.bytes[0] == 0x66;
  const std::uint64_t value = random_.next();
  std::uint64_t& into = core.state.gpr[reg];
  into = wide ? value : half ? (into & ~0xffffull) | (value & 0xffff) : value & 0xffffffffu;
  core.flags_slot = 0x0300;  // CF alone
  code_.next_instruction(core, exit);
}

void Engine::transaction_begin(Core& core, Exit& exit, bool always_abort) {
  if (core.in_transaction) {
    if (++core.nesting > context_.machine.transactions.nesting_limit)
      return transactions_.abort(core, machine::HardwareAbort::kNested);
    return code_.next_instruction(core, exit);
  }
  Exit copy = exit;  // a flush takes the original away
  copy.next_host = 0;
  const std::uint64_t flushes = code_.flushes();
  const std::uint64_t fallback_host = code_.host_address(copy.target);
  Checkpoint& saved = core.checkpoint;
  std::memcpy(saved.state.gpr, core.state.gpr, sizeof saved.state.gpr);
  std::memcpy(saved.state.ymm, core.state.ymm, sizeof saved.state.ymm);
  saved.state.mxcsr = core.state.mxcsr;
  saved.state.rip = copy.target;
  saved.resume = fallback_host;
  saved.flags_slot = core.flags_slot;
  saved.direction_flag = core.direction_flag;
  core.nesting = 1;
  core.in_transaction = always_abort ? 3 : 1;
  core.undo.clear();
  core.advance_to(context_.model->begin(core.id, core.clock(), always_abort));
  code_.next_instruction(core, code_.flushes() == flushes ? exit : copy);
}

void Engine::transaction_end(Core& core, Exit& exit) {
  if (!core.in_transaction) return raise_fault(core, exit.pc, SIGSEGV, SI_KERNEL, 0);  // #GP(0)
  if (core.nesting > 1) {
    --core.nesting;
    return code_.next_instruction(core, exit);
  }
  if (core.always_abort()) return transactions_.abort(core, machine::HardwareAbort::kCommitInAlwaysAbort);
  if (core.commit_step == CommitStep::kNone) {
    if (context_.model->spurious_abort_due(core.id, core.clock()))
      return transactions_.abort(core, machine::HardwareAbort::kSpurious);
    // XEND begins when every load before it is there; until then whatever was touched can be lost.
    core.commit_step = CommitStep::kWaitsForLoads;
    core.advance_to(context_.model->settle(core.id, core.clock()));
    if (must_wait(core, exit)) return;
  }
  if (core.commit_step == CommitStep::kWaitsForLoads) {
    core.commit_step = CommitStep::kWaitsForStores;
    core.advance_to(context_.model->commit_time(core.id, core.clock()));
    if (must_wait(core, exit)) return;
  }
  context_.model->finish_commit(core.id);
  core.commit_step = CommitStep::kNone;
  core.in_transaction = 0;
  core.nesting = 0;
  core.undo.clear();
  code_.next_instruction(core, exit);
}

void Engine::interrupt(Core& core) {
  if (core.clock() < core.next_interrupt) return;  // a timer of the engine's: run() fires it
  if (core.in_transaction) transactions_.abort(core, machine::HardwareAbort::kInterrupt);
  charge(core, context_.machine.system.timer_interrupt_cycles);
  scheduler_.first_interrupt_after(core);
  kernel_->poll_events();
  if (core.thread == nullptr) return;
  deliver_signals(core);
  if (core.thread != nullptr) scheduler_.preempt(core);
}

void Engine::deliver_signals(Core& core) {
  Thread& thread = *core.thread;
  if (!Scheduler::of(thread).wants_signals) return;
  Scheduler::of(thread).wants_signals = false;
  Scheduler::capture(core);
  kernel_->deliver_signals(thread);
  if (core.thread == &thread) scheduler_.restore(core);
}

void Engine::unsupported(Core& core, Exit& exit) {
  if (core.in_transaction) return transactions_.abort(core, machine::HardwareAbort::kInstruction);
  tell_unsupported(exit.pc);
  raise_fault(core, exit.pc, SIGILL, ILL_ILLOPN, exit.pc);
}

/// The core's next instruction cannot be fetched, unless that has changed meanwhile. An address that is not
/// canonical is a general protection fault, which names none.
void Engine::fetch_fault(Core& core) {
  constexpr unsigned kAddressBits = 48;
  const std::uint64_t pc = core.state.rip;
  const std::optional<std::uint64_t> missing = code_.missing_byte(pc);
  if (!missing) {
    code_.continue_at(core, pc);
    return;
  }
  const auto address = static_cast<std::int64_t>(*missing);
  const bool canonical = address << (64 - kAddressBits) >> (64 - kAddressBits) == address;
  if (!canonical) return raise_fault(core, pc, SIGSEGV, SI_KERNEL, 0);
  raise_fault(core, pc, SIGSEGV, SEGV_MAPERR, *missing);
}

/// A synchronous signal at the core's present instruction; inside a transaction an abort instead.
void Engine::raise_fault(Core& core, std::uint64_t pc, int signal, int code, std::uint64_t address) {
  if (core.in_transaction) return transactions_.abort(core, machine::HardwareAbort::kFault);
  core.state.rip = pc;
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = code;
  info.si_addr = reinterpret_cast<void*>(address);
  Thread& thread = *core.thread;
  Scheduler::capture(core);
  note_trap(thread.trap, info);
  kernel_->fault(thread, info);
  if (core.thread == &thread) scheduler_.restore(core);
}

/// A host signal in translated code: finds the guest's instruction and undoes what a rewritten one
/// had borrowed.
void Engine::host_fault(Core& core) {
  siginfo_t info = host_fault_info();
  const Trap trap = host_fault_trap();
  const std::uint64_t host = core.exit_value;
  const Block* block = code_.find_host(host);
  check(block != nullptr, "fault in translated code that belongs to no block", host);
  const HostRange& range = block->range_of(host);
  core.state.rip = block->pc + range.guest_offset;
  if (info.si_signo == SIGFPE || info.si_signo == SIGILL)
    info.si_addr = reinterpret_cast<void*>(core.state.rip);
  if (is_trap(trap)) core.state.rip = block->end_pc;          // it is the last one
  if (info.si_signo == SIGTRAP && info.si_code != SI_KERNEL)  // INT1
    info.si_addr = reinterpret_cast<void*>(core.state.rip);
  if (range.spilled == kRcx) {
    core.state.gpr[kRcx] += core.scratch[0];  // in a step of a string operation
  } else if (range.spilled >= 0) {
    core.state.gpr[range.spilled] = core.scratch[0];
  }
  // Last: what was spilled may have been overwritten before.
  for (unsigned mask = range.overwritten; mask != 0; mask &= mask - 1) {
    const auto reg = static_cast<unsigned>(__builtin_ctz(mask));
    core.state.gpr[reg] = core.overwritten[reg];
  }
  if (info.si_signo == SIGSEGV && info.si_code == SEGV_ACCERR) {
    const auto address = reinterpret_cast<std::uint64_t>(info.si_addr);
    if (code_.code_changes(address, address + 1)) return code_.repeat_without_guard(core, core.state.rip);
  }
  if (core.in_transaction)
    return transactions_.abort(core, machine::HardwareAbort::kFault,
                               info.si_signo == SIGTRAP ? kDebugFault : 0);
  Thread& thread = *core.thread;
  Scheduler::capture(core);
  thread.trap.number = trap.number;
  thread.trap.error = trap.error;
  if (trap.number == Trap::kPageFault) thread.trap.address = reinterpret_cast<std::uint64_t>(info.si_addr);
  kernel_->fault(thread, info);
  if (core.thread == &thread) scheduler_.restore(core);
}

}  // namespace elision::vm
