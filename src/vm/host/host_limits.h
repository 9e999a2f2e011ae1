// SPDX-License-Identifier: Apache-2.0
// The host's limits on the process that the guest and the engine share. They bind the guest and never the
// engine:
//   kept by the guest's kernel  address space, data, stack, CPU time (is_kept_here); the host's own are
//   lifted as
//                               far as it lets us
//   kept by the host            all others: the host's soft limit is the guest's, its hard limit stays as it
//   was.
//                               What the engine opens or writes for itself, it does under LiftedLimits.
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

/// What the host's limits are. `lift_host_limits` must not have been called.
LimitTable host_limits();

/// Lifts those of this process that would bind the engine. One line if what is left is too little for it, or
/// empty.
std::string lift_host_limits();

/// Sets the host's soft limits to the guest's, of those that the host counts.
void bind_host_limits(const LimitTable& limits);

/// The host's limit on one resource; set_host_limit returns 0 or a negative errno.
rlimit host_limit(int resource);
long set_host_limit(int resource, const rlimit& limit);

/// What a limit that the host did not let us lift leaves to the guest.
rlim_t room_for_guest(int resource);

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

}  // namespace elision::vm
