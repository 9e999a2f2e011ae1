// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/companions.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "vm/host/guest_memory.h"
#include "vm/linux/signals/futexes.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/child_waits.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/id_calls.h"
#include "vm/linux/syscalls/thread_calls.h"
#include "vm/linux/syscalls/trace_calls.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kSharedFlags = CLONE_VM | CLONE_FILES | CLONE_FS;

int exited(int code) { return (code & 0xff) << 8; }

void send_exit_signal(Process& process, const KernelThread& self, int code) {
  siginfo_t info{};
  info.si_signo = self.companion->exit_signal;
  if (info.si_signo == 0) return;
  info.si_code = CLD_EXITED;
  info.si_pid = process_number(process, self);
  info.si_uid = static_cast<uid_t>(call_as(self, SYS_getuid));
  info.si_status = code & 0xff;
  post_to_process(process, info);
}

}  // namespace

SyscallOutcome clone_companion(Call& call) {
  const std::uint64_t flags = call[0];
  if ((flags & kSharedFlags) != kSharedFlags || (flags & CLONE_SIGHAND) != 0) return call.finish(-ENOSYS);
  const long pid = add_thread(call, call.process.companions);
  if (pid < 0) return call.finish(pid);
  auto companion = std::make_unique<Companion>();
  companion->parent = call.process.ids.pid();
  companion->exit_signal = static_cast<int>(flags & CSIGNAL);
  std::copy(std::begin(call.process.actions), std::end(call.process.actions), companion->actions);
  call.process.companions.back()->companion = std::move(companion);
  return call.finish(pid);
}

SyscallOutcome companion_getpid(Call& call) { return call.finish(call.thread().tid); }
SyscallOutcome companion_getppid(Call& call) { return call.finish(call.self.companion->parent); }

SyscallOutcome companion_prctl(Call& call) {
  if (call.integer(0) == PR_SET_PDEATHSIG) return call.finish(0);  // it ends with its parent in any case
  return sys_prctl(call);
}

SyscallOutcome companion_exit(Call& call) {
  Process& process = call.process;
  release_futexes_of(process, call.self);
  release_traced(process, call.self);
  process.ended_companions.push_back({process_number(process, call.self), call.self.companion->parent,
                                      exited(call.integer(0)), call.self.companion->exit_signal == SIGCHLD});
  send_exit_signal(process, call.self, call.integer(0));
  Thread& thread = call.thread();
  thread.kernel = nullptr;
  std::erase_if(process.companions, [&](const auto& each) { return each.get() == &call.self; });
  process.services.end_thread(thread);
  wake_companion_waits(process);
  return SyscallOutcome::kExited;
}

KernelThread* find_companion(Process& process, int pid) {
  for (const auto& companion : process.companions)
    if (companion->thread.tid == pid) return companion.get();
  return nullptr;
}

int process_number(const Process& process, const KernelThread& thread) {
  return thread.companion != nullptr ? thread.thread.tid : process.ids.pid();
}

void report_end_to_tracer(Process& process, KernelThread& thread, int code) {
  if (thread.tracing.tracer == 0) return;
  process.ended_companions.push_back({thread.thread.tid, thread.tracing.tracer, exited(code), true});
  thread.tracing = {};
}

}  // namespace elision::vm
