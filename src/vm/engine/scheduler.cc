// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/scheduler.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace elision::vm {
namespace {

constexpr std::uint64_t kFixedFlags = 0x202;  // IF and the bit that is always 1
constexpr std::uint64_t kDirectionFlag = 0x400;
constexpr std::uint64_t kOverflowFlag = 0x800;

std::uint64_t flags_from_slot(std::uint64_t slot, bool direction) {
  return kFixedFlags | ((slot >> 8) & 0xd5) | ((slot & 1) != 0 ? kOverflowFlag : 0) |
         (direction ? kDirectionFlag : 0);
}
std::uint64_t slot_from_flags(std::uint64_t flags) {
  return ((flags & 0xd7) << 8) | ((flags & kOverflowFlag) != 0 ? 1 : 0);
}

void copy_registers(GuestState& to, const GuestState& from, bool x87) {
  std::memcpy(static_cast<void*>(&to), &from, offsetof(GuestState, fx));
  if (x87) std::memcpy(to.fx, from.fx, sizeof to.fx);
}

}  // namespace

void Scheduler::capture(Core& core) {
  core.state.x87_used = core.x87_used;
  core.state.rflags = flags_from_slot(core.flags_slot, core.direction_flag != 0) | core.system_flags;
  copy_registers(core.thread->state, core.state, core.x87_used != 0);
}

void Scheduler::restore(Core& core) {
  const GuestState& state = core.thread->state;
  copy_registers(core.state, state, state.x87_used != 0);
  core.x87_used = state.x87_used != 0;
  core.flags_slot = slot_from_flags(state.rflags);
  core.direction_flag = (state.rflags & kDirectionFlag) != 0;
  core.system_flags = state.rflags & kSystemFlags;
  code_.continue_at(core, state.rip);
}

void Scheduler::first_interrupt_after(Core& core) const {
  const std::uint64_t period =
      context_.machine.frequency_mhz * 1000000ull / std::max(1u, context_.machine.system.timer_hz);
  const std::uint64_t phase =
      period * core.id.value / context_.cores.size();  // CPUs' timers do not tick together
  const std::uint64_t now = core.clock().value;
  const std::uint64_t ticks = now < phase ? 0 : (now - phase) / period + 1;
  core.next_interrupt = Cycles(phase + ticks * period);
  if (core.next_interrupt.value <= now) core.next_interrupt = Cycles(core.next_interrupt.value + period);
}

Cycles Scheduler::time_slice() const {
  return Cycles(std::uint64_t{context_.machine.system.time_slice_us} * context_.machine.frequency_mhz);
}

/// Of the thread's own wait, if it has one.
void Scheduler::cancel_deadline(EngineThread& thread) { timers_.cancel(std::exchange(thread.deadline, {})); }

void Scheduler::attach(EngineThread& thread, Core& core, Cycles at) {
  core.thread = &thread.thread;
  thread.state = EngineThread::State::kOnCore;
  thread.core = &core;
  thread.last_cpu = core.id.value;
  core.advance_to(at);
  first_interrupt_after(core);
  core.slice_end = core.clock() + time_slice();
  core.forget_misses();
  core.waits_for_line = false;  // as the thread before may have done when it was taken off
  core.asked_ticks = 0;
  thread.on_core_since = core.clock();
  thread.instructions_at_start = core.instructions();
  if (thread.wants_signals) core.next_interrupt = core.clock();
  code_.resume_from_thread(core);
  share_core(core, true);
  context_.ordering.add(core);
}

/// `core` begins or ceases to run beside its sibling.
void Scheduler::share_core(Core& core, bool runs) {
  Core* sibling = core.sharing.sibling;
  if (sibling == nullptr || in_vfork()) return;
  if (!runs) {
    core.account_for_sibling();
    sibling->account_for_sibling();
  }
  core.sharing.active = sibling->sharing.active = runs && sibling->thread != nullptr;
  core.restart_account();
  sibling->restart_account();
  if (sibling->in_heap) context_.ordering.moved(*sibling);
}

/// Takes the thread off its core; what it did there is counted.
void Scheduler::detach(Core& core) {
  share_core(core, false);
  EngineThread& thread = of(*core.thread);
  thread.busy_cycles += core.clock().value - thread.on_core_since.value;
  thread.instructions += core.instructions() - thread.instructions_at_start;
  thread.core = nullptr;
  context_.ordering.remove(core);
  core.thread = nullptr;
  context_.idle_time = std::max(context_.idle_time, core.clock());
}

/// A vfork child has one core, that on which its parent waits; its mask counts from execve on.
bool Scheduler::may_use(const EngineThread& thread, const Core& core) const {
  if (in_vfork()) return &core == vforks_.back().core;
  const unsigned cpu = core.id.value;
  return thread.thread.affinity[cpu / 64] >> (cpu % 64) & 1;
}

