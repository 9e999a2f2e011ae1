// SPDX-License-Identifier: Apache-2.0
// How much CPU time others take while a comparison runs: programs, the kernel, a hypervisor.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace elision::cli {

/// CPU time since the computer was started, in seconds, summed over CPUs.
struct CpuTime {
  double busy = 0;  // time that a hypervisor took away included
  double all = 0;
};

/// Of the CPUs that `is_counted` accepts, from the text of /proc/stat; `ticks`: its units in a second.
/// Nothing: the text has no such CPU.
std::optional<CpuTime> cpu_time(const std::string& stat, double ticks,
                                const std::function<bool(unsigned)>& is_counted);

struct OtherWork {
  double share = 0;    // of the CPU time, 0 to 1
  double seconds = 0;  // of CPU time
  /// Whether it is more than the kernel's rounding, and enough to change results.
  bool disturbs() const { return share >= 0.1 && seconds >= 1; }
};

/// What was neither idle from `begin` to `end` nor among the `own` seconds.
OtherWork other_work(const CpuTime& begin, const CpuTime& end, double own);

/// Watches the CPUs that this process may use, from its construction on.
class OtherPrograms {
 public:
  OtherPrograms();

  /// What neither this process used until now nor its children that have ended. Nothing if the kernel does
  /// not say.
  OtherWork until_now() const;

 private:
  std::optional<CpuTime> begin_;
  double own_begin_;
};

}  // namespace elision::cli
