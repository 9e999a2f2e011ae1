// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/process_ids.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace elision::vm {
namespace {

/// Threads of descendants. Processes whose host numbers are within kProcesses of each other share no number
/// until one of them has made kThreads threads and goes on with the numbers of the next.
constexpr int kFirstThread = 1 << 29, kProcesses = 1 << 14, kThreads = 1 << 15;

}  // namespace

ProcessIds::ProcessIds(const ProcessOrigin& origin)
    : host_pid_(getpid()),
      root_host_pid_(origin.root_host_pid != 0 ? origin.root_host_pid : host_pid_),
      root_parent_host_pid_(is_root() ? getppid() : 0) {}

int ProcessIds::next_tid() {
  const int thread = threads_++;
  if (is_root() || thread == 0) return pid() + thread;
  return kFirstThread + (host_pid_ % kProcesses * kThreads + thread) % (kProcesses * kThreads);
}

bool ProcessIds::may_have_thread(int host_pid, int thread) const {
  if (host_pid == root_host_pid_) return thread >= kRootPid && thread < kFirstThread;
  // A process with many threads goes on with the numbers of the next ones.
  return thread >= kFirstThread;
}

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

void ProcessIds::start_copy() {
  host_pid_ = root_host_pid_ = getpid();
  root_parent_host_pid_ = getppid();
}

void ProcessIds::start_child() {
  host_pid_ = getpid();
  root_parent_host_pid_ = 0;
  threads_ = 0;
}

bool is_gone(int host_pid) { return kill(host_pid, 0) != 0 && errno == ESRCH; }

}  // namespace elision::vm
