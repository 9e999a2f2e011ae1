// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/events/process_events.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "vm/host/host_limits.h"
#include "vm/linux/events/event_branches.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

bool is_on(const EventSlot& slot, unsigned cpu) {
  return slot.cpu < 0 || static_cast<unsigned>(slot.cpu) == cpu;
}

}  // namespace

bool ProcessEvents::is_current(const Counter& counter) const { return board.is(counter.slot, counter.id); }

/// A group counts as one: not without its leader.
bool ProcessEvents::is_effective(const EventSlot& slot) const {
  if (!slot.enabled) return false;
  return !board.is(slot.leader, slot.leader_id) || board[slot.leader].enabled;
}

ProcessEvents::Counter ProcessEvents::counter_of(int slot) const {
  const EventSlot& event = board[slot];
  return {slot, event.id, static_cast<std::int64_t>(event.period.load()), 0, false};
}

void ProcessEvents::settle(KernelThread& thread, ThreadEvents& events) {
  const ThreadCounts now = process_.services.counts(thread.thread);
  const unsigned cpu = process_.services.cpu_of(thread.thread);
  const std::uint64_t time = now.nanoseconds - events.settled.nanoseconds;
  for (Counter& counter : events.counters) {
    if (!counter.counts || !is_current(counter)) continue;
    EventSlot& slot = board[counter.slot];
    slot.time_enabled += time;
    if (!is_on(slot, cpu)) continue;
    const std::uint64_t more = value_of(slot.kind, now) - value_of(slot.kind, events.settled);
    slot.time_running += time;
    slot.count += more;
    counter.left -= static_cast<std::int64_t>(more);
  }
  events.settled = now;
}

/// Takes in which events are enabled, and tells the engine when the next period of the thread is over. All
/// its counters are settled.
void ProcessEvents::refresh(KernelThread& thread, ThreadEvents& events) {
  std::erase_if(events.counters, [&](const Counter& counter) { return !is_current(counter); });
  const unsigned cpu = process_.services.cpu_of(thread.thread);
  CountLimits limits;
  const std::uint32_t branches_before = std::exchange(events.branches, 0);
  const std::uint32_t accesses_before = std::exchange(events.accesses, 0);
  for (Counter& counter : events.counters) {
    const EventSlot& slot = board[counter.slot];
    counter.counts = is_effective(slot);
    if (counter.counts) events.branches |= branch_kinds(slot.attr);
    if (counter.counts) events.accesses |= counted_access(slot.kind);
    if (!counter.counts || slot.period == 0 || !is_on(slot, cpu)) continue;
    limit(limits, slot.kind, events.settled,
          static_cast<std::uint64_t>(std::max<std::int64_t>(counter.left, 0)), process_.identity);
  }
  if (limits.any() || events.limited) process_.services.set_count_limits(thread.thread, limits);
  events.limited = limits.any();
  if (events.branches != branches_before || events.accesses != accesses_before) tell_what_is_wanted();
}

/// All threads of the process record the branches and count the accesses that any of them needs: they execute
/// the same code.
void ProcessEvents::tell_what_is_wanted() {
  std::uint32_t branches = 0, accesses = 0;
  for (const auto& [thread, events] : threads_) branches |= events.branches, accesses |= events.accesses;
  process_.services.record_branches(branches);
  process_.services.count_accesses(accesses);
}

/// The child of a vfork is no thread of this process, though it runs in the place of one.
void ProcessEvents::settle() {
  if (process_.inside_vfork != nullptr) return;
  for (auto& [thread, events] : threads_) settle(*thread, events);
}

/// Gives the thread that an event names a counter.
void ProcessEvents::adopt(int slot) {
  EventSlot& event = board[slot];
  if (event.adopted.exchange(true)) return;
  const auto found = std::find_if(process_.threads.begin(), process_.threads.end(),
                                  [&](const auto& thread) { return thread->thread.tid == event.thread; });
  if (found == process_.threads.end()) {
    event.target_ended = true;
    return;
  }
  const auto [entry, is_new] = threads_.try_emplace(found->get());
  if (is_new) entry->second.settled = process_.services.counts((*found)->thread);
  entry->second.counters.push_back(counter_of(slot));
}

void ProcessEvents::look() {
  const std::uint64_t changes = board.changes();
  if (changes == seen_changes_) return;
  seen_changes_ = changes;
  settle();
  for (int slot = 0; slot < board.end(); ++slot)
    if (board.is_open(slot) && board[slot].process == process_.ids.host_pid() && !board[slot].adopted)
      adopt(slot);
  for (auto& [thread, events] : threads_) refresh(*thread, events);
  std::erase_if(threads_, [](const auto& entry) { return entry.second.counters.empty(); });
}

void ProcessEvents::event_changed() {
  board.changed();
  look();
}

