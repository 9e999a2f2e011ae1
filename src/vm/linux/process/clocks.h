// SPDX-License-Identifier: Apache-2.0
// The guest's clocks, and the virtual CPU time of its threads.
#pragma once

#include <sys/time.h>

#include <ctime>
#include <optional>

#include "vm/interface/fallible.h"
#include "vm/linux/process/process.h"

namespace elision::vm {

inline constexpr Nanoseconds kNanosecondsPerSecond = 1'000'000'000;
/// CLOCK_MONOTONIC at the start of the machine. Not 0, which some programs take for "never".
inline constexpr Nanoseconds kUptimeStart = 1000 * kNanosecondsPerSecond;

/// The value of clock `id` for `thread`; nothing if there is no such clock.
std::optional<Nanoseconds> read_clock(Process& process, KernelThread& thread, int id);
/// Engine time at which clock `id` reaches `value`. CPU clocks are taken to run all the time.
Nanoseconds deadline_at(Process& process, KernelThread& thread, int id, Nanoseconds value);
/// Engine time `span` from now, saturating.
Nanoseconds deadline_after(Process& process, KernelThread& thread, Nanoseconds span);

/// A guest timespec in nanoseconds (saturating).
OrErrno<Nanoseconds> load_timespec(std::uint64_t address);
timespec to_timespec(Nanoseconds value);
timeval to_timeval(Nanoseconds value);

Nanoseconds thread_cpu_time(Process& process, const KernelThread& thread);
Nanoseconds process_cpu_time(Process& process);
/// Publishes the CPU time of this process and its children on the board, for the parent.
void publish_cpu_time(Process& process);

}  // namespace elision::vm
