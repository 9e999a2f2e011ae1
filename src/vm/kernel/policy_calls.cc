// SPDX-License-Identifier: Apache-2.0
// Checks and their order are those of kernel/sched/core.c and kernel/sys.c: EINVAL for what makes no sense
// comes before EPERM.
#include "vm/kernel/policy_calls.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "vm/kernel/guest_call.h"
#include "vm/kernel/guest_memory.h"
#include "vm/kernel/host_call.h"
#include "vm/kernel/id_calls.h"
#include "vm/kernel/region_map.h"
#include "vm/kernel/thread_calls.h"

namespace elision::vm {
namespace {

constexpr int kDeadline = 6;                              // SCHED_DEADLINE
constexpr int kResetOnFork = 0x40000000;                  // SCHED_RESET_ON_FORK
constexpr std::uint64_t kResetFlag = 1, kKeepPolicy = 8;  // SCHED_FLAG_*
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

/// The thread of this process that argument 0 names; null if it is another process's.
KernelThread* named_thread(const Call& call) {
  return call.integer(0) == 0 ? &call.self : find_thread(call.process, call.integer(0));
}

bool is_real_time(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }
bool is_policy(int policy) {
  return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE || is_real_time(policy) ||
         policy == kDeadline;
}

/// Why a thread may not have this policy, or 0.
long refusal(int policy, int priority) {
  if (!is_policy(policy)) return -EINVAL;
  if (priority < 0 || priority > kHighestPriority) return -EINVAL;
  if (is_real_time(policy) != (priority != 0)) return -EINVAL;
  return is_real_time(policy) || policy == kDeadline ? -EPERM : 0;
}

SyscallOutcome set_policy(Call& call, int policy, int priority, bool reset_on_fork) {
  if (const long error = refusal(policy, priority); error != 0) return call.finish(error);
  KernelThread* const target = named_thread(call);
  if (target == nullptr) return sys_with_pid(call);
  target->policy = policy;
  target->resets_policy = reset_on_fork;
  return call.finish(0);
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
  return set_policy(call, target->policy, *priority, target->resets_policy);
}

SyscallOutcome sys_sched_getscheduler(Call& call) {
  if (call.integer(0) < 0) return call.finish(-EINVAL);
  const KernelThread* const target = named_thread(call);
  if (target == nullptr) return sys_with_pid(call);
  return call.finish(target->policy | (target->resets_policy ? kResetOnFork : 0));
}

SyscallOutcome sys_sched_getparam(Call& call) {
  if (call[1] == 0 || call.integer(0) < 0) return call.finish(-EINVAL);
  if (named_thread(call) == nullptr) return sys_with_pid(call);
  return call.finish(store_guest(call[1], 0) ? 0 : -EFAULT);
}

SyscallOutcome sys_sched_setattr(Call& call) {
  if (call[1] == 0 || call.integer(0) < 0 || call[2] != 0) return call.finish(-EINVAL);
  const auto told = load_guest<std::uint32_t>(call[1]);
  if (!told) return call.finish(-EFAULT);
  const std::uint32_t size = *told == 0 ? kFirstSize : *told;
  if (size < kFirstSize || size > kPageBytes) {
    return call.finish(store_guest(call[1], std::uint32_t{sizeof(Attributes)}) ? -E2BIG : -EFAULT);
  }
  Attributes wanted{};
  if (!copy_from_guest(&wanted, call[1], std::min<std::size_t>(size, sizeof wanted)))
    return call.finish(-EFAULT);
  const KernelThread* const target = named_thread(call);
  if ((wanted.flags & kKeepPolicy) != 0 && target != nullptr)
    wanted.policy = static_cast<std::uint32_t>(target->policy);
  const auto policy = static_cast<int>(wanted.policy);
  if (const long error = refusal(policy, static_cast<int>(wanted.priority)); error != 0)
    return call.finish(error);
  if (target != nullptr && policy != SCHED_IDLE) {
    const long error = host_call(SYS_setpriority, PRIO_PROCESS, 0, static_cast<std::uint64_t>(wanted.nice));
    if (error != 0) return call.finish(error == -EACCES ? -EPERM : error);
  }
  return set_policy(call, policy, static_cast<int>(wanted.priority), (wanted.flags & kResetFlag) != 0);
}

SyscallOutcome sys_sched_getattr(Call& call) {
  const auto size = static_cast<std::uint32_t>(call[2]);
  if (call[1] == 0 || call.integer(0) < 0 || size < kFirstSize || size > kPageBytes || call[3] != 0)
    return call.finish(-EINVAL);
  const KernelThread* const target = named_thread(call);
  if (target == nullptr) return sys_with_pid(call);
  Attributes shown{};
  shown.size = static_cast<std::uint32_t>(std::min<std::size_t>(size, sizeof shown));
  shown.policy = static_cast<std::uint32_t>(target->policy);
  shown.flags = target->resets_policy ? kResetFlag : 0;
  shown.nice = 20 - static_cast<int>(host_call(SYS_getpriority, PRIO_PROCESS, 0));  // the raw call's 1 to 40
  shown.most_utilisation = 1024;
  return call.finish(copy_to_guest(call[1], &shown, shown.size) ? 0 : -EFAULT);
}

}  // namespace elision::vm