Core* Scheduler::idle_core_for(const EngineThread& thread) {
  const auto usable = [&](unsigned cpu) {
    return cpu < context_.cores.size() && context_.cores[cpu]->thread == nullptr &&
           may_use(thread, *context_.cores[cpu]);
  };
  if (usable(thread.last_cpu)) return context_.cores[thread.last_cpu];
  for (unsigned cpu = 0; cpu < context_.cores.size(); ++cpu)
    if (usable(cpu)) return context_.cores[cpu];
  return nullptr;
}

void Scheduler::make_runnable(EngineThread& thread, Cycles at) {
  if (thread.hold) {
    thread.state = EngineThread::State::kHeld;
    thread.available = at;
    return context_.kernel->held(thread.thread);
  }
  if (Core* core = idle_core_for(thread)) return attach(thread, *core, at);
  thread.state = EngineThread::State::kQueued;
  thread.available = at;
  queue_.push_back(&thread);
}

/// An idle core takes the first waiting thread that may run there.
void Scheduler::fill(Core& core, Cycles at) {
  const auto next = std::find_if(queue_.begin(), queue_.end(),
                                 [&](const EngineThread* waiting) { return may_use(*waiting, core); });
  if (next == queue_.end()) return;
  EngineThread& thread = **next;
  queue_.erase(next);
  attach(thread, core,
         std::max(at, thread.available) + Cycles(context_.machine.system.context_switch_cycles));
}

/// True if a thread waits in the queue that may run there.
bool Scheduler::is_wanted(const Core& core) const {
  return std::any_of(queue_.begin(), queue_.end(),
                     [&](const EngineThread* waiting) { return may_use(*waiting, core); });
}

void Scheduler::preempt(Core& core) {
  EngineThread& thread = of(*core.thread);
  const bool allowed = may_use(thread, core);
  const bool may_stay = allowed && !thread.hold;
  if (may_stay && core.clock() < core.slice_end) return;
  if (may_stay && !is_wanted(core)) {
    core.slice_end = core.clock() + time_slice();
    return;
  }
  capture(core);
  give_up(core, Cycles(allowed ? 0 : context_.machine.system.context_switch_cycles));
}

/// The core goes to the longest waiting thread that may run there; its own, whose state is captured, looks
/// for another after `delay`.
void Scheduler::give_up(Core& core, Cycles delay) {
  EngineThread& thread = of(*core.thread);
  const Cycles now = core.clock();
  detach(core);
  fill(core, now);
  make_runnable(thread, now + delay);
}

/// The core leaves translated code for interrupt() before its next block.
void Scheduler::interrupt_soon(Core& core) {
  core.next_interrupt = core.clock();
  if (!core.in_heap) core.set_deadline(core.clock_ticks());
}

Nanoseconds Scheduler::now(const Thread& thread) const {
  const Core* core = of(thread).core;
  return context_.nanoseconds_of(core != nullptr ? core->clock() : context_.idle_time);
}

EngineThread& Scheduler::add(const GuestState& state) {
  threads_.push_back(std::make_unique<EngineThread>());
  EngineThread& thread = *threads_.back();
  thread.thread.engine = &thread;
  thread.thread.state = state;
  return thread;
}

Thread& Scheduler::create(const GuestState& state, Thread& creator) {
  EngineThread& thread = add(state);
  std::memcpy(thread.thread.affinity, creator.affinity, sizeof creator.affinity);
  const Core* core = of(creator).core;
  const Cycles at = (core != nullptr ? core->clock() : context_.idle_time) +
                    Cycles(context_.machine.system.futex_wake_cycles);
  thread.started = at;
  make_runnable(thread, at);
  return thread.thread;
}

void Scheduler::end(Thread& thread) {
  EngineThread& ended = of(thread);
  if (ended.core != nullptr) {
    Core& core = *ended.core;
    detach(core);
    fill(core, core.clock());
  }
  std::erase(queue_, &ended);
  cancel_deadline(ended);
  ended.state = EngineThread::State::kEnded;
  const auto found =
      std::find_if(threads_.begin(), threads_.end(), [&](const auto& t) { return t.get() == &ended; });
  ended_threads_.push_back(std::move(*found));
  threads_.erase(found);
}

void Scheduler::park(Thread& thread, Nanoseconds deadline, std::function<void()> on_timeout) {
  EngineThread& parked = of(thread);
  Core* core = parked.core;
  if (core != nullptr) detach(*core);
  parked.state = EngineThread::State::kParked;
  parked.on_timeout = std::move(on_timeout);
  if (core != nullptr) fill(*core, core->clock());
  if (parked.hold) context_.kernel->held(thread);
  if (deadline == kNoDeadline) return;
  EngineThread* waiting = &parked;
  parked.deadline = timers_.add(deadline, [this, waiting] {
    waiting->deadline = {};
    const auto on_timeout = std::move(waiting->on_timeout);
    if (on_timeout) on_timeout();
    unpark(waiting->thread, nullptr);  // if the call above did not
  });
}

