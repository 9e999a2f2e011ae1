// SPDX-License-Identifier: Apache-2.0
// Sources: perf_event_open(2), Linux kernel/events/core.c.
#include "vm/linux/syscalls/event_calls.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <limits>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/events/event_attributes.h"
#include "vm/linux/events/event_branches.h"
#include "vm/linux/events/event_descriptors.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kFlags =
    PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC;
constexpr double kHertzPerMegahertz = 1e6, kNanosecondsPerSecond = 1e9;

ProcessEvents& events_of(const Call& call) {
  if (call.process.events == nullptr) call.process.events = std::make_shared<ProcessEvents>(call.process, -1);
  return *call.process.events;
}

/// Whom an event counts.
struct Target {
  int process = 0;  // host number
  int thread = 0;   // the guest's
};

OrErrno<Target> target_of(const Call& call) {
  const int number = call.integer(1), cpu = call.integer(2);
  const ProcessIds& ids = call.process.ids;
  if (number == -1 && cpu == -1) return Errno{-EINVAL};
  if (cpu < -1 || cpu >= static_cast<int>(call.services().cpu_count())) return Errno{-EINVAL};
  if (number == -1) return Errno{-EACCES};  // a whole CPU: kParanoid
  if (number < -1) return Errno{-ESRCH};
  if (number == 0) return Target{ids.host_pid(), call.thread().tid};
  if (find_thread(call.process, number) != nullptr) return Target{ids.host_pid(), number};
  int host = ids.to_host(number);
  if (host >= kMostHostNumbers) host = host_process_of_thread(call.process, number);
  if (host == 0 || kill(host, 0) != 0) return Errno{-ESRCH};
  return Target{host, number};
}

/// The slot of the group's leader, kNoEvent for none, or an error.
OrErrno<int> leader_of(const Call& call, const Target& target, const perf_event_attr& attr) {
  const int descriptor = call.integer(3);
  if (descriptor == -1) return kNoEvent;
  const int slot = event_of(call.process, descriptor);
  if (slot == kNoEvent) return Errno{-EBADF};
  if ((call[4] & PERF_FLAG_FD_NO_GROUP) != 0) return kNoEvent;
  const EventSlot& leader = events_of(call).board[slot];
  const bool same =
      leader.process == target.process && leader.thread == target.thread && leader.cpu == call.integer(2);
  if (leader.leader != slot || !same || attr.exclusive || attr.pinned) return Errno{-EINVAL};
  return slot;
}

/// Of an event that is sampled so many times a second: about right from the start.
std::uint64_t first_period(const perf_event_attr& attr, EventKind kind, const MachineIdentity& machine) {
  if (!interrupts(kind)) return 0;
  if (!attr.freq || attr.sample_freq == 0) return attr.sample_period;
  const double frequency = static_cast<double>(attr.sample_freq);
  switch (kind) {
    case EventKind::kClock:
      return static_cast<std::uint64_t>(kNanosecondsPerSecond / frequency);
    case EventKind::kCycles:
    case EventKind::kReferenceCycles:
    case EventKind::kInstructions:
      return static_cast<std::uint64_t>(machine.megahertz * kHertzPerMegahertz / frequency);
    default:
      return 1;
  }
}

void fill(EventSlot& slot, int number, const perf_event_attr& attr, const Target& target, EventKind kind) {
  slot.process = target.process;
  slot.thread = target.thread;
  slot.leader = slot.output = number;
  slot.kind = kind;
  slot.attr = attr;
  slot.enabled = !attr.disabled;
}

