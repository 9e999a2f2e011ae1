// SPDX-License-Identifier: Apache-2.0
// The first process's parent has the number kRootPid - 1. Limit: a descendant that gets kRootPid from the
// host is taken for the first process by kill and wait.
#include "vm/linux/process/process_ids.h"

#include <unistd.h>

namespace elision::vm {

ProcessIds::ProcessIds(const ProcessOrigin& origin)
    : host_pid_(getpid()),
      root_host_pid_(origin.root_host_pid != 0 ? origin.root_host_pid : host_pid_),
      root_parent_host_pid_(is_root() ? getppid() : 0),
      next_tid_(pid()) {}

int ProcessIds::to_guest(int host) const {
  if (host == root_host_pid_) return kRootPid;
  if (host == -root_host_pid_) return -kRootPid;
  return host;
}

int ProcessIds::to_host(int guest) const {
  if (guest == kRootPid) return root_host_pid_;
  if (guest == -kRootPid) return -root_host_pid_;
  if (guest == kRootPid - 1 && root_parent_host_pid_ != 0) return root_parent_host_pid_;
  return guest;
}

int ProcessIds::parent() const { return is_root() ? kRootPid - 1 : to_guest(getppid()); }

void ProcessIds::start_child() {
  host_pid_ = getpid();
  root_parent_host_pid_ = 0;
  next_tid_ = host_pid_;
}

}  // namespace elision::vm