/// Linux's, in short: the period moves towards the one that gives the frequency.
void ProcessEvents::change_period(Counter& counter, EventSlot& slot, std::uint64_t now) const {
  const std::uint64_t elapsed = now - counter.last_overflow;
  counter.last_overflow = now;
  if (!slot.attr.freq || slot.attr.sample_freq == 0 || elapsed == 0) return;
  const double period = static_cast<double>(slot.period);
  const double ideal = period * static_cast<double>(kNanosecondsPerSecond) /
                       (static_cast<double>(elapsed) * static_cast<double>(slot.attr.sample_freq));
  slot.period = static_cast<std::uint64_t>(std::max(1.0, period + (std::min(ideal, 1e15) - period) / 8));
}

bool ProcessEvents::overflow(KernelThread& thread, const CountInterrupt& interrupt,
                             std::vector<EventSignal>& signals) {
  const auto found = threads_.find(&thread);
  if (found == threads_.end()) {
    process_.services.set_count_limits(thread.thread, {});
    return false;
  }
  ThreadEvents& events = found->second;
  settle(thread, events);
  const unsigned cpu = process_.services.cpu_of(thread.thread);
  bool any = false;
  for (Counter& counter : events.counters) {
    if (!counter.counts || !is_current(counter)) continue;
    EventSlot& slot = board[counter.slot];
    const std::uint64_t period = slot.period;
    if (period == 0 || !interrupts(slot.kind) || !is_on(slot, cpu) || counter.left > 0) continue;
    any = true;
    change_period(counter, slot, events.settled.nanoseconds);
    counter.left += static_cast<std::int64_t>(slot.period.load());
    if (counter.left <= 0) counter.left = static_cast<std::int64_t>(slot.period.load());
    emit({thread, counter.slot, period, interrupt}, signals);
  }
  refresh(thread, events);
  return any;
}

void ProcessEvents::emit(const Overflow& overflow, std::vector<EventSignal>& signals) {
  EventSlot& slot = board[overflow.slot];
  const bool is_limited = slot.overflows_left > 0;
  if (is_limited) --slot.overflows_left;
  const bool is_last = is_limited && slot.overflows_left == 0;
  if (is_last) slot.enabled = false;
  if (write(overflow.slot, overflow.thread, sample(overflow))) wake(overflow.slot);
  add_signal(slot, is_last, signals);
}

void ProcessEvents::add_signal(EventSlot& slot, bool is_last, std::vector<EventSignal>& signals) const {
  if (!slot.signals || slot.signal_owner == 0) return;
  EventSignal signal{};
  signal.info.si_signo = slot.signal != 0 ? slot.signal.load() : SIGIO;
  if (slot.signal != 0) {
    signal.info.si_code = is_last ? POLL_HUP : POLL_IN;
    signal.info.si_band = is_last ? POLLHUP | POLLERR : POLLIN | POLLRDNORM;
    signal.info.si_fd = slot.descriptor;
  } else {
    signal.info.si_code = SI_KERNEL;
  }
  signal.to_process = slot.signal_owner < 0;
  signal.thread = slot.signal_owner;
  signals.push_back(signal);
}

/// Lets polls see the event and the one whose ring it writes to.
void ProcessEvents::wake(int slot) {
  for (const int each : {slot, board[slot].output.load()}) {
    EventSlot& event = board[each];
    if (event.ready.exchange(true)) continue;
    const LiftedLimits lifted;
    const std::string path =
        "/proc/" + std::to_string(event.opener) + "/fd/" + std::to_string(event.write_end);
    const int end = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (end < 0) continue;  // the process that opened it has ended
    const char byte = 1;
    (void)!::write(end, &byte, 1);
    close(end);
  }
}

/// The child is in the list of threads by now. So if another process opens an event of the parent and does
/// not find the child in the list, the child inherits the event.
void ProcessEvents::thread_made(KernelThread& parent, KernelThread& child) {
  look();
  const auto found = threads_.find(&parent);
  if (found == threads_.end()) return;
  std::vector<Counter> inherited;
  for (const Counter& counter : found->second.counters)
    if (is_current(counter) && board[counter.slot].attr.inherit)
      inherited.push_back(counter_of(counter.slot));
  note_task(parent, true, process_.ids.pid(), process_.ids.pid(), child.thread.tid, parent.thread.tid);
  if (inherited.empty()) return;
  ThreadEvents& events = threads_[&child];  // it may have events of its own already
  events.settled = process_.services.counts(child.thread);
  events.counters.insert(events.counters.end(), inherited.begin(), inherited.end());
  refresh(child, events);
}

/// Reads of an event whose thread has ended, and polls, must not wait for more.
void ProcessEvents::target_ends(int tid) {
  for (int slot = 0; slot < board.end(); ++slot) {
    EventSlot& event = board[slot];
    if (!board.is_open(slot) || event.process != process_.ids.host_pid() || event.thread != tid) continue;
    event.target_ended = true;
    wake(slot);
  }
}

