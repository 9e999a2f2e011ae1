// SPDX-License-Identifier: Apache-2.0
// signalfd. The guest's signals are ours, so the descriptor is the read end of a host pipe that holds a byte
// while a signal of its mask is pending: poll, select and epoll of the host find it readable just so. read()
// takes the signals from where they are pending. A pipe is known by its inode, whatever number or copy the
// guest uses.
//
// What is pending differs from thread to thread: the pipes are brought up to date for whoever asks just
// before the host is asked. Limits: a descriptor that another process got (SCM_RIGHTS, execve) is an ordinary
// pipe there.
#pragma once

#include <optional>

#include "vm/linux/process/call.h"

namespace elision::vm {

SyscallOutcome sys_signalfd(Call& call);  // signalfd, signalfd4

/// read or readv of a descriptor of this kind; nothing if it is none.
std::optional<SyscallOutcome> read_signals(Call& call);

/// `signal` was sent to some thread or all.
void note_signal(Process& process, int signal);
/// Makes the pipes show what is pending for `thread`; null: for any thread that waits.
void refresh_signal_descriptors(Process& process, const KernelThread* thread);
/// In a fork's child: its descriptors are its own, and show what is pending there.
void separate_signal_descriptors(Process& process);

}  // namespace elision::vm
