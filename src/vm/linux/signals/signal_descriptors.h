// SPDX-License-Identifier: Apache-2.0
// signalfd. The guest's signals exist only here, so the descriptor is the read end of a host pipe that holds
// a byte while a signal of its mask is pending: the host's poll, select and epoll find it readable. read()
// takes the pending signals themselves. The pipe's inode identifies it, whatever number or copy the guest
// uses.
//
// Pending signals differ between threads: before a thread asks the host about readiness, the pipes are
// updated for that thread. Limit: in another process that got the descriptor (SCM_RIGHTS, execve) it is an
// ordinary pipe.
#pragma once

#include <optional>

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_signalfd(Call& call);  // signalfd, signalfd4

/// read or readv of a signalfd; nothing if the descriptor is none.
std::optional<SyscallOutcome> read_signals(Call& call);

/// `signal` was sent to some thread or all.
void note_signal(Process& process, int signal);
/// Updates the pipes to the signals pending for `thread`; null: for any thread that waits.
void refresh_signal_descriptors(Process& process, const KernelThread* thread);
/// In a fork's child: makes pipes of its own, with the child's pending signals.
void separate_signal_descriptors(Process& process);

}  // namespace elision::vm