/// The buffers of read or readv.
bool scatter(const Call& call, const std::vector<std::uint64_t>& values, std::uint64_t size) {
  if (call.number == SYS_read) return copy_to_guest(call[1], values.data(), size);
  const char* from = reinterpret_cast<const char*>(values.data());
  for (std::uint64_t i = 0; size > 0; ++i) {
    const auto piece = load_guest<iovec>(call[1] + i * sizeof(iovec));
    if (!piece) return false;
    const std::uint64_t part = std::min<std::uint64_t>(size, piece->iov_len);
    if (!copy_to_guest(reinterpret_cast<std::uint64_t>(piece->iov_base), from, part)) return false;
    from += part, size -= part;
  }
  return true;
}

std::uint64_t room_of(const Call& call) {
  if (call.number == SYS_read) return call[2];
  std::uint64_t room = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(call[2], IOV_MAX); ++i)
    if (const auto piece = load_guest<iovec>(call[1] + i * sizeof(iovec))) room += piece->iov_len;
  return room;
}

/// Applies `change` to an event, or to all of its group.
template <class Change>
void change_state(ProcessEvents& events, int slot, bool whole_group, Change change) {
  events.settle();
  const std::uint64_t leader = events.board[slot].leader_id;
  for (int each = 0; each < events.board.end(); ++each)
    if (each == slot || (whole_group && events.board.is_open(each) && events.board[each].leader_id == leader))
      change(events.board[each]);
  events.event_changed();
}

long set_period(ProcessEvents& events, EventSlot& event, std::uint64_t address) {
  const auto period = load_guest<std::uint64_t>(address);
  if (!period) return -EFAULT;
  if (!is_sampled(event.attr) || *period == 0) return -EINVAL;
  if (event.attr.freq ? *period > kMostSamplesPerSecond : *period >> 63 != 0) return -EINVAL;
  events.settle();
  event.attr.sample_period = *period;
  if (!event.attr.freq) event.period = *period;
  events.event_changed();
  return 0;
}

long refresh(ProcessEvents& events, int slot, int more) {
  EventSlot& event = events.board[slot];
  if (event.attr.inherit || !is_sampled(event.attr)) return -EINVAL;
  event.overflows_left += more;
  change_state(events, slot, false, [](EventSlot& each) { each.enabled = true; });
  return 0;
}

/// Linux's conditions: the other event has a ring, or will have, and counts on the same CPU.
long set_output(const Call& call, EventBoard& board, int slot) {
  const int descriptor = call.integer(2);
  if (descriptor == -1) {
    board[slot].output_id = board[slot].id.load();
    board[slot].output = slot;
    return 0;
  }
  const int output = event_of(call.process, descriptor);
  if (output == kNoEvent) return -EBADF;
  const EventSlot& event = board[slot];
  const EventSlot& other = board[output];
  const bool same = event.cpu == other.cpu && (event.cpu >= 0 || event.thread == other.thread);
  if (output == slot || !same || other.output != output || event.ring_mapped) return -EINVAL;
  board[slot].output_id = other.id.load();
  board[slot].output = output;
  return 0;
}

/// What the program and the kernel exchange behind the first page is empty.
void prepare_first_page(const EventBoard& board, int slot, std::uint64_t data_bytes) {
  void* const memory = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, board.descriptor(),
                            static_cast<off_t>(EventBoard::ring_offset(slot)));
  if (memory == MAP_FAILED) return;
  auto* const page = static_cast<perf_event_mmap_page*>(memory);
  page->version = page->compat_version = 0;
  page->cap_bit0_is_deprecated = 1;
  page->size = static_cast<std::uint32_t>(offsetof(perf_event_mmap_page, __reserved));
  page->data_offset = kPageBytes;
  page->data_size = data_bytes;
  munmap(memory, kPageBytes);
}

long set_owner(const Call& call, EventSlot& event, int type, int number) {
  const ProcessIds& ids = call.process.ids;
  const bool is_own =
      type == F_OWNER_TID ? find_thread(call.process, number) != nullptr : number == ids.pid();
  if (number != 0 && (!is_own || event.process != ids.host_pid())) return -ESRCH;
  if (type != F_OWNER_TID && type != F_OWNER_PID) return -EINVAL;
  event.signal_owner = type == F_OWNER_TID ? number : -number;
  return 0;
}

}  // namespace

