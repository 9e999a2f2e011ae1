// SPDX-License-Identifier: Apache-2.0
// The guest's resource limits (getrlimit(2)). The table here is what the guest set, or the first process
// found; children and new program images inherit it.
//
// The limits bind the guest and never the engine, which shares its process:
//   kept here    address space, data, stack, CPU time: counted for the guest alone; the host's own are lifted
//   as far as
//                it lets us
//   on the host  all others: the host's soft limit is the guest's, its hard limit stays as it was. What the
//                engine opens or writes for itself, it does under LiftedLimits.
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "vm/kernel/call.h"

namespace elision::vm {

/// What the host's limits are. `lift_host_limits` must not have been called.
LimitTable host_limits();

/// Lifts those of this process that would bind the engine. One line if what is left is too little for it, or
/// empty.
std::string lift_host_limits();

/// Sets the host's soft limits to the guest's, of those that the host counts.
void bind_host_limits(const LimitTable& limits);

/// While it lives, the host's soft limits are its hard ones.
class LiftedLimits {
 public:
  LiftedLimits();
  ~LiftedLimits();
  LiftedLimits(const LiftedLimits&) = delete;
  LiftedLimits& operator=(const LiftedLimits&) = delete;
  rlim_t soft_before(int resource) const { return before_[static_cast<unsigned>(resource)].rlim_cur; }

 private:
  LimitTable before_;
};

/// True if the guest may map `bytes` more, of which `data_bytes` are private and writable.
bool may_map(const Process& process, std::uint64_t bytes, std::uint64_t data_bytes);

/// True if `thread` may start another: RLIMIT_NPROC, of which the threads of this process alone are counted.
bool may_add_thread(const Process& process, const KernelThread& thread);

/// How large the mapping of an initial stack is to be that holds `contents` bytes from the start.
std::uint64_t stack_bytes(const LimitTable& limits, std::uint64_t contents);

/// How many bytes arguments and environment may have (execve(2)).
std::uint64_t most_argument_bytes(const LimitTable& limits);

/// Sends SIGXCPU and SIGKILL when the process has computed for as long as its limit says.
void watch_cpu_limit(Process& process);

/// The text of /proc/self/limits.
std::string describe_limits(const LimitTable& limits);

SyscallOutcome sys_getrlimit(Call& call);
SyscallOutcome sys_setrlimit(Call& call);
SyscallOutcome sys_prlimit64(Call& call);

}  // namespace elision::vm
