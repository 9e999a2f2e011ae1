// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/id_calls.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/events/process_events.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/syscalls/companions.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/event_calls.h"
#include "vm/linux/syscalls/guest_call.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

// Missing in the headers of 2022.
constexpr int kSetMemoryDenyWriteExecute = 65;     // PR_SET_MDWE
constexpr int kGetAuxiliaryVector = 0x41555856;    // PR_GET_AUXV
constexpr std::size_t kAuxiliaryVectorWords = 52;  // AT_VECTOR_SIZE of Linux 6.4, where it is new

std::uint64_t to_host(const Call& call, unsigned argument) {
  const int number = call.integer(argument);
  if (find_thread(call.process, number) != nullptr) return 0;  // the host has one thread: this one
  return static_cast<std::uint64_t>(call.process.ids.to_host(number));
}

SyscallOutcome finish_with_guest_number(Call& call, long host) {
  return call.finish(host > 0 ? call.process.ids.to_guest(static_cast<int>(host)) : host);
}

}  // namespace

SyscallOutcome sys_getpid(Call& call) { return call.finish(call.process.ids.pid()); }
SyscallOutcome sys_getppid(Call& call) { return call.finish(call.process.ids.parent()); }

SyscallOutcome sys_process_group(Call& call) {
  const bool takes_number = call.number == SYS_getpgid || call.number == SYS_getsid;
  const std::uint64_t argument = takes_number ? to_host(call, 0) : 0;
  return finish_with_guest_number(call, host_call(static_cast<long>(call.number), argument));
}

SyscallOutcome sys_setpgid(Call& call) {
  const auto& ids = call.process.ids;
  return call.finish(
      host_call(SYS_setpgid, to_host(call, 0), static_cast<std::uint64_t>(ids.to_host(call.integer(1)))));
}

SyscallOutcome sys_with_pid(Call& call) {
  call.arguments[0] = to_host(call, 0);
  return pass_through(call);
}

SyscallOutcome sys_ioctl(Call& call) {
  if (const auto outcome = ioctl_event(call)) return *outcome;
  const auto& ids = call.process.ids;
  if (call[1] == TIOCSPGRP) {
    const auto group = load_guest<int>(call[2]);
    if (!group) return call.finish(-EFAULT);
    const int host_group = ids.to_host(*group);
    return call.finish(
        host_call(SYS_ioctl, call[0], TIOCSPGRP, reinterpret_cast<std::uint64_t>(&host_group)));
  }
  if (call[1] == TIOCGPGRP || call[1] == TIOCGSID) {
    int number = 0;
    const long error = host_call(SYS_ioctl, call[0], call[1], reinterpret_cast<std::uint64_t>(&number));
    if (error < 0) return call.finish(error);
    return call.finish(store_guest(call[2], ids.to_guest(number)) ? 0 : -EFAULT);
  }
  return pass_through(call);
}

namespace {

/// The host has one thread for all virtual threads: it has the name of the first.
SyscallOutcome set_name(Call& call) {
  char name[kThreadNameBytes];
  for (std::size_t i = 0;; ++i) {
    const auto next = load_guest<char>(call[1] + i);
    if (!next) return call.finish(-EFAULT);
    name[i] = i + 1 < sizeof name ? *next : '\0';
    if (name[i] == '\0') break;
  }
  call.self.name = name;
  if (call.thread().tid == call.process.leader_tid) prctl(PR_SET_NAME, name);
  if (call.process.events != nullptr) call.process.events->note_name(call.self, false);
  publish_threads(call.process);
  return call.finish(0);
}

SyscallOutcome get_name(Call& call) {
  char name[kThreadNameBytes] = {};
  call.self.name.copy(name, sizeof name - 1);
  return call.finish(store_guest(call[1], name) ? 0 : -EFAULT);
}

/// Stores as much of the vector as there is room for. The result is the size of the whole, with the space
/// that Linux reserves behind it.
SyscallOutcome get_auxiliary_vector(Call& call) {
  if (call[3] != 0 || call[4] != 0) return call.finish(-EINVAL);
  std::vector<std::uint64_t> words = call.process.auxiliary_vector;
  words.resize(std::max(words.size(), kAuxiliaryVectorWords));
  const std::size_t size = words.size() * sizeof words[0];
  const bool stored = copy_to_guest(call[1], words.data(), std::min<std::uint64_t>(size, call[2]));
  return call.finish(stored ? static_cast<long>(size) : -EFAULT);
}

}  // namespace

/// Refuses filters and settings of the memory layout: they would affect the engine.
SyscallOutcome sys_prctl(Call& call) {
  switch (call.integer(0)) {
    case PR_SET_SECCOMP:
    case PR_SET_MM:
    case PR_SET_TSC:
    case kSetMemoryDenyWriteExecute:
    case PR_SET_SYSCALL_USER_DISPATCH:
      return call.finish(-EINVAL);
    case PR_SET_PTRACER:
      if (find_companion(call.process, call.integer(1)) != nullptr) return call.finish(0);
      return pass_through(call);
    case PR_SET_NAME:
      return set_name(call);
    case PR_GET_NAME:
      return get_name(call);
    case kGetAuxiliaryVector:
      return get_auxiliary_vector(call);
    case PR_CAPBSET_DROP:
    case PR_SET_KEEPCAPS:
    case PR_SET_SECUREBITS:
    case PR_SET_NO_NEW_PRIVS:
    case PR_CAP_AMBIENT:
      return sys_set_credentials(call);
    case PR_GET_TID_ADDRESS:
      return call.finish(store_guest(call[1], call.self.clear_child_tid) ? 0 : -EFAULT);
    default:
      return pass_through(call);
  }
}

}  // namespace elision::vm