SyscallOutcome sys_perf_event_open(Call& call) {
  if ((call[4] & ~kFlags) != 0 || (call[4] & PERF_FLAG_PID_CGROUP) != 0) return call.finish(-EINVAL);
  const auto attr = load_attributes(call[0]);
  if (!attr) return call.finish(attr.failure());
  const auto target = target_of(call);
  if (!target) return call.finish(target.failure());
  const NamedKind named = kind_named(*attr, call.process.identity);
  if (named.error != 0) return call.finish(named.error);
  if (is_sampled(*attr) && !interrupts(named.kind) && named.kind != EventKind::kNothing)
    return call.finish(-EOPNOTSUPP);
  if (has_branch_stack(*attr) && attr->type == PERF_TYPE_SOFTWARE) return call.finish(-EOPNOTSUPP);
  ProcessEvents& events = events_of(call);
  if (!events.board.make()) return call.finish(-ENOMEM);
  const auto leader = leader_of(call, *target, *attr);
  if (!leader) return call.finish(leader.failure());
  const int slot = events.board.take();
  if (slot == kNoEvent) return call.finish(-EMFILE);
  EventSlot& event = events.board[slot];
  fill(event, slot, *attr, *target, named.kind);
  event.id = event.leader_id = events.board.next_id();
  event.output_id = event.id.load();
  event.cpu = call.integer(2);
  if (*leader != kNoEvent) event.leader = *leader, event.leader_id = events.board[*leader].id;
  event.period = first_period(*attr, named.kind, call.process.identity);
  const long descriptor = open_event_descriptor(call.process, slot, (call[4] & PERF_FLAG_FD_CLOEXEC) != 0);
  if (descriptor < 0) {
    events.board.free(slot);
  } else {
    events.event_changed();
  }
  return call.finish(descriptor);
}

std::optional<SyscallOutcome> read_event(Call& call) {
  const int slot = event_of(call.process, call.integer(0));
  if (slot == kNoEvent) return std::nullopt;
  const std::vector<std::uint64_t> values = events_of(call).values(slot);
  const std::uint64_t size = values.size() * sizeof values[0];
  if (room_of(call) < size) return call.finish(-ENOSPC);
  return call.finish(scatter(call, values, size) ? static_cast<long>(size) : -EFAULT);
}

std::optional<SyscallOutcome> ioctl_event(Call& call) {
  const int slot = event_of(call.process, call.integer(0));
  if (slot == kNoEvent) return std::nullopt;
  ProcessEvents& events = events_of(call);
  const bool whole_group = (call[2] & PERF_IOC_FLAG_GROUP) != 0;
  switch (call[1]) {
    case PERF_EVENT_IOC_ENABLE:
      change_state(events, slot, whole_group, [](EventSlot& event) { event.enabled = true; });
      return call.finish(0);
    case PERF_EVENT_IOC_DISABLE:
      change_state(events, slot, whole_group, [](EventSlot& event) { event.enabled = false; });
      return call.finish(0);
    case PERF_EVENT_IOC_RESET:
      change_state(events, slot, whole_group, [](EventSlot& event) { event.count = 0; });
      return call.finish(0);
    case PERF_EVENT_IOC_REFRESH:
      return call.finish(refresh(events, slot, call.integer(2)));
    case PERF_EVENT_IOC_PERIOD:
      return call.finish(set_period(events, events.board[slot], call[2]));
    case PERF_EVENT_IOC_ID:
      return call.finish(store_guest(call[2], events.board[slot].id.load()) ? 0 : -EFAULT);
    case PERF_EVENT_IOC_SET_OUTPUT:
      return call.finish(set_output(call, events.board, slot));
    default:  // filters and programs for tracepoints
      return call.finish(call[1] == PERF_EVENT_IOC_PAUSE_OUTPUT ? -EINVAL : -ENOTTY);
  }
}

