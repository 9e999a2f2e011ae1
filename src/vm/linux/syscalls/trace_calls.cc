// SPDX-License-Identifier: Apache-2.0
// Structures are those of ptrace(2) and <sys/user.h>.
#include "vm/linux/syscalls/trace_calls.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "vm/host/guest_memory.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/signals/signal_frame.h"
#include "vm/linux/syscalls/child_waits.h"
#include "vm/linux/syscalls/companions.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kUserCodeSegment = 0x33, kUserStackSegment = 0x2b;

user_regs_struct registers_of(const KernelThread& thread) {
  const GuestState& state = thread.thread.state;
  const auto& g = state.gpr;
  user_regs_struct r{};
  r.rax = g[kRax], r.rcx = g[kRcx], r.rdx = g[kRdx], r.rbx = g[kRbx];
  r.rsp = g[kRsp], r.rbp = g[kRbp], r.rsi = g[kRsi], r.rdi = g[kRdi];
  r.r8 = g[kR8], r.r9 = g[kR9], r.r10 = g[kR10], r.r11 = g[kR11];
  r.r12 = g[kR12], r.r13 = g[kR13], r.r14 = g[kR14], r.r15 = g[kR15];
  r.rip = state.rip;
  r.eflags = state.rflags;
  r.orig_rax = thread.wait ? thread.call_number : ~0ull;
  r.fs_base = state.fs_base;
  r.cs = kUserCodeSegment;
  r.ss = kUserStackSegment;
  return r;
}

/// The register set `type` as PTRACE_GETREGSET returns it; empty for an unknown type.
std::vector<std::uint8_t> register_set(const KernelThread& thread, std::uint64_t type) {
  std::vector<std::uint8_t> bytes;
  const auto vectors = extended_state(thread.thread.state);
  const user_regs_struct registers = registers_of(thread);
  const auto* const general = reinterpret_cast<const std::uint8_t*>(&registers);
  if (type == NT_PRSTATUS) bytes.assign(general, general + sizeof registers);
  if (type == NT_X86_XSTATE) bytes.assign(vectors.begin(), vectors.end());
  if (type == NT_PRFPREG) bytes.assign(vectors.begin(), vectors.begin() + sizeof(user_fpregs_struct));
  return bytes;
}

long store_register_set(const KernelThread& thread, std::uint64_t type, std::uint64_t address) {
  auto area = load_guest<iovec>(address);
  if (!area) return -EFAULT;
  const std::vector<std::uint8_t> bytes = register_set(thread, type);
  if (bytes.empty()) return -EINVAL;
  area->iov_len = std::min(area->iov_len, bytes.size());
  const bool stored =
      copy_to_guest(reinterpret_cast<std::uint64_t>(area->iov_base), bytes.data(), area->iov_len);
  return stored && store_guest(address, *area) ? 0 : -EFAULT;
}

long store_bytes(const std::vector<std::uint8_t>& bytes, std::uint64_t address) {
  return copy_to_guest(address, bytes.data(), bytes.size()) ? 0 : -EFAULT;
}

long attach(Call& call, KernelThread& target) {
  if (target.tracing.tracer != 0) return -EPERM;
  target.tracing = {call.thread().tid, TraceStop::kWanted};
  call.services().hold(target.thread);
  if (call.services().is_held(target.thread)) target.tracing.stop = TraceStop::kStopped;
  return 0;
}

/// Lets the thread run on, with `signal` if that is not 0.
long go_on(Call& call, KernelThread& target, bool detached, int signal) {
  target.tracing.stop = TraceStop::kNone;
  if (detached) target.tracing = {};
  if (signal != 0) {
    siginfo_t info{};
    info.si_signo = signal;
    post_to_thread(call.process, target, info);
  }
  call.services().release(target.thread);
  return 0;
}

long peek(std::uint64_t address, std::uint64_t to) {
  const auto word = load_guest<std::uint64_t>(address);
  return !word ? -EIO : store_guest(to, *word) ? 0 : -EFAULT;
}

/// Carries out a request on a stopped thread.
long ask(Call& call, KernelThread& target) {
  switch (call[0]) {
    case PTRACE_DETACH:
    case PTRACE_CONT:
      if (call[3] > kSignalCount) return -EIO;
      return go_on(call, target, call[0] == PTRACE_DETACH, call.integer(3));
    case PTRACE_PEEKTEXT:
    case PTRACE_PEEKDATA:
      return peek(call[2], call[3]);
    case PTRACE_POKETEXT:
    case PTRACE_POKEDATA:
      return store_guest(call[2], call[3]) ? 0 : -EIO;
    case PTRACE_GETREGS:
      return store_bytes(register_set(target, NT_PRSTATUS), call[3]);
    case PTRACE_GETFPREGS:
      return store_bytes(register_set(target, NT_PRFPREG), call[3]);
    case PTRACE_GETREGSET:
      return store_register_set(target, call[2], call[3]);
    default:
      return -EIO;
  }
}

}  // namespace

SyscallOutcome sys_ptrace(Call& call) {
  KernelThread* const target = find_thread(call.process, call.integer(1));
  if (target == nullptr) return call.finish(-ESRCH);
  if (call[0] == PTRACE_ATTACH) return call.finish(attach(call, *target));
  if (target->tracing.tracer != call.thread().tid) return call.finish(-ESRCH);
  if (call[0] == PTRACE_KILL) die_by_signal(call.process, SIGKILL);
  const TraceStop stop = target->tracing.stop;
  if (stop != TraceStop::kStopped && stop != TraceStop::kReported) return call.finish(-ESRCH);
  return call.finish(ask(call, *target));
}

void note_held(Process& process, KernelThread& thread) {
  if (thread.tracing.stop != TraceStop::kWanted) return;
  thread.tracing.stop = TraceStop::kStopped;
  wake_companion_waits(process);
}

void release_traced(Process& process, KernelThread& tracer) {
  for (const auto& thread : process.threads) {
    if (thread->tracing.tracer != tracer.thread.tid) continue;
    thread->tracing = {};
    process.services.release(thread->thread);
  }
  std::erase_if(process.ended_companions,
                [&](const EndedCompanion& each) { return each.parent == tracer.thread.tid; });
}

}  // namespace elision::vm
