// SPDX-License-Identifier: Apache-2.0
// Checks and their order follow kernel/sched/core.c and kernel/sys.c: ESRCH first, then EINVAL for invalid
// values, then EPERM.
#include "vm/linux/syscalls/policy_calls.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/memory/region_map.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/id_calls.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

constexpr int kDeadline = 6;              // SCHED_DEADLINE
constexpr int kResetOnFork = 0x40000000;  // SCHED_RESET_ON_FORK
constexpr std::uint64_t kResetFlag = 1, kKeepPolicy = 8, kKeepParameters = 0x10, kClamps = 0x60,
                        kAllFlags = 0x7f;  // SCHED_FLAG_*
constexpr int kLeastNice = -20, kMostNice = 19;
constexpr int kHighestPriority = 99;

/// struct sched_attr as of its second version.
struct Attributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;
  std::uint32_t least_utilisation, most_utilisation;
};
constexpr std::uint32_t kFirstSize = 48;
static_assert(sizeof(Attributes) == 56);

/// The thread of this process that argument 0 names; null for another process's.
KernelThread* named_thread(const Call& call) {
  return call.integer(0) == 0 ? &call.self : find_thread(call.process, call.integer(0));
}

/// True if argument 0 names a process or thread that no longer exists.
bool names_nobody(const Call& call) {
  if (named_thread(call) != nullptr) return false;
  const int host = call.process.ids.to_host(call.integer(0));
  return host_call(SYS_sched_getscheduler, static_cast<std::uint64_t>(host)) == -ESRCH;
}

bool is_real_time(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }
bool is_fair(int policy) { return policy == SCHED_OTHER || policy == SCHED_BATCH; }
bool is_policy(int policy) {
  return is_fair(policy) || policy == SCHED_IDLE || is_real_time(policy) || policy == kDeadline;
}

/// The error for a thread that asks for this policy, or 0.
long refusal(int policy, int priority) {
  if (!is_policy(policy)) return -EINVAL;
  if (priority < 0 || priority > kHighestPriority) return -EINVAL;
  if (is_real_time(policy) != (priority != 0)) return -EINVAL;
  return is_real_time(policy) || policy == kDeadline ? -EPERM : 0;
}

/// An unprivileged thread may raise its nice value, and lower it as far as RLIMIT_NICE allows.
bool may_be_less_nice(const Call& call, int nice) {
  return static_cast<rlim_t>(20 - nice) <= call.process.limits[RLIMIT_NICE].rlim_cur ||
         is_capable(call.self, CAP_SYS_NICE);
}

bool may_schedule(const Call& call, const Scheduling& before, const Scheduling& wanted) {
  if (is_fair(wanted.policy) && wanted.nice < before.nice && !may_be_less_nice(call, wanted.nice))
    return false;
  if (before.policy == SCHED_IDLE && wanted.policy != SCHED_IDLE && !may_be_less_nice(call, before.nice))
    return false;
  return !before.resets_policy || wanted.resets_policy || is_capable(call.self, CAP_SYS_NICE);
}

/// Other processes see the nice value of the process's first thread in the host.
void set_nice(const Call& call, KernelThread& target, int nice) {
  target.scheduling.nice = nice;
  const bool is_first = target.thread.tid == call.process.leader_tid;
  if (is_first || call.process.inside_vfork != nullptr) show_nice(nice);
}

long schedule(const Call& call, KernelThread& target, Scheduling wanted) {
  if (!is_fair(wanted.policy)) wanted.nice = target.scheduling.nice;
  if (!may_schedule(call, target.scheduling, wanted)) return -EPERM;
  if (wanted.nice != target.scheduling.nice) set_nice(call, target, wanted.nice);
  target.scheduling = wanted;
  return 0;
}

SyscallOutcome set_policy(Call& call, int policy, int priority, bool reset_on_fork) {
  if (names_nobody(call)) return call.finish(-ESRCH);
  if (const long error = refusal(policy, priority); error != 0) return call.finish(error);
  KernelThread* const target = named_thread(call);
  if (target == nullptr) return sys_with_pid(call);
  return call.finish(schedule(call, *target, {policy, reset_on_fork, target->scheduling.nice}));
}

