// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/thread_calls.h"

#include <asm/prctl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "vm/host/guest_memory.h"
#include "vm/linux/events/process_events.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/signals/futexes.h"
#include "vm/linux/syscalls/child_waits.h"
#include "vm/linux/syscalls/companions.h"
#include "vm/linux/syscalls/limit_calls.h"
#include "vm/linux/syscalls/policy_calls.h"

namespace elision::vm {
namespace {

/// Flags that clone for a thread must have (clone(2)), all three.
constexpr std::uint64_t kThreadFlags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;

KernelThread* target_of(Call& call, int tid) {
  if (tid == 0 || tid == call.thread().tid) return &call.self;
  return find_thread(call.process, tid);
}

void drop_thread(Process& process, KernelThread& thread) {
  process.ended_threads_cpu_time += thread_cpu_time(process, thread);
  if (process.events != nullptr) process.events->thread_ends(thread);
  std::erase_if(process.threads, [&](const auto& entry) { return entry.get() == &thread; });
  publish_threads(process);
}

std::uint64_t existing_cpus(const EngineServices& services, unsigned word) {
  const unsigned count = services.cpu_count();
  if (count >= 64 * (word + 1)) return ~0ull;
  return count <= 64 * word ? 0 : (1ull << (count - 64 * word)) - 1;
}

}  // namespace

KernelThread* find_thread(Process& process, int tid) {
  for (const auto& thread : process.threads)
    if (thread->thread.tid == tid) return thread.get();
  return nullptr;
}

SyscallOutcome clone_thread(Call& call) {
  if ((call[0] & kThreadFlags) != kThreadFlags) return call.finish(-EINVAL);
  return call.finish(add_thread(call, call.process.threads));
}

long add_thread(Call& call, std::vector<std::unique_ptr<KernelThread>>& list) {
  const std::uint64_t flags = call[0];
  if ((flags & CLONE_SETTLS) != 0 && call[4] >= kAddressLimit) return -EPERM;
  GuestState state = call.thread().state;
  state.gpr[kRax] = 0;
  if (call[1] != 0) state.gpr[kRsp] = call[1];
  if ((flags & CLONE_SETTLS) != 0) state.fs_base = call[4];

  if (!may_add_thread(call.process, call.self)) return -EAGAIN;
  const int tid = call.process.ids.next_tid();
  if ((flags & CLONE_PARENT_SETTID) != 0 && !store_guest(call[2], tid)) return -EFAULT;
  if ((flags & CLONE_CHILD_SETTID) != 0 && !store_guest(call[3], tid)) return -EFAULT;
  Thread& thread = call.services().create_thread(state, call.thread());
  auto kernel = std::make_unique<KernelThread>(thread);
  thread.tid = tid;
  thread.kernel = kernel.get();
  std::copy(std::begin(call.thread().affinity), std::end(call.thread().affinity), thread.affinity);
  kernel->name = call.self.name;
  kernel->blocked = call.self.blocked;
  kernel->scheduling = inherited(call.self.scheduling);
  kernel->credentials = call.self.credentials;
  kernel->started = call.services().now(thread);
  if ((flags & CLONE_CHILD_CLEARTID) != 0) kernel->clear_child_tid = call[3];
  list.push_back(std::move(kernel));
  publish_threads(call.process);
  if (call.process.events != nullptr) call.process.events->thread_made(call.self, *thread.kernel);
  return tid;
}

void end_process(Process& process, int exit_code) {
  release_shared_futexes(process);
  publish_cpu_time(process);
  if (process.inside_vfork == nullptr) process.board.leave();
  if (process.inside_vfork == nullptr && process.events != nullptr) process.events->process_ends();
  if (process.inside_vfork == nullptr) process.services.write_statistics(exit_code);
  _exit(process.answers_for_region() ? process.services.final_exit_code(exit_code) : exit_code);
}

SyscallOutcome sys_exit(Call& call) {
  Process& process = call.process;
  const int code = call.integer(0) & 0xff;
  if (process.inside_vfork != nullptr) end_process(process, code);
  release_futexes_of(process, call.self);
  if (call.thread().tid == process.leader_tid) process.leader_exit_code = code;
  if (process.threads.size() == 1) end_process(process, process.leader_exit_code);
  Thread& thread = call.thread();
  report_end_to_tracer(process, call.self, code);
  thread.kernel = nullptr;
  drop_thread(process, call.self);
  process.services.end_thread(thread);
  if (!process.ended_companions.empty()) wake_companion_waits(process);
  return SyscallOutcome::kExited;
}

SyscallOutcome sys_exit_group(Call& call) { end_process(call.process, call.integer(0) & 0xff); }

SyscallOutcome sys_gettid(Call& call) { return call.finish(call.thread().tid); }

SyscallOutcome sys_set_tid_address(Call& call) {
  call.self.clear_child_tid = call[0];
  return call.finish(call.thread().tid);
}

SyscallOutcome sys_arch_prctl(Call& call) {
  switch (call.integer(0)) {
    case ARCH_SET_FS:
      if (call[1] >= kAddressLimit) return call.finish(-EPERM);
      call.thread().state.fs_base = call[1];
      return call.finish(0);
    case ARCH_GET_FS:
      return call.finish(store_guest(call[1], call.thread().state.fs_base) ? 0 : -EFAULT);
    default:  // GS belongs to the engine; CET and the like do not exist here
      return call.finish(-EINVAL);
  }
}

SyscallOutcome sys_sched_yield(Call& call) {
  call.finish(0);
  call.services().yield(call.thread());
  return SyscallOutcome::kReturn;
}

SyscallOutcome sys_sched_getaffinity(Call& call) {
  const KernelThread* target = target_of(call, call.integer(0));
  if (target == nullptr && call.integer(0) == call.process.ids.pid()) target = &call.self;
  if (target == nullptr) return call.finish(-ESRCH);
  const unsigned bytes = (call.services().cpu_count() + 63) / 64 * 8;
  if (call[1] < bytes || call[1] % 8 != 0) return call.finish(-EINVAL);
  std::uint64_t mask[2];
  for (unsigned i = 0; i < 2; ++i) mask[i] = target->thread.affinity[i] & existing_cpus(call.services(), i);
  if (!copy_to_guest(call[2], mask, bytes)) return call.finish(-EFAULT);
  return call.finish(bytes);
}

SyscallOutcome sys_sched_setaffinity(Call& call) {
  KernelThread* target = target_of(call, call.integer(0));
  if (target == nullptr) return call.finish(-ESRCH);
  std::uint64_t mask[2] = {};
  const std::size_t bytes = std::min<std::uint64_t>(sizeof mask, call[1]);
  if (!copy_from_guest(mask, call[2], bytes)) return call.finish(-EFAULT);
  for (unsigned i = 0; i < 2; ++i) mask[i] &= existing_cpus(call.services(), i);
  if ((mask[0] | mask[1]) == 0) return call.finish(-EINVAL);
  std::copy(std::begin(mask), std::end(mask), target->thread.affinity);
  call.finish(0);
  call.services().affinity_changed(target->thread);
  publish_threads(call.process);
  return SyscallOutcome::kReturn;
}

SyscallOutcome sys_getcpu(Call& call) {
  const std::uint32_t cpu = call.services().cpu_of(call.thread());
  if (call[0] != 0 && !store_guest(call[0], cpu)) return call.finish(-EFAULT);
  if (call[1] != 0 && !store_guest(call[1], std::uint32_t{call.process.identity.topology.socket_of(cpu)}))
    return call.finish(-EFAULT);
  return call.finish(0);
}

/// The accesses of all virtual CPUs are in order already, so there is nothing to wait for. Refuses the
/// commands that Linux refuses (membarrier(2)), and those for restartable sequences, which do not exist here.
SyscallOutcome sys_membarrier(Call& call) {
  constexpr int kRegistrations = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED |
                                 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED |
                                 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
  const int command = call.integer(0);
  int& registered = call.process.membarrier_commands;
  if (call[1] != 0) return call.finish(-EINVAL);
  switch (command) {
    case MEMBARRIER_CMD_QUERY:
      return call.finish(MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED |
                         MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE |
                         kRegistrations);
    case MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED:
    case MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED:
    case MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE:
      registered |= command;
      return call.finish(0);
    case MEMBARRIER_CMD_GLOBAL:
    case MEMBARRIER_CMD_GLOBAL_EXPEDITED:
      return call.finish(0);
    case MEMBARRIER_CMD_PRIVATE_EXPEDITED:
      return call.finish(registered & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED ? 0 : -EPERM);
    case MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE:
      return call.finish(registered & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE ? 0 : -EPERM);
    default:
      return call.finish(-EINVAL);
  }
}

SyscallOutcome sys_getrandom(Call& call) {
  constexpr std::uint64_t kMaxBytes = 32u << 20;
  const std::uint64_t size = std::min(call[1], kMaxBytes);
  for (std::uint64_t done = 0; done < size; done += 8) {
    const std::uint64_t word = call.services().random();
    const std::size_t part = std::min<std::uint64_t>(8, size - done);
    if (!copy_to_guest(call[0] + done, &word, part)) return call.finish(-EFAULT);
  }
  return call.finish(static_cast<long>(size));
}

}  // namespace elision::vm