std::optional<SyscallOutcome> fcntl_event(Call& call) {
  const int slot = event_of(call.process, call.integer(0));
  if (slot == kNoEvent) return std::nullopt;
  EventSlot& event = events_of(call).board[slot];
  switch (call.integer(1)) {
    case F_SETFL:
      if ((call[2] & O_ASYNC) != 0 && event.process != call.process.ids.host_pid())
        return call.finish(-EINVAL);
      event.signals = (call[2] & O_ASYNC) != 0;
      event.descriptor = call.integer(0);
      call.arguments[2] &= ~std::uint64_t{O_ASYNC};
      return std::nullopt;
    case F_GETFL: {
      const long flags = host_call(SYS_fcntl, call[0], F_GETFL);
      const bool is_async = event.signals;
      return call.finish(flags < 0 ? flags : (flags & ~O_ACCMODE) | O_RDWR | (is_async ? O_ASYNC : 0));
    }
    case F_SETSIG:
      if (call[2] > kSignalCount) return call.finish(-EINVAL);
      event.signal = call.integer(2);
      return call.finish(0);
    case F_GETSIG:
      return call.finish(event.signal);
    case F_SETOWN:
      return call.finish(set_owner(call, event, F_OWNER_PID, call.integer(2)));
    case F_GETOWN:
      return call.finish(std::abs(event.signal_owner.load()));
    case F_SETOWN_EX: {
      const auto owner = load_guest<f_owner_ex>(call[2]);
      return call.finish(owner ? set_owner(call, event, owner->type, owner->pid) : -EFAULT);
    }
    case F_GETOWN_EX: {
      const int owner = event.signal_owner;
      const f_owner_ex result{owner < 0 ? F_OWNER_PID : F_OWNER_TID, std::abs(owner)};
      return call.finish(store_guest(call[2], result) ? 0 : -EFAULT);
    }
    default:
      return std::nullopt;
  }
}

std::optional<SyscallOutcome> map_event(Call& call) {
  if ((call[3] & MAP_ANONYMOUS) != 0) return std::nullopt;
  const int slot = event_of(call.process, call.integer(4));
  if (slot == kNoEvent) return std::nullopt;
  const EventBoard& board = events_of(call).board;
  EventSlot& event = board[slot];
  const std::uint64_t pages = call[1] / kPageBytes;
  if (call[5] != 0) return call.finish(-EOPNOTSUPP);  // AUX buffers
  const bool is_sized =
      call[1] % kPageBytes == 0 && pages >= 1 && (pages == 1 || std::has_single_bit(pages - 1));
  const bool is_shared =
      (call.integer(3) & MAP_TYPE) == MAP_SHARED || (call.integer(3) & MAP_TYPE) == MAP_SHARED_VALIDATE;
  if (!is_sized || !is_shared || (event.cpu == -1 && event.attr.inherit)) return call.finish(-EINVAL);
  if (event.ring_mapped && event.ring_pages != pages - 1) return call.finish(-EINVAL);
  if (call[1] > EventBoard::kRingBytes) return call.finish(-ENOMEM);
  const long mapped = call.process.memory.map(call[0], call[1], call.integer(2), call.integer(3),
                                              board.descriptor(), EventBoard::ring_offset(slot));
  if (mapped >= 0 && !event.ring_mapped) {
    prepare_first_page(board, slot, (pages - 1) * kPageBytes);
    event.ring_pages = pages - 1;
    event.ring_overwrites = (call.integer(2) & PROT_WRITE) == 0;
    event.ring_mapped = true;
  }
  return call.finish(mapped);
}

void note_mapping(const Call& call, std::uint64_t address, std::uint64_t size) {
  if (call.process.events != nullptr && call.process.events->counts_anything())
    call.process.events->note_mapping(call.self, address, size);
}

}  // namespace elision::vm