/// Linux's copy_struct_from_user: bytes beyond the known structure must be 0. Results are those of the call.
long load_attributes(std::uint64_t address, Attributes& wanted) {
  const auto stated = load_guest<std::uint32_t>(address);
  if (!stated) return -EFAULT;
  const std::uint32_t size = *stated == 0 ? kFirstSize : *stated;
  const auto wrong_size = [&] {
    return store_guest(address, std::uint32_t{sizeof(Attributes)}) ? -E2BIG : -EFAULT;
  };
  if (size < kFirstSize || size > kPageBytes) return wrong_size();
  std::vector<char> bytes(std::max<std::size_t>(size, sizeof wanted));
  if (!copy_from_guest(bytes.data(), address, size)) return -EFAULT;
  if (std::any_of(bytes.begin() + sizeof wanted, bytes.end(), [](char byte) { return byte != 0; }))
    return wrong_size();
  std::memcpy(&wanted, bytes.data(), sizeof wanted);
  if ((wanted.flags & kClamps) != 0 && size < sizeof wanted) return -EINVAL;
  wanted.nice = std::clamp(wanted.nice, kLeastNice, kMostNice);
  return 0;
}

/// True for valid parameters of SCHED_DEADLINE (__checkparam_dl).
bool are_deadlines(const Attributes& wanted) {
  constexpr std::uint64_t kLeastRuntime = 1024, kTop = 1ull << 63;
  const std::uint64_t period = wanted.period != 0 ? wanted.period : wanted.deadline;
  return wanted.deadline != 0 && wanted.runtime >= kLeastRuntime &&
         ((wanted.deadline | period) & kTop) == 0 && period >= wanted.deadline &&
         wanted.deadline >= wanted.runtime;
}

/// Calls `visit` for the threads of this process that argument 0 (PRIO_) and 1 name.
template <class Visit>
void visit_named(const Call& call, const Visit& visit) {
  const int who = call.integer(1);
  const int own = static_cast<int>(call[0] == PRIO_PGRP ? call.process.ids.to_guest(getpgrp())
                                                        : call_as(call.self, SYS_getuid));
  if (who == 0 || who == own) call.process.visit_runners(visit);
}

KernelThread* thread_of_priority(const Call& call) {
  if (call.integer(0) != PRIO_PROCESS) return nullptr;
  return call.integer(1) == 0 ? &call.self : find_thread(call.process, call.integer(1));
}

/// Makes the call on the host, for processes that the guest names.
long on_host(const Call& call) {
  const int who = call.integer(1);
  const int host = call.integer(0) == PRIO_USER ? who : call.process.ids.to_host(who);
  return call_as(call.self, static_cast<long>(call.number), call[0], static_cast<std::uint64_t>(host),
                 call[2]);
}

std::optional<int> load_priority(std::uint64_t address) { return load_guest<int>(address); }

}  // namespace

SyscallOutcome sys_sched_setscheduler(Call& call) {
  if (call[2] == 0 || call.integer(0) < 0 || call.integer(1) < 0) return call.finish(-EINVAL);
  const auto priority = load_priority(call[2]);
  if (!priority) return call.finish(-EFAULT);
  const int policy = call.integer(1);
  return set_policy(call, policy & ~kResetOnFork, *priority, (policy & kResetOnFork) != 0);
}

SyscallOutcome sys_sched_setparam(Call& call) {
  if (call[1] == 0 || call.integer(0) < 0) return call.finish(-EINVAL);
  const auto priority = load_priority(call[1]);
  if (!priority) return call.finish(-EFAULT);
  const KernelThread* const target = named_thread(call);
  if (target == nullptr) return sys_with_pid(call);
  return set_policy(call, target->scheduling.policy, *priority, target->scheduling.resets_policy);
}

SyscallOutcome sys_sched_getscheduler(Call& call) {
  if (call.integer(0) < 0) return call.finish(-EINVAL);
  const KernelThread* const target = named_thread(call);
  if (target == nullptr) return sys_with_pid(call);
  return call.finish(target->scheduling.policy | (target->scheduling.resets_policy ? kResetOnFork : 0));
}

