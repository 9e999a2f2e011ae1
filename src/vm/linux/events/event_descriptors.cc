// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/events/event_descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"

namespace elision::vm {
namespace {

bool is_open_here(const Process& process, int slot) {
  const EventBoard& board = process.events->board;
  return board.is_open(slot) && board[slot].opener == process.ids.host_pid();
}

ino_t inode_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode) ? status.st_ino : 0;
}

/// The guest holds no read end any more.
bool is_closed(int write_end) {
  pollfd end{write_end, POLLOUT, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

void drain(int write_end) {
  const std::string path = "/proc/self/fd/" + std::to_string(write_end);
  const int end = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  char bytes[16];
  while (end >= 0 && read(end, bytes, sizeof bytes) > 0) {
  }
  if (end >= 0) close(end);
}

/// Whether the event's ring, or that of another event to which it writes, holds records.
bool has_records(const EventBoard& board, int slot) {
  const int output = board[slot].output;
  if (!board[output].ring_mapped) return false;
  void* const memory = mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, board.descriptor(),
                            static_cast<off_t>(EventBoard::ring_offset(output)));
  if (memory == MAP_FAILED) return false;
  const auto* const page = static_cast<const perf_event_mmap_page*>(memory);
  const bool any = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) != page->data_tail;
  munmap(memory, kPageBytes);
  return any;
}

/// Whether the pipe holds a byte. A writer sets `ready` before it writes, so that `ready` alone does not
/// tell.
bool holds_byte(int write_end) {
  int bytes = 0;
  return ioctl(write_end, FIONREAD, &bytes) == 0 && bytes > 0;
}

/// In that order: a writer that finds the event ready writes no byte.
void take_wake_up(const EventBoard& board, EventSlot& event, int slot) {
  drain(event.write_end);
  event.ready = false;
  if (!has_records(board, slot) || event.ready.exchange(true)) return;
  const char byte = 1;
  (void)!write(event.write_end, &byte, 1);
}

}  // namespace

long open_event_descriptor(Process& process, int slot, bool closes_on_exec) {
  const LiftedLimits lifted;
  int ends[2];
  if (pipe2(ends, closes_on_exec ? O_CLOEXEC : 0) != 0) return -errno;
  if (static_cast<rlim_t>(ends[0]) >= lifted.soft_before(RLIMIT_NOFILE)) {
    close(ends[0]), close(ends[1]);
    return -EMFILE;
  }
  EventSlot& event = process.events->board[slot];
  event.opener = process.ids.host_pid();
  event.write_end = reserve_descriptor(ends[1]);
  event.inode = inode_of(ends[0]);
  event.descriptor = ends[0];
  event.state = EventSlot::kOpen;
  return ends[0];
}

int event_of(const Process& process, int descriptor) {
  if (process.events == nullptr || process.events->board.end() == 0) return kNoEvent;
  const ino_t inode = inode_of(descriptor);
  const EventBoard& board = process.events->board;
  for (int slot = 0; inode != 0 && slot < board.end(); ++slot)
    if (board.is_open(slot) && board[slot].inode == inode) return slot;
  return kNoEvent;
}

void refresh_event_descriptors(Process& process) {
  if (process.events == nullptr) return;
  const EventBoard& board = process.events->board;
  int exists = process.ids.host_pid();  // the last process that was found to
  for (int slot = 0; slot < board.end(); ++slot) {
    EventSlot& event = board[slot];
    if (!is_open_here(process, slot) || event.write_end < 0) continue;
    if (holds_byte(event.write_end)) take_wake_up(board, event, slot);
    if (!event.target_ended && (event.process == exists || !is_gone(event.process))) {
      exists = event.process;
      continue;
    }
    close_reserved_descriptor(event.write_end);
    event.write_end = -1;
  }
}

void end_closed_events(Process& process) {
  if (process.events == nullptr) return;
  EventBoard& board = process.events->board;
  bool any = false;
  for (int slot = 0; slot < board.end(); ++slot) {
    EventSlot& event = board[slot];
    if (!is_open_here(process, slot) || event.write_end < 0 || !is_closed(event.write_end)) continue;
    close_reserved_descriptor(event.write_end);
    any = true;
    process.events->settle();
    board.free(slot);
  }
  if (any) process.events->event_changed();
}

}  // namespace elision::vm
