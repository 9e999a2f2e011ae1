// SPDX-License-Identifier: Apache-2.0
// The host's resource limits on the process that the guest and the engine share. They bind the guest and
// never the engine:
//   - Address space, data, stack and CPU time (is_kept_here) are kept by the guest's kernel. The host's own
//     limits are lifted as far as the host allows.
//   - The host keeps all others. Its soft limit is the guest's; its hard limit stays. Whatever the engine
//     opens or writes for itself, it does under LiftedLimits.
#pragma once

#include <sys/resource.h>

#include <string>

#include "vm/interface/limit_table.h"

namespace elision::vm {

/// True for a resource that the guest's kernel counts, false for one that the host counts.
constexpr bool is_kept_here(int resource) {
  return resource == RLIMIT_AS || resource == RLIMIT_DATA || resource == RLIMIT_STACK ||
         resource == RLIMIT_CPU || resource == RLIMIT_RTPRIO;
}

/// The host's limits, before lift_host_limits() is called.
LimitTable host_limits();

/// Lifts the limits of this process that would bind the engine. Returns one line if the rest is too little
/// for the engine, else an empty text.
std::string lift_host_limits();

/// Sets the host's soft limits to the guest's, where the host keeps them.
void bind_host_limits(const LimitTable& limits);

/// The host's limit on one resource; set_host_limit returns 0 or a negative errno.
rlimit host_limit(int resource);
long set_host_limit(int resource, const rlimit& limit);

/// What a limit that could not be lifted leaves to the guest.
rlim_t room_for_guest(int resource);

/// In its scope the host's soft limits equal its hard limits.
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

}  // namespace elision::vm