void Scheduler::unpark(Thread& thread, const Thread* waker) {
  EngineThread& woken = of(thread);
  if (woken.state != EngineThread::State::kParked) return;
  const Core* core = waker != nullptr ? of(*waker).core : context_.ordering.running();
  const Cycles now = core != nullptr
                         ? std::max(core->clock(), waker != nullptr ? Cycles(0) : context_.idle_time)
                         : context_.idle_time;
  cancel_deadline(woken);
  make_runnable(woken, now + Cycles(context_.machine.system.futex_wake_cycles));
}

/// One that runs is asked to leave its core, as a signal would.
void Scheduler::hold(Thread& thread) {
  EngineThread& held = of(thread);
  held.hold = true;
  if (held.core != nullptr) return interrupt_soon(*held.core);
  if (held.state != EngineThread::State::kQueued) return;
  std::erase(queue_, &held);
  held.state = EngineThread::State::kHeld;
}

bool Scheduler::is_held(const Thread& thread) const {
  const EngineThread& held = of(thread);
  return held.state == EngineThread::State::kHeld ||
         (held.hold && held.state == EngineThread::State::kParked);
}

void Scheduler::release(Thread& thread) {
  EngineThread& held = of(thread);
  held.hold = false;
  if (held.state != EngineThread::State::kHeld) return;
  make_runnable(held, std::max(held.available, context_.kernel_time()));
}

void Scheduler::yield(Thread& thread) {
  Core* core = of(thread).core;
  if (core != nullptr && is_wanted(*core)) give_up(*core, Cycles(0));
}

/// A thread that is parked, and one that may stay where it is, notice nothing. One that runs on another core
/// stands anywhere in its code: it leaves when that core is next between two instructions, before anything
/// that its own core does at a later time than this call.
void Scheduler::affinity_changed(Thread& thread) {
  EngineThread& moved = of(thread);
  if (moved.state == EngineThread::State::kQueued && idle_core_for(moved) != nullptr) {
    std::erase(queue_, &moved);
    make_runnable(moved, std::max(moved.available, context_.kernel_time()));
  }
  Core* const core = moved.core;
  if (core == nullptr || may_use(moved, *core)) return;
  if (core == context_.ordering.running())
    return give_up(*core, Cycles(context_.machine.system.context_switch_cycles));
  interrupt_soon(*core);
}

void Scheduler::request_signal_delivery(Thread& thread) {
  EngineThread& wanted = of(thread);
  wanted.wants_signals = true;
  if (wanted.core != nullptr) interrupt_soon(*wanted.core);
}

void Scheduler::begin_vfork(Thread& thread) {
  EngineThread& parent = of(thread);
  Core& core = *parent.core;
  if (core.sharing.active) share_core(core, false);  // the parent's cores stand still
  vforks_.push_back({&parent,
                     &core,
                     context_.ordering,
                     {},
                     {},
                     parent.wants_signals,
                     parent.on_core_since,
                     parent.instructions_at_start,
                     parent.busy_cycles,
                     parent.instructions});
  vforks_.back().queue.swap(queue_);
  timers_.exchange(vforks_.back().timers);
  context_.ordering.clear();
}

void Scheduler::end_vfork() {
  VforkParent saved = std::move(vforks_.back());
  vforks_.pop_back();
  context_.ordering = saved.ordering;
  queue_.swap(saved.queue);
  timers_.exchange(saved.timers);
  EngineThread& parent = *saved.thread;
  parent.state = EngineThread::State::kOnCore;
  parent.core = saved.core;
  parent.wants_signals = saved.wants_signals;
  parent.on_timeout = nullptr;
  parent.deadline = {};
  parent.on_core_since = saved.on_core_since;
  parent.instructions_at_start = saved.instructions_at_start;
  parent.busy_cycles = saved.busy_cycles;
  parent.instructions = saved.instructions;
  saved.core->thread = &parent.thread;
  saved.core->in_heap = false;
  share_core(*saved.core, true);
}

Core& Scheduler::start_vfork_child() {
  Core& core = *vforks_.back().core;
  restore(core);
  context_.ordering.add(core);
  return core;
}

void Scheduler::keep_only(EngineThread& thread) {
  for (Core* core : context_.cores) {
    core->sharing.active = false;
    if (core->thread == &thread.thread) continue;
    core->thread = nullptr;
    core->in_heap = false;
  }
  vforks_.clear();
  context_.ordering.clear();
  queue_.clear();
  Timers::Set none;
  timers_.exchange(none);
  Threads kept;
  for (auto& each : threads_) {
    if (each.get() == &thread) kept.push_back(std::move(each));
  }
  thread.hold = false;
  threads_ = std::move(kept);
  ended_threads_.clear();
}

}  // namespace elision::vm