void ProcessEvents::thread_ends(KernelThread& thread) {
  if (!board.exists()) return;
  look();
  const auto found = threads_.find(&thread);
  if (found == threads_.end()) return;
  settle(thread, found->second);
  const int pid = process_.ids.pid(), parent = process_.ids.parent();
  note_task(thread, false, pid, pid, thread.thread.tid,
            thread.thread.tid == process_.leader_tid ? parent : pid);
  const bool wanted = (found->second.branches | found->second.accesses) != 0;
  threads_.erase(found);
  if (wanted) tell_what_is_wanted();
  target_ends(thread.thread.tid);
}

void ProcessEvents::process_ends() {
  if (!board.exists()) return;
  for (const auto& thread : process_.threads) thread_ends(*thread);
}

void ProcessEvents::restart(KernelThread& thread, ThreadEvents& events) {
  events.settled = process_.services.counts(thread.thread);
  for (Counter& counter : events.counters)
    counter.left = static_cast<std::int64_t>(board[counter.slot].period.load());
  refresh(thread, events);
}

/// The parent has settled all counts before the fork.
void ProcessEvents::forked(KernelThread& self, int parent_process, int parent_thread) {
  auto mine = threads_.extract(&self);
  threads_.clear();
  if (mine.empty()) return tell_what_is_wanted();
  std::erase_if(mine.mapped().counters, [&](const Counter& counter) {
    return !is_current(counter) || !board[counter.slot].attr.inherit ||
           board[counter.slot].attr.inherit_thread;
  });
  if (mine.mapped().counters.empty()) {
    process_.services.set_count_limits(self.thread, {});
    return tell_what_is_wanted();
  }
  mine.mapped().limited = true;
  restart(self, threads_.insert(std::move(mine)).position->second);
  tell_what_is_wanted();
  note_task(self, true, process_.ids.pid(), parent_process, self.thread.tid, parent_thread);
}

void ProcessEvents::vfork_is_over(KernelThread& self) {
  const auto found = threads_.find(&self);
  if (found == threads_.end()) return;
  found->second.settled = process_.services.counts(self.thread);
  found->second.limited = true;
  refresh(self, found->second);
}

std::vector<std::uint64_t> ProcessEvents::over_exec(KernelThread& self) {
  std::vector<std::uint64_t> slots;
  if (!board.exists()) return slots;
  look();
  settle();
  const auto found = threads_.find(&self);
  if (found == threads_.end()) return slots;
  const bool is_child = process_.inside_vfork != nullptr;
  for (const Counter& counter : found->second.counters) {
    const perf_event_attr& attr = board[counter.slot].attr;
    if (!is_current(counter) || attr.remove_on_exec) continue;
    if (is_child && (!attr.inherit || attr.inherit_thread)) continue;
    slots.push_back(static_cast<std::uint64_t>(counter.slot));
  }
  return slots;
}

void ProcessEvents::program_starts(KernelThread& self, const std::vector<std::uint64_t>& slots) {
  if (!board.exists() || slots.empty()) return;
  ThreadEvents events;
  for (const std::uint64_t number : slots) {
    const int slot = static_cast<int>(number);
    if (slot >= board.end() || !board.is_open(slot)) continue;
    if (board[slot].attr.enable_on_exec) board[slot].enabled = true;
    events.counters.push_back(counter_of(slot));
  }
  restart(self, threads_[&self] = std::move(events));
  note_name(self, true);
  note_mapping(self, 0, ~std::uint64_t{0});
}

std::vector<std::uint64_t> ProcessEvents::values(int slot) {
  settle();
  const EventSlot& event = board[slot];
  const std::uint64_t format = event.attr.read_format;
  std::vector<std::uint64_t> values;
  const auto add = [&](int each) {
    values.push_back(board[each].count);
    if ((format & PERF_FORMAT_GROUP) == 0) {
      if ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0) values.push_back(event.time_enabled);
      if ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0) values.push_back(event.time_running);
    }
    if ((format & PERF_FORMAT_ID) != 0) values.push_back(board[each].id);
    if ((format & PERF_FORMAT_LOST) != 0) values.push_back(board[each].lost);
  };
  if ((format & PERF_FORMAT_GROUP) == 0) return add(slot), values;
  std::vector<int> members{slot};
  if (event.leader == slot)
    for (int each = 0; each < board.end(); ++each)
      if (each != slot && board.is_open(each) && board[each].leader_id == event.id) members.push_back(each);
  std::sort(members.begin() + 1, members.end(), [&](int a, int b) { return board[a].id < board[b].id; });
  values.push_back(members.size());
  if ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0) values.push_back(event.time_enabled);
  if ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0) values.push_back(event.time_running);
  for (const int each : members) add(each);
  return values;
}

}  // namespace elision::vm
