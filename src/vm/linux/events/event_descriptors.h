// SPDX-License-Identifier: Apache-2.0
// The descriptors that programs have for events. Each is the read end of a host pipe, whose inode names the
// event, whatever number or copy of the descriptor a process uses. The pipe holds a byte while a wake-up of
// the event's ring buffer is not read yet, so that the host's poll, select and epoll find it ready, and has
// no writer once the counted thread has ended.
//
// Limit: fstat sees a pipe.
#pragma once

#include "vm/linux/events/process_events.h"

namespace elision::vm {

/// Makes the descriptor of `slot`, which is taken, and opens the event. Returns the descriptor or a negative
/// errno.
long open_event_descriptor(Process& process, int slot, bool closes_on_exec);
/// The event that `descriptor` names, or kNoEvent.
int event_of(const Process& process, int descriptor);
/// Before this process asks the host what is ready.
void refresh_event_descriptors(Process& process);
/// The program has closed descriptors: ends the events that have none left.
void end_closed_events(Process& process);

}  // namespace elision::vm
