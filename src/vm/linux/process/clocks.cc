// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/clocks.h"

#include <cerrno>

#include "vm/host/guest_memory.h"

namespace elision::vm {
namespace {

constexpr Nanoseconds kFarFuture = ~Nanoseconds{0} / 4;

Nanoseconds machine_time(Process& process, const KernelThread& thread) {
  return process.start_time + process.services.now(thread.thread);
}

/// For clocks at a constant distance from the machine's time: that distance.
std::optional<Nanoseconds> clock_offset(const Process& process, int id) {
  switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
    case CLOCK_REALTIME_ALARM:
      return process.options.date_seconds * kNanosecondsPerSecond;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
      return kUptimeStart;
    default:
      return std::nullopt;
  }
}

/// Clock numbers below zero name the CPU clock of a process or thread: (~pid << 3) | 4 (thread) | 2.
std::optional<Nanoseconds> read_numbered_cpu_clock(Process& process, int id) {
  const int owner = ~(id >> 3);
  const bool of_thread = (id & 4) != 0;
  if (!of_thread)
    return owner == 0 || owner == process.ids.pid() ? std::optional(process_cpu_time(process)) : std::nullopt;
  for (const auto& thread : process.threads)
    if (thread->thread.tid == owner) return thread_cpu_time(process, *thread);
  return std::nullopt;
}

}  // namespace

timeval to_timeval(Nanoseconds value) {
  return {static_cast<time_t>(value / kNanosecondsPerSecond),
          static_cast<suseconds_t>(value % kNanosecondsPerSecond / 1000)};
}

timespec to_timespec(Nanoseconds value) {
  return {static_cast<time_t>(value / kNanosecondsPerSecond),
          static_cast<long>(value % kNanosecondsPerSecond)};
}

OrErrno<Nanoseconds> load_timespec(std::uint64_t address) {
  const auto value = load_guest<timespec>(address);
  if (!value) return Errno{-EFAULT};
  if (value->tv_sec < 0 || value->tv_nsec < 0 || value->tv_nsec >= static_cast<long>(kNanosecondsPerSecond))
    return Errno{-EINVAL};
  const auto seconds = static_cast<Nanoseconds>(value->tv_sec);
  if (seconds >= kFarFuture / kNanosecondsPerSecond) return kFarFuture;
  return seconds * kNanosecondsPerSecond + static_cast<Nanoseconds>(value->tv_nsec);
}

Nanoseconds thread_cpu_time(Process& process, const KernelThread& thread) {
  const Nanoseconds now = thread.waits_since.value_or(process.services.now(thread.thread));
  const Nanoseconds away = thread.started + thread.waited;
  return now > away ? now - away : 0;
}

Nanoseconds process_cpu_time(Process& process) {
  Nanoseconds total = process.ended_threads_cpu_time;
  for (const auto& thread : process.threads) total += thread_cpu_time(process, *thread);
  return total;
}

void publish_cpu_time(Process& process) {
  if (process.inside_vfork != nullptr) return;
  process.cpu_time_board.publish(process.ids.host_pid(),
                                 process_cpu_time(process) + process.children_cpu_time);
}

std::optional<Nanoseconds> read_clock(Process& process, KernelThread& thread, int id) {
  if (const auto offset = clock_offset(process, id)) return *offset + machine_time(process, thread);
  if (id == CLOCK_THREAD_CPUTIME_ID) return thread_cpu_time(process, thread);
  if (id == CLOCK_PROCESS_CPUTIME_ID) return process_cpu_time(process);
  return id < 0 ? read_numbered_cpu_clock(process, id) : std::nullopt;
}

Nanoseconds deadline_at(Process& process, KernelThread& thread, int id, Nanoseconds value) {
  const Nanoseconds shown = read_clock(process, thread, id).value_or(0);
  const Nanoseconds now = process.services.now(thread.thread);
  return value > shown ? now + (value - shown) : now;
}

Nanoseconds deadline_after(Process& process, KernelThread& thread, Nanoseconds span) {
  const Nanoseconds now = process.services.now(thread.thread);
  return span > kFarFuture ? kFarFuture : now + span;
}

}  // namespace elision::vm
