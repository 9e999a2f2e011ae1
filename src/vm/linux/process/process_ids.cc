// SPDX-License-Identifier: Apache-2.0
// The first process's parent is shown as kRootPid - 1. A descendant that happens to get the number
// kRootPid from the host cannot be told from the first process; with a host's usual range of process
// numbers this is rare, and only kill and wait would notice.
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
