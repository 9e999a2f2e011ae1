// SPDX-License-Identifier: Apache-2.0
// Sources: getrlimit(2); Linux kernel/sys.c (do_prlimit), kernel/time/posix-cpu-timers.c
// (check_process_timers).
#include "vm/linux/syscalls/limit_calls.h"

#include <linux/capability.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/host/host_limits.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/process/limits.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/guest_call.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr VirtualTimers::Key kCpuLimitKey = 900;  // beside those of timer_calls.cc

/// Sets a limit of this process. Results are those of the system call.
long set_limit(Call& call, int resource, const rlimit& wanted) {
  Process& process = call.process;
  rlimit& limit = process.limits[static_cast<unsigned>(resource)];
  if (wanted.rlim_cur > wanted.rlim_max) return -EINVAL;
  if (wanted.rlim_max > limit.rlim_max &&
      (resource == RLIMIT_RTPRIO || !is_capable(call.self, CAP_SYS_RESOURCE)))
    return -EPERM;
  if (!is_kept_here(resource)) {
    const rlimit host = host_limit(resource);
    const bool raises = wanted.rlim_max > host.rlim_max;
    const rlimit on_host{std::min(wanted.rlim_cur, raises ? wanted.rlim_max : host.rlim_max),
                         raises ? wanted.rlim_max : host.rlim_max};
    if (const long error = set_host_limit(resource, on_host); error < 0) return error;
  }
  limit = wanted;
  publish_program(process);
  if (resource == RLIMIT_STACK) resize_stack(process, limit);
  if (resource == RLIMIT_CPU) watch_cpu_limit(process);
  return 0;
}

bool is_valid(int resource) { return resource >= 0 && resource < static_cast<int>(LimitTable{}.size()); }

/// For another process the host's limits count, and those bind the engine there. So limits that engines keep
/// cannot be set.
SyscallOutcome limit_of_other(Call& call, int pid) {
  if (call[2] != 0 && is_kept_here(call.integer(1))) return call.finish(-EPERM);
  return call.finish(guest_call(call, SYS_prlimit64,
                                static_cast<std::uint64_t>(call.process.ids.to_host(pid)), call[1], call[2],
                                call[3]));
}

void end_second_of_cpu_limit(Process& process) {
  const rlimit limit = process.limits[RLIMIT_CPU];
  const Nanoseconds used = process_cpu_time(process);
  const bool over = limit.rlim_max != RLIM_INFINITY && used / kSecond >= limit.rlim_max;
  siginfo_t info{};
  info.si_signo = over ? SIGKILL : SIGXCPU;
  info.si_code = SI_KERNEL;
  post_to_process(process, info);
}

}  // namespace

bool may_add_thread(const Process& process, const KernelThread& thread) {
  const std::size_t count = process.threads.size() + process.companions.size();
  return count < process.limits[RLIMIT_NPROC].rlim_cur || call_as(thread, SYS_getuid) == 0 ||
         is_capable(thread, CAP_SYS_RESOURCE) || is_capable(thread, CAP_SYS_ADMIN);
}

/// A limit of 0 counts as 1.
void watch_cpu_limit(Process& process) {
  const rlim_t seconds = process.limits[RLIMIT_CPU].rlim_cur;
  process.cpu_timers.remove(kCpuLimitKey);
  if (seconds >= ~Nanoseconds{0} / kSecond) return;
  const Nanoseconds end = std::max<Nanoseconds>(seconds, 1) * kSecond;
  process.cpu_timers.set(
      kCpuLimitKey, {end, kSecond}, [&process] { return process_cpu_time(process); },
      [&process] { end_second_of_cpu_limit(process); });
}

SyscallOutcome sys_getrlimit(Call& call) {
  if (!is_valid(call.integer(0))) return call.finish(-EINVAL);
  return call.finish(store_guest(call[1], call.process.limits[call[0] & 0xf]) ? 0 : -EFAULT);
}

SyscallOutcome sys_setrlimit(Call& call) {
  const auto wanted = load_guest<rlimit>(call[1]);
  if (!wanted) return call.finish(-EFAULT);
  if (!is_valid(call.integer(0))) return call.finish(-EINVAL);
  return call.finish(set_limit(call, call.integer(0), *wanted));
}

SyscallOutcome sys_prlimit64(Call& call) {
  const int pid = call.integer(0), resource = call.integer(1);
  const bool own = pid == 0 || pid == call.process.ids.pid() || find_thread(call.process, pid) != nullptr;
  std::optional<rlimit> wanted;
  if (call[2] != 0 && !(wanted = load_guest<rlimit>(call[2]))) return call.finish(-EFAULT);
  if (!is_valid(resource)) return call.finish(-EINVAL);
  if (!own) return limit_of_other(call, pid);
  const rlimit before = call.process.limits[static_cast<unsigned>(resource)];
  if (wanted)
    if (const long error = set_limit(call, resource, *wanted); error != 0) return call.finish(error);
  return call.finish(call[3] == 0 || store_guest(call[3], before) ? 0 : -EFAULT);
}

}  // namespace elision::vm
