// SPDX-License-Identifier: Apache-2.0
// Handles exits from translated code.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "profile/names.h"
#include "vm/cpu/cpuid.h"
#include "vm/cpu/helpers.h"
#include "vm/cpu/stubs.h"
#include "vm/engine/engine.h"
#include "vm/engine/host_faults.h"
#include "vm/host/failure.h"
#include "vm/host/guest_memory.h"
#include "vm/translate/block_cost.h"

namespace elision::vm {
namespace {

/// INT1, INT3 and INT 4 are traps: RIP points after them.
bool is_trap(const Trap& trap) { return trap.number == 1 || trap.number == 3 || trap.number == 4; }

/// Sets `trap` as hardware would report a fault that the engine raises: an undefined instruction, a general
/// protection fault, or a page fault of an instruction fetch.
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

void Engine::system_call(Cpu& cpu, Exit& exit) {
  if (cpu.in_transaction) return transactions_.abort(cpu, machine::HardwareAbort::kInstruction);
  charge(cpu, context_.machine.instructions.syscall_cycles);
  Thread& thread = *cpu.thread;
  // The wake-ups of locks come before the mark that says that the lock is released.
  if (account_is_open_ && cpu.state.gpr[kRax] != SYS_futex)
    account_->system_call(Scheduler::of(thread).account);
  constexpr auto kBadAddress = static_cast<std::uint64_t>(-EFAULT);
  const std::uint64_t number = cpu.state.gpr[kRax];
  const std::uint64_t pc = exit.pc;
  const std::uint64_t next_pc = pc + exit.length;
  cpu.state.rip = next_pc;
  cpu.state.gpr[kRcx] = next_pc;
  Scheduler::capture(cpu);
  cpu.state.gpr[kR11] = thread.state.gpr[kR11] = thread.state.rflags;
  if (snapshot_server_ != nullptr)
    if (const std::string why = kernel_->outside_effect_of_call(thread); !why.empty()) refuse_snapshots(why);
  const SyscallOutcome outcome = [&] {
    const ProfileScope scope(Work::kKernel);
    return kernel_->system_call(thread);
  }();
  if (outcome == SyscallOutcome::kExited || outcome == SyscallOutcome::kParked) return;
  if (cpu.thread != &thread) return;  // yielded or migrated: its registers are in the thread
  // The host kernel may have met a guarded page of code: lifts all guards and repeats the call.
  const bool refused = outcome == SyscallOutcome::kReturn && thread.state.gpr[kRax] == kBadAddress;
  if (refused && code_.code_changes(0, ~std::uint64_t{0})) {
    cpu.state.gpr[kRax] = number;
    return code_.repeat_without_guard(cpu, pc);
  }
  if (outcome == SyscallOutcome::kRestart) thread.state.rip = pc;
  if (Scheduler::of(thread).wants_signals) {
    Scheduler::of(thread).wants_signals = false;
    kernel_->deliver_signals(thread);
    if (cpu.thread != &thread) return;
  }
  scheduler_.restore(cpu);
}

void Engine::read_clock(Cpu& cpu, Exit& exit) {
  if (!context_.fast)
    cpu.advance_to(context_.model->settle(cpu.id, cpu.clock()));  // else a later RDTSC could read less
  charge(cpu, context_.machine.instructions.rdtsc_cycles);
  const std::uint64_t now = context_.ticks_of(cpu.clock());
  cpu.state.gpr[kRax] = now & 0xffffffffu;
  cpu.state.gpr[kRdx] = now >> 32;
  if (exit.detail != 0) cpu.state.gpr[kRcx] = cpu.id.value;  // RDTSCP: IA32_TSC_AUX
  code_.next_instruction(cpu, exit);
}

/// XGETBV. Only XCR0 exists.
void Engine::read_xcr(Cpu& cpu, Exit& exit) {
  if (static_cast<std::uint32_t>(cpu.state.gpr[kRcx]) != 0)
    return raise_fault(cpu, exit.pc, SIGSEGV, SI_KERNEL, 0);
  cpu.state.gpr[kRax] = kVirtualXcr0;
  cpu.state.gpr[kRdx] = 0;
  code_.next_instruction(cpu, exit);
}

void Engine::cpuid(Cpu& cpu, Exit& exit) {
  if (cpu.in_transaction) return transactions_.abort(cpu, machine::HardwareAbort::kInstruction);
  virtual_cpuid(context_.machine, cpu_count(), cpu.id.value, cpu.state.gpr);
  code_.next_instruction(cpu, exit);
}

/// LFENCE waits for earlier loads, MFENCE also for earlier stores (SDM volume 2). The block's cost includes
/// their execution time.
void Engine::fence(Cpu& cpu, Exit& exit) {
  if (!context_.fast) cpu.advance_to(context_.model->settle(cpu.id, cpu.clock()));
  if (!context_.fast && exit.detail != 0) cpu.advance_to(context_.model->drain_time(cpu.id, cpu.clock()));
  code_.next_instruction(cpu, exit);
}

/// RDRAND and RDSEED: numbers from the seed. Always succeeds.
void Engine::random_number(Cpu& cpu, Exit& exit) {
  const Instruction i = decode(exit.pc, {exit.bytes, exit.length});
  const unsigned reg = static_cast<unsigned>(__builtin_ctz(i.gpr_write));
  const bool wide = (i.bytes[0] & 0xf8) == 0x48;
  const bool half = i.bytes[0] == 0x66;
  const std::uint64_t value = random_.next();
  std::uint64_t& into = cpu.state.gpr[reg];
  into = wide ? value : half ? (into & ~0xffffull) | (value & 0xffff) : value & 0xffffffffu;
  cpu.flags_slot = 0x0300;  // only CF
  code_.next_instruction(cpu, exit);
}

void Engine::transaction_begin(Cpu& cpu, Exit& exit, bool always_abort) {
  if (cpu.in_transaction) {
    if (++cpu.nesting > context_.machine.transactions.nesting_limit)
      return transactions_.abort(cpu, machine::HardwareAbort::kNested);
    return code_.next_instruction(cpu, exit);
  }
  Exit copy = exit;  // a flush frees the original
  copy.next_host = 0;
  const std::uint64_t flushes = code_.flushes();
  const std::uint64_t fallback_host = code_.host_address(copy.target, cpu.detail);
  Checkpoint& saved = cpu.checkpoint;
  std::memcpy(saved.state.gpr, cpu.state.gpr, sizeof saved.state.gpr);
  std::memcpy(saved.state.ymm, cpu.state.ymm, sizeof saved.state.ymm);
  saved.state.mxcsr = cpu.state.mxcsr;
  saved.state.rip = copy.target;
  saved.resume = fallback_host;
  saved.flags_slot = cpu.flags_slot;
  saved.direction_flag = cpu.direction_flag;
  if (cpu.evidence != nullptr) begin_evidence(cpu);
  cpu.nesting = 1;
  cpu.in_transaction = always_abort ? 3 : 1;
  cpu.watched_in_transaction = 0;
  cpu.undo.clear();
  if (context_.fast) return begin_logged(cpu, copy);
  cpu.advance_to(context_.model->begin(cpu.id, cpu.clock(), always_abort));
  cpu.transaction_began = cpu.clock();
  scheduler_.look_at_limits(cpu);
  code_.next_instruction(cpu, code_.flushes() == flushes ? exit : copy);
}

/// A transaction in fast mode. No other CPU runs before it ends, so there are no conflicts. It must not wait
/// for another CPU: after the time of many instructions it is aborted. What a speculation warms is not
/// modelled here, so it ends at once.
void Engine::begin_logged(Cpu& cpu, const Exit& begin) {
  constexpr std::uint64_t kMostInstructions = 100000;
  cpu.turn_end_ticks = cpu.deadline_ticks;
  cpu.set_deadline(cpu.clock_ticks() + kMostInstructions * kCountedTicks);
  cpu.detail = Detail::kLogged;
  cpu.transaction_began = cpu.clock();
  ++cpu.logged.begins;
  if (cpu.always_abort()) ++cpu.logged.always_abort_begins;
  if (cpu.always_abort()) return transactions_.abort(cpu, machine::HardwareAbort::kInterrupt);
  code_.continue_at(cpu, begin.pc + begin.length);
}

void Engine::end_logged(Cpu& cpu, const Exit& end) {
  ++cpu.logged.commits;
  cpu.committed_cycles += cpu.end_transaction_cycles(cpu.clock());
  WatchedCode::count_committed(cpu.watched_in_transaction);
  cpu.detail = Detail::kCounted;
  cpu.set_deadline(cpu.turn_end_ticks);
  cpu.in_transaction = 0;
  cpu.nesting = 0;
  cpu.undo.clear();
  scheduler_.look_at_limits(cpu);
  code_.continue_at(cpu, end.pc + end.length);
}

void Engine::transaction_end(Cpu& cpu, Exit& exit) {
  if (!cpu.in_transaction) return raise_fault(cpu, exit.pc, SIGSEGV, SI_KERNEL, 0);  // #GP(0)
  if (cpu.nesting > 1) {
    --cpu.nesting;
    return code_.next_instruction(cpu, exit);
  }
  if (cpu.always_abort()) return transactions_.abort(cpu, machine::HardwareAbort::kCommitInAlwaysAbort);
  if (cpu.detail == Detail::kLogged) return end_logged(cpu, exit);
  if (cpu.commit_step == CommitStep::kNone) {
    if (context_.model->spurious_abort_due(cpu.id, cpu.clock()))
      return transactions_.abort(cpu, machine::HardwareAbort::kSpurious);
    // XEND begins when every earlier load has arrived. Until then a conflict on any line aborts.
    cpu.commit_step = CommitStep::kWaitsForLoads;
    cpu.advance_to(context_.model->settle(cpu.id, cpu.clock()));
    if (must_wait(cpu, exit)) return;
  }
  if (cpu.commit_step == CommitStep::kWaitsForLoads) {
    cpu.commit_step = CommitStep::kOpen;
    cpu.advance_to(context_.model->begin_commit(cpu.id, cpu.clock()));
    if (must_wait(cpu, exit)) return;
  }
  if (cpu.commit_step == CommitStep::kOpen) {
    cpu.commit_step = CommitStep::kHolds;
    cpu.advance_to(context_.model->hold_written_lines(cpu.id));
    if (must_wait(cpu, exit)) return;
  }
  context_.model->finish_commit(cpu.id);
  cpu.committed_cycles += cpu.end_transaction_cycles(cpu.clock());
  scheduler_.look_at_limits(cpu);
  cpu.overlaps_for(kLongestWindow);
  if (cpu.evidence != nullptr) {
    settle_waits(cpu);
    cpu.evidence->accesses.end_tries();
  }
  WatchedCode::count_committed(cpu.watched_in_transaction);
  cpu.commit_step = CommitStep::kNone;
  cpu.in_transaction = 0;
  cpu.nesting = 0;
  cpu.undo.clear();
  code_.next_instruction(cpu, exit);
}

void Engine::interrupt(Cpu& cpu) {
  if (cpu.clock() >= cpu.next_look) look_at_counts(cpu);
  if (cpu.clock() < cpu.next_tick) return;  // one of Timers is due: run() calls it
  if (cpu.thread == nullptr) return;
  if (cpu.in_transaction) transactions_.abort(cpu, machine::HardwareAbort::kInterrupt);
  charge(cpu, context_.machine.system.timer_interrupt_cycles);
  scheduler_.first_interrupt_after(cpu);
  kernel_->poll_events();
  if (cpu.thread == nullptr) return;
  deliver_signals(cpu);
  if (cpu.thread != nullptr) scheduler_.preempt(cpu);
}

/// If a limit is reached, the CPU is interrupted, as by its performance monitoring unit.
void Engine::look_at_counts(Cpu& cpu) {
  Thread& thread = *cpu.thread;
  if (!scheduler_.limit_reached(cpu)) return;
  CountInterrupt interrupt;
  interrupt.pc = cpu.state.rip;
  if (cpu.in_transaction) transactions_.abort(cpu, machine::HardwareAbort::kInterrupt);
  if (const Cpu::Aborted& aborted = cpu.aborted; std::exchange(cpu.aborted.is_new, false))
    interrupt.abort = AbortRecord{aborted.cause, aborted.status, aborted.pc, aborted.cycles};
  for (unsigned kind = 0; kind < kCountedAccesses; ++kind)
    if (AccessCounter& counter = cpu.accesses[kind]; std::exchange(counter.is_new, false))
      interrupt.accesses[kind] = counter.record;
  const BranchRing& ring = cpu.branch_ring;
  if (ring.kinds != 0)
    for (std::uint64_t age = 0; age < ring.size(); ++age) interrupt.branches.push_back(ring.newest(age));
  Scheduler::capture(cpu);
  if (!kernel_->count_reached(thread, interrupt)) return;
  charge(cpu, context_.machine.system.timer_interrupt_cycles);
  if (cpu.thread == &thread) deliver_signals(cpu);
}

void Engine::deliver_signals(Cpu& cpu) {
  Thread& thread = *cpu.thread;
  if (!Scheduler::of(thread).wants_signals) return;
  Scheduler::of(thread).wants_signals = false;
  Scheduler::capture(cpu);
  kernel_->deliver_signals(thread);
  if (cpu.thread == &thread) scheduler_.restore(cpu);
}

/// Tells the account how the CPU's last transaction ended, if an access of another CPU ended it.
void Engine::settle_conflict(Cpu& cpu) {
  ConflictNote& note = cpu.evidence->note;
  if (!std::exchange(note.is_new, false) || cpu.evidence->lock == 0 || !account_is_open_) return;
  account_->conflict({.lock = cpu.evidence->lock,
                      .line = start_of(note.line).value,
                      .victim = note.victim,
                      .other = note.other,
                      .other_first = note.other_first,
                      .other_writes = note.other_writes,
                      .other_prefetched = note.other_prefetched,
                      .other_under_other_locks = note.other_under_other_locks,
                      .victim_by_library = is_lock_library(note.victim.pc),
                      .other_by_library = is_lock_library(note.other.pc),
                      .other_thread = static_cast<std::uint64_t>(note.other_thread)});
}

/// Whether the lock library's code is at `pc`. Pages are remembered, since the memory map is a text.
bool Engine::is_lock_library(std::uint64_t pc) {
  constexpr unsigned kPageShift = 12;
  const auto [page, is_new] = library_pages_.try_emplace(pc >> kPageShift, false);
  if (is_new) {
    const std::vector<profile::Mapping> mappings = profile::mappings_of(kernel_->memory_map());
    const profile::Mapping* const mapping = profile::mapping_at(mappings, pc);
    page->second = mapping != nullptr && profile::is_lock_library(*mapping);
  }
  return page->second;
}

/// A transaction begins.
void Engine::begin_evidence(Cpu& cpu) {
  settle_conflict(cpu);
  const abi::SeenActivity& seen = Scheduler::of(*cpu.thread).account.seen;
  cpu.evidence->lock = seen.activity == abi::Activity::kAttempt ? seen.lock : 0;
  cpu.evidence->accesses.clear();
  cpu.evidence->waits.clear();
}

/// A transaction has committed.
void Engine::settle_waits(const Cpu& cpu) {
  if (cpu.evidence->lock == 0 || !account_is_open_) return;
  for (const TransactionWaits::Wait& wait : cpu.evidence->waits)
    account_->waited_for_line(cpu.evidence->lock, wait.access, is_lock_library(wait.access.pc),
                              wait.ticks >> kTickShift);
}

/// The innermost part of the thread's stack. Nothing if there is none.
std::optional<StackCopy> copy_of_stack(const Cpu& cpu, const Exit& exit) {
  constexpr std::size_t kMostBytes = 4096, kFewestBytes = 512;
  StackCopy copy;
  std::copy_n(cpu.state.gpr, kGprCount, copy.gpr);
  copy.pc = exit.pc;
  for (std::size_t size = kMostBytes; size >= kFewestBytes; size /= 2) {
    copy.bytes.resize(size);
    if (copy_guest_bytes(copy.bytes.data(), reinterpret_cast<const void*>(copy.gpr[kRsp]), size)) return copy;
  }
  return std::nullopt;
}

/// Copies the stack if the account wants to know the calls. They are followed after the run: libdwfl keeps
/// files open, which would change the descriptors that the guest gets.
void Engine::note_calls(Cpu& cpu, const Exit& exit) {
  constexpr std::size_t kMostWaits = 4096;
  EngineThread& thread = Scheduler::of(*cpu.thread);
  const bool of_wait = account_->claim_callers_look(thread.account) && waits_begun_.size() < kMostWaits;
  const std::optional<profile::Account::PathDue> due = account_->claim_path(thread.account);
  if (!of_wait && !due) return;
  std::optional<StackCopy> stack = copy_of_stack(cpu, exit);
  if (!stack) return;
  const abi::SeenActivity& seen = thread.account.seen;
  if (of_wait) waits_begun_.push_back({seen.lock, seen.site, *stack});
  if (due) keep_path(*due, std::move(*stack), *cpu.thread);
}

/// If there are too many, every second one stands for its neighbour, too.
void Engine::keep_path(const profile::Account::PathDue& due, StackCopy stack, const Thread& thread) {
  constexpr std::size_t kMostPaths = 2048;
  thread_names_[thread.tid] = kernel_->thread_name(thread);
  path_samples_.push_back({due, thread.tid, std::move(stack)});
  if (path_samples_.size() < kMostPaths) return;
  for (std::size_t i = 0; i < kMostPaths / 2; ++i) {
    if (i != 0) path_samples_[i] = std::move(path_samples_[2 * i]);
    path_samples_[i].due.time *= 2;
  }
  path_samples_.resize(kMostPaths / 2);
  account_->halve_paths();
}

/// Inside a transaction nothing has changed for others yet: the mark behind its commit or abort tells.
void Engine::mark(Cpu& cpu, Exit& exit) {
  if (account_is_open_ && !cpu.in_transaction) {
    if (const auto activity = load_guest<abi::ThreadActivity>(cpu.state.gpr[kRax])) {
      EngineThread& thread = Scheduler::of(*cpu.thread);
      account_->change(thread.account, *activity, cpu.clock().value, thread.parked.value);
      note_calls(cpu, exit);
    }
  }
  code_.next_instruction(cpu, exit);
}

/// Inside a transaction it does not count: the attempt may abort and run again.
void Engine::part_marker(Cpu& cpu, Exit& exit) {
  constexpr std::uint8_t kWorkEnd = 0x5b;
  constexpr std::uint32_t kPartBegins = 1, kPartEnds = 2;
  constexpr unsigned kGem5Length = 4;
  const auto command = static_cast<std::uint32_t>(cpu.state.gpr[kRax]);
  const bool is_gem5 = exit.length == kGem5Length;
  const bool begins = is_gem5 ? exit.bytes[2] != kWorkEnd : command == kPartBegins;
  const bool ends = is_gem5 ? exit.bytes[2] == kWorkEnd : command == kPartEnds;
  if (!cpu.in_transaction && !scheduler_.in_vfork() && (begins || ends)) region_.marker(ends);
  code_.next_instruction(cpu, exit);
}

/// The instruction follows, in the next phase too.
void Engine::watched_code(Cpu& cpu) {
  if (scheduler_.in_vfork()) return;
  region_.code_reached();
  if (region_.change_is_due()) cpu.passes_watch_at = cpu.state.rip;
}

void Engine::unsupported(Cpu& cpu, Exit& exit) {
  if (cpu.in_transaction) return transactions_.abort(cpu, machine::HardwareAbort::kInstruction);
  tell_unsupported(exit.pc);
  raise_fault(cpu, exit.pc, SIGILL, ILL_ILLOPN, exit.pc);
}

/// The CPU's next instruction could not be fetched; it may be mapped by now. A non-canonical address raises a
/// general protection fault, which has no address.
void Engine::fetch_fault(Cpu& cpu) {
  constexpr unsigned kAddressBits = 48;
  const std::uint64_t pc = cpu.state.rip;
  const std::optional<std::uint64_t> missing = code_.missing_byte(pc);
  if (!missing) {
    code_.continue_at(cpu, pc);
    return;
  }
  const auto address = static_cast<std::int64_t>(*missing);
  const bool canonical = address << (64 - kAddressBits) >> (64 - kAddressBits) == address;
  if (!canonical) return raise_fault(cpu, pc, SIGSEGV, SI_KERNEL, 0);
  raise_fault(cpu, pc, SIGSEGV, SEGV_MAPERR, *missing);
}

/// Raises a synchronous signal at `pc`. Inside a transaction, aborts instead.
void Engine::raise_fault(Cpu& cpu, std::uint64_t pc, int signal, int code, std::uint64_t address) {
  if (cpu.in_transaction) return transactions_.abort(cpu, machine::HardwareAbort::kFault);
  cpu.state.rip = pc;
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = code;
  info.si_addr = reinterpret_cast<void*>(address);
  Thread& thread = *cpu.thread;
  Scheduler::capture(cpu);
  note_trap(thread.trap, info);
  kernel_->fault(thread, info);
  if (cpu.thread == &thread) scheduler_.restore(cpu);
}

/// A host signal in translated code: finds the guest's instruction and restores registers that its host code
/// had borrowed.
void Engine::host_fault(Cpu& cpu) {
  siginfo_t info = host_fault_info();
  const Trap trap = host_fault_trap();
  const std::uint64_t host = cpu.exit_value;
  const Block* block = code_.find_host(host);
  check(block != nullptr, "fault in translated code that belongs to no block", host);
  const HostRange& range = block->range_of(host);
  cpu.state.rip = block->pc + range.guest_offset;
  if (info.si_signo == SIGFPE || info.si_signo == SIGILL)
    info.si_addr = reinterpret_cast<void*>(cpu.state.rip);
  if (is_trap(trap)) cpu.state.rip = block->end_pc;           // a trap ends its block
  if (info.si_signo == SIGTRAP && info.si_code != SI_KERNEL)  // INT1
    info.si_addr = reinterpret_cast<void*>(cpu.state.rip);
  if (range.spilled == kRcx) {
    cpu.state.gpr[kRcx] += cpu.scratch[0];  // in a step of a string operation
  } else if (range.spilled >= 0) {
    cpu.state.gpr[range.spilled] = cpu.scratch[0];
  }
  // Last, because a spilled register may also be an overwritten one.
  for (unsigned mask = range.overwritten; mask != 0; mask &= mask - 1) {
    const auto reg = static_cast<unsigned>(__builtin_ctz(mask));
    cpu.state.gpr[reg] = cpu.overwritten[reg];
  }
  if (info.si_signo == SIGSEGV && info.si_code == SEGV_ACCERR) {
    const auto address = reinterpret_cast<std::uint64_t>(info.si_addr);
    if (code_.code_changes(address, address + 1)) return code_.repeat_without_guard(cpu, cpu.state.rip);
  }
  if (cpu.in_transaction)
    return transactions_.abort(cpu, machine::HardwareAbort::kFault,
                               info.si_signo == SIGTRAP ? kDebugFault : 0);
  Thread& thread = *cpu.thread;
  Scheduler::capture(cpu);
  thread.trap.number = trap.number;
  thread.trap.error = trap.error;
  if (trap.number == Trap::kPageFault) thread.trap.address = reinterpret_cast<std::uint64_t>(info.si_addr);
  kernel_->fault(thread, info);
  if (cpu.thread == &thread) scheduler_.restore(cpu);
}

}  // namespace elision::vm
