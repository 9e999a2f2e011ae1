// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/time_calls.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>

#include <cerrno>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/path_translation.h"

namespace elision::vm {
namespace {

constexpr Nanoseconds kTick = kNanosecondsPerSecond / 100;

SyscallOutcome sleep_until(Call& call, Nanoseconds deadline, std::uint64_t remaining_address) {
  Wait wait;
  wait.give_up = [&process = call.process, &self = call.self, deadline, remaining_address] {
    const Nanoseconds now = process.services.now(self.thread);
    // The result is EINTR already; ignore a bad address.
    if (remaining_address != 0 && deadline > now)
      (void)store_guest(remaining_address, to_timespec(deadline - now));
  };
  return park(call, std::move(wait), deadline, 0);
}

}  // namespace

SyscallOutcome sys_clock_gettime(Call& call) {
  const auto value = read_clock(call.process, call.self, call.integer(0));
  if (!value) return call.finish(-EINVAL);
  return call.finish(store_guest(call[1], to_timespec(*value)) ? 0 : -EFAULT);
}

SyscallOutcome sys_clock_getres(Call& call) {
  if (!read_clock(call.process, call.self, call.integer(0))) return call.finish(-EINVAL);
  if (call[1] == 0) return call.finish(0);
  return call.finish(store_guest(call[1], timespec{0, 1}) ? 0 : -EFAULT);
}

SyscallOutcome sys_clock_settime(Call& call) { return call.finish(-EPERM); }

/// Only reads: the host's state of its clock, with the guest's time.
SyscallOutcome sys_adjtimex(Call& call) {
  const std::uint64_t address = call.number == SYS_adjtimex ? call[0] : call[1];
  auto state = load_guest<timex>(address);
  if (!state) return call.finish(-EFAULT);
  if (call.number == SYS_clock_adjtime && call.integer(0) != CLOCK_REALTIME) return call.finish(-EINVAL);
  if (state->modes != 0) return call.finish(-EPERM);
  const long result = host_call(SYS_adjtimex, reinterpret_cast<std::uint64_t>(&*state));
  if (result < 0) return call.finish(result);
  state->time = to_timeval(*read_clock(call.process, call.self, CLOCK_REALTIME));
  return call.finish(store_guest(address, *state) ? result : -EFAULT);
}

SyscallOutcome sys_gettimeofday(Call& call) {
  const Nanoseconds value = *read_clock(call.process, call.self, CLOCK_REALTIME);
  if (call[0] != 0 && !store_guest(call[0], to_timeval(value))) return call.finish(-EFAULT);
  if (call[1] != 0 && !store_guest(call[1], std::uint64_t{0})) return call.finish(-EFAULT);
  return call.finish(0);
}

SyscallOutcome sys_time(Call& call) {
  const auto seconds =
      static_cast<long>(*read_clock(call.process, call.self, CLOCK_REALTIME) / kNanosecondsPerSecond);
  if (call[0] != 0 && !store_guest(call[0], seconds)) return call.finish(-EFAULT);
  return call.finish(seconds);
}

SyscallOutcome sys_nanosleep(Call& call) {
  const auto time = load_timespec(call[0]);
  if (!time) return call.finish(time.failure());
  return sleep_until(call, deadline_after(call.process, call.self, *time), call[1]);
}

SyscallOutcome sys_clock_nanosleep(Call& call) {
  const int clock = call.integer(0);
  const auto time = load_timespec(call[2]);
  if (!time) return call.finish(time.failure());
  if (!read_clock(call.process, call.self, clock) || clock == CLOCK_THREAD_CPUTIME_ID)
    return call.finish(-EINVAL);
  if ((call[1] & TIMER_ABSTIME) != 0)
    return sleep_until(call, deadline_at(call.process, call.self, clock, *time), 0);
  return sleep_until(call, deadline_after(call.process, call.self, *time), call[3]);
}

SyscallOutcome sys_times(Call& call) {
  tms result{};
  result.tms_utime = static_cast<clock_t>(process_cpu_time(call.process) / kTick);
  result.tms_cutime = static_cast<clock_t>(call.process.children_cpu_time / kTick);
  if (call[0] != 0 && !store_guest(call[0], result)) return call.finish(-EFAULT);
  return call.finish(static_cast<long>(*read_clock(call.process, call.self, CLOCK_MONOTONIC) / kTick));
}

SyscallOutcome sys_sysinfo(Call& call) {
  struct sysinfo result {};
  result.uptime = static_cast<long>(*read_clock(call.process, call.self, CLOCK_MONOTONIC) / 1'000'000'000);
  result.totalram = kMachineMemoryBytes;
  result.freeram = kMachineMemoryBytes / 2;
  result.procs = 1;
  result.mem_unit = 1;
  return call.finish(store_guest(call[0], result) ? 0 : -EFAULT);
}

SyscallOutcome sys_getrusage(Call& call) {
  const int who = call.integer(0);
  rusage result{};
  const long error = host_call(SYS_getrusage, call[0], reinterpret_cast<std::uint64_t>(&result));
  if (error < 0) return call.finish(error);
  result.ru_utime = to_timeval(who == RUSAGE_THREAD     ? thread_cpu_time(call.process, call.self)
                               : who == RUSAGE_CHILDREN ? call.process.children_cpu_time
                                                        : process_cpu_time(call.process));
  result.ru_stime = {};
  // The host's counts are the engine's.
  result.ru_maxrss =
      who == RUSAGE_CHILDREN ? 0 : static_cast<long>(call.process.memory.regions().mapped_bytes() / 1024);
  result.ru_minflt = result.ru_majflt = result.ru_nvcsw = result.ru_nivcsw = 0;
  return call.finish(store_guest(call[1], result) ? 0 : -EFAULT);
}

}  // namespace elision::vm