SyscallOutcome sys_sched_getparam(Call& call) {
  if (call[1] == 0 || call.integer(0) < 0) return call.finish(-EINVAL);
  if (named_thread(call) == nullptr) return sys_with_pid(call);
  return call.finish(store_guest(call[1], 0) ? 0 : -EFAULT);
}

SyscallOutcome sys_sched_setattr(Call& call) {
  if (call[1] == 0 || call.integer(0) < 0 || call.integer(2) != 0) return call.finish(-EINVAL);
  Attributes wanted{};
  if (const long error = load_attributes(call[1], wanted); error != 0) return call.finish(error);
  if (static_cast<int>(wanted.policy) < 0) return call.finish(-EINVAL);
  if (names_nobody(call)) return call.finish(-ESRCH);
  KernelThread* const target = named_thread(call);
  Scheduling next{static_cast<int>(wanted.policy), (wanted.flags & kResetFlag) != 0, wanted.nice};
  if (target != nullptr && (wanted.flags & kKeepPolicy) != 0) {
    next.policy = target->scheduling.policy;
    next.resets_policy = target->scheduling.resets_policy;
  }
  if (target != nullptr && (wanted.flags & kKeepParameters) != 0) {
    next.nice = target->scheduling.nice;
    wanted.priority = 0;
  }
  const long error = refusal(next.policy, static_cast<int>(wanted.priority));
  if (error == -EINVAL || (wanted.flags & ~kAllFlags) != 0) return call.finish(-EINVAL);
  if (next.policy == kDeadline && !are_deadlines(wanted)) return call.finish(-EINVAL);
  if (error != 0) return call.finish(error);
  if ((wanted.flags & kClamps) != 0) return call.finish(-EOPNOTSUPP);
  return target == nullptr ? sys_with_pid(call) : call.finish(schedule(call, *target, next));
}

SyscallOutcome sys_sched_getattr(Call& call) {
  const auto size = static_cast<std::uint32_t>(call[2]);
  if (call[1] == 0 || call.integer(0) < 0 || size < kFirstSize || size > kPageBytes || call[3] != 0)
    return call.finish(-EINVAL);
  const KernelThread* const target = named_thread(call);
  if (target == nullptr) return sys_with_pid(call);
  Attributes shown{};
  shown.size = static_cast<std::uint32_t>(std::min<std::size_t>(size, sizeof shown));
  shown.policy = static_cast<std::uint32_t>(target->scheduling.policy);
  shown.flags = target->scheduling.resets_policy ? kResetFlag : 0;
  shown.nice = target->scheduling.nice;
  shown.most_utilisation = 1024;
  return call.finish(copy_to_guest(call[1], &shown, shown.size) ? 0 : -EFAULT);
}

Scheduling inherited(const Scheduling& parent) {
  if (!parent.resets_policy) return parent;
  return {parent.policy, false, std::max(parent.nice, 0)};
}

void show_nice(int nice) { host_call(SYS_setpriority, PRIO_PROCESS, 0, static_cast<std::uint64_t>(nice)); }

SyscallOutcome sys_getpriority(Call& call) {
  if (const KernelThread* const target = thread_of_priority(call))
    return call.finish(20 - target->scheduling.nice);
  long result = on_host(call);
  if (call.integer(0) == PRIO_PGRP || call.integer(0) == PRIO_USER)
    visit_named(call, [&](const KernelThread& thread) {
      result = std::max<long>(result, 20 - thread.scheduling.nice);
    });
  return call.finish(result);
}

SyscallOutcome sys_setpriority(Call& call) {
  const int nice = std::clamp(call.integer(2), kLeastNice, kMostNice);
  long result = 0;
  const auto set = [&](KernelThread& thread) {
    if (nice < thread.scheduling.nice && !may_be_less_nice(call, nice)) {
      result = -EACCES;
    } else {
      set_nice(call, thread, nice);
    }
  };
  if (KernelThread* const target = thread_of_priority(call)) {
    set(*target);
    return call.finish(result);
  }
  result = on_host(call);
  if (call.integer(0) == PRIO_PGRP || call.integer(0) == PRIO_USER) visit_named(call, set);
  return call.finish(result);
}

}  // namespace elision::vm
