// SPDX-License-Identifier: Apache-2.0
// Threads on virtual CPUs: the operating system's scheduler.
//
// A woken thread goes to the CPU it last ran on if that is idle, else to the lowest idle CPU it may
// use, else it queues. A thread that waits in the queue takes over at the end of a time slice.
//
// Invariant: no core is idle while a thread waits in the queue that may run there. What can break it (a core
// that becomes idle, a thread that becomes runnable, a mask that changes) restores it at once.
#include <algorithm>
#include <cstring>

#include "vm/engine/engine.h"

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

Cycles Engine::cycles_of(Nanoseconds time) const {
  return Cycles(
      static_cast<std::uint64_t>(static_cast<unsigned __int128>(time) * machine_.frequency_mhz / 1000));
}
Nanoseconds Engine::nanoseconds_of(Cycles time) const {
  return static_cast<Nanoseconds>(static_cast<unsigned __int128>(time.value) * 1000 / machine_.frequency_mhz);
}

/// The thread's state becomes what the core holds.
void Engine::capture(Core& core) {
  core.state.x87_used = core.x87_used;
  core.state.rflags = flags_from_slot(core.flags_slot, core.direction_flag != 0) | core.system_flags;
  copy_registers(core.thread->state, core.state, core.x87_used != 0);
}

/// The core continues from its thread's state.
void Engine::restore(Core& core) {
  const GuestState& state = core.thread->state;
  copy_registers(core.state, state, state.x87_used != 0);
  core.x87_used = state.x87_used != 0;
  core.flags_slot = slot_from_flags(state.rflags);
  core.direction_flag = (state.rflags & kDirectionFlag) != 0;
  core.system_flags = state.rflags & kSystemFlags;
  continue_at(core, state.rip);
}

void Engine::first_interrupt_after(Core& core) {
  const std::uint64_t period = machine_.frequency_mhz * 1000000ull / std::max(1u, machine_.system.timer_hz);
  const std::uint64_t phase = period * core.id.value / cores_.size();  // CPUs' timers do not tick together
  const std::uint64_t now = core.clock().value;
  const std::uint64_t ticks = now < phase ? 0 : (now - phase) / period + 1;
  core.next_interrupt = Cycles(phase + ticks * period);
  if (core.next_interrupt.value <= now) core.next_interrupt = Cycles(core.next_interrupt.value + period);
}

void Engine::attach(EngineThread& thread, Core& core, Cycles at) {
  core.thread = &thread.thread;
  thread.state = EngineThread::State::kOnCore;
  thread.core = &core;
  thread.last_cpu = core.id.value;
  core.advance_to(at);
  first_interrupt_after(core);
  core.slice_end =
      core.clock() + Cycles(std::uint64_t{machine_.system.time_slice_us} * machine_.frequency_mhz);
  core.forget_misses();
  core.waits_for_line = false;  // as the thread before may have done when it was taken off
  core.asked_ticks = 0;
  thread.on_core_since = core.clock();
  thread.instructions_at_start = core.instructions();
  if (thread.wants_signals) core.next_interrupt = core.clock();
  resume_from_thread(core);
  share_core(core, true);
  ordering_.add(core);
}

/// `core` begins or ceases to run beside its sibling.
void Engine::share_core(Core& core, bool runs) {
  Core* sibling = core.sharing.sibling;
  if (sibling == nullptr || in_vfork()) return;
  if (!runs) {
    core.account_for_sibling();
    sibling->account_for_sibling();
  }
  core.sharing.active = sibling->sharing.active = runs && sibling->thread != nullptr;
  core.restart_account();
  sibling->restart_account();
  if (sibling->in_heap) ordering_.moved(*sibling);
}

/// Takes the thread off its core; what it did there is counted.
void Engine::detach(Core& core) {
  share_core(core, false);
  EngineThread& thread = of(*core.thread);
  thread.busy_cycles += core.clock().value - thread.on_core_since.value;
  thread.instructions += core.instructions() - thread.instructions_at_start;
  thread.core = nullptr;
  ordering_.remove(core);
  core.thread = nullptr;
  engine_time_ = std::max(engine_time_, core.clock());
}

/// A vfork child has one core, that on which its parent waits; its mask counts from execve on.
bool Engine::may_use(const EngineThread& thread, const Core& core) const {
  if (in_vfork()) return &core == vforks_.back().core;
  const unsigned cpu = core.id.value;
  return thread.thread.affinity[cpu / 64] >> (cpu % 64) & 1;
}

Core* Engine::idle_core_for(const EngineThread& thread) {
  const auto usable = [&](unsigned cpu) {
    return cpu < cores_.size() && cores_[cpu]->thread == nullptr && may_use(thread, *cores_[cpu]);
  };
  if (usable(thread.last_cpu)) return cores_[thread.last_cpu];
  for (unsigned cpu = 0; cpu < cores_.size(); ++cpu)
    if (usable(cpu)) return cores_[cpu];
  return nullptr;
}

void Engine::make_runnable(EngineThread& thread, Cycles at) {
  if (thread.hold) {
    thread.state = EngineThread::State::kHeld;
    thread.available = at;
    return kernel_->held(thread.thread);
  }
  if (Core* core = idle_core_for(thread)) return attach(thread, *core, at);
  thread.state = EngineThread::State::kQueued;
  thread.available = at;
  queue_.push_back(&thread);
}

/// An idle core takes the first waiting thread that may run there.
void Engine::fill(Core& core, Cycles at) {
  const auto next = std::find_if(queue_.begin(), queue_.end(),
                                 [&](const EngineThread* waiting) { return may_use(*waiting, core); });
  if (next == queue_.end()) return;
  EngineThread& thread = **next;
  queue_.erase(next);
  attach(thread, core, std::max(at, thread.available) + Cycles(machine_.system.context_switch_cycles));
}

/// True if a thread waits in the queue that may run there.
bool Engine::is_wanted(const Core& core) const {
  return std::any_of(queue_.begin(), queue_.end(),
                     [&](const EngineThread* waiting) { return may_use(*waiting, core); });
}

/// Between two instructions: the thread leaves a core that it may no longer use, or as somebody holds it, or,
/// when its slice is over, leaves it to the longest waiting one that may run here.
void Engine::preempt(Core& core) {
  EngineThread& thread = of(*core.thread);
  const bool allowed = may_use(thread, core);
  const bool may_stay = allowed && !thread.hold;
  if (may_stay && core.clock() < core.slice_end) return;
  if (may_stay && !is_wanted(core)) {
    core.slice_end =
        core.clock() + Cycles(std::uint64_t{machine_.system.time_slice_us} * machine_.frequency_mhz);
    return;
  }
  capture(core);
  give_up(core, Cycles(allowed ? 0 : machine_.system.context_switch_cycles));
}

/// The core goes to the longest waiting thread that may run there; its own, whose state is captured, looks
/// for another after `delay`.
void Engine::give_up(Core& core, Cycles delay) {
  EngineThread& thread = of(*core.thread);
  const Cycles now = core.clock();
  detach(core);
  fill(core, now);
  make_runnable(thread, now + delay);
}

/// The core leaves translated code for interrupt() before its next block.
void Engine::interrupt_soon(Core& core) {
  core.next_interrupt = core.clock();
  if (!core.in_heap) core.set_deadline(core.clock_ticks());
}

void Engine::deliver_signals(Core& core) {
  Thread& thread = *core.thread;
  if (!of(thread).wants_signals) return;
  of(thread).wants_signals = false;
  capture(core);
  kernel_->deliver_signals(thread);
  if (core.thread == &thread) restore(core);
}

Nanoseconds Engine::now(const Thread& thread) const {
  const Core* core = of(thread).core;
  return nanoseconds_of(core != nullptr ? core->clock() : engine_time_);
}

unsigned Engine::cpu_of(const Thread& thread) const { return of(thread).last_cpu; }

Thread& Engine::create_thread(const GuestState& state, Thread& creator) {
  threads_.push_back(std::make_unique<EngineThread>());
  EngineThread& thread = *threads_.back();
  thread.thread.engine = &thread;
  thread.thread.state = state;
  std::memcpy(thread.thread.affinity, creator.affinity, sizeof creator.affinity);
  const Core* core = of(creator).core;
  const Cycles at =
      (core != nullptr ? core->clock() : engine_time_) + Cycles(machine_.system.futex_wake_cycles);
  thread.started = at;
  make_runnable(thread, at);
  return thread.thread;
}

void Engine::end_thread(Thread& thread) {
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

void Engine::park(Thread& thread, Nanoseconds deadline, std::function<void()> on_timeout) {
  EngineThread& parked = of(thread);
  Core* core = parked.core;
  if (core != nullptr) detach(*core);
  parked.state = EngineThread::State::kParked;
  parked.on_timeout = std::move(on_timeout);
  if (core != nullptr) fill(*core, core->clock());
  if (parked.hold) kernel_->held(thread);
  if (deadline == kNoDeadline) return;
  EngineThread* waiting = &parked;
  const TimerKey timer = add_timer(deadline, [this, waiting] {
    waiting->deadline_number = 0;
    const auto on_timeout = std::move(waiting->on_timeout);
    if (on_timeout) on_timeout();
    unpark(waiting->thread, nullptr);  // if the call above did not
  });
  parked.deadline_cycle = timer.cycle;
  parked.deadline_number = timer.number;
}

void Engine::unpark(Thread& thread, const Thread* waker) {
  EngineThread& woken = of(thread);
  if (woken.state != EngineThread::State::kParked) return;
  const Core* core = waker != nullptr ? of(*waker).core : ordering_.running();
  const Cycles now =
      core != nullptr ? std::max(core->clock(), waker != nullptr ? Cycles(0) : engine_time_) : engine_time_;
  cancel_deadline(woken);
  make_runnable(woken, now + Cycles(machine_.system.futex_wake_cycles));
}

/// One that runs is asked to leave its core, as a signal would.
void Engine::hold(Thread& thread) {
  EngineThread& held = of(thread);
  held.hold = true;
  if (held.core != nullptr) return interrupt_soon(*held.core);
  if (held.state != EngineThread::State::kQueued) return;
  std::erase(queue_, &held);
  held.state = EngineThread::State::kHeld;
}

bool Engine::is_held(const Thread& thread) const {
  const EngineThread& held = of(thread);
  return held.state == EngineThread::State::kHeld ||
         (held.hold && held.state == EngineThread::State::kParked);
}

void Engine::release(Thread& thread) {
  EngineThread& held = of(thread);
  held.hold = false;
  if (held.state != EngineThread::State::kHeld) return;
  make_runnable(held, std::max(held.available, kernel_time()));
}

bool Engine::is_parked(const Thread& thread) const {
  return of(thread).state == EngineThread::State::kParked;
}

void Engine::yield(Thread& thread) {
  Core* core = of(thread).core;
  if (core != nullptr && is_wanted(*core)) give_up(*core, Cycles(0));
}

/// A thread that is parked, and one that may stay where it is, notice nothing. One that runs on another core
/// stands anywhere in its code: it leaves when that core is next between two instructions, before anything
/// that its own core does at a later time than this call.
void Engine::affinity_changed(Thread& thread) {
  EngineThread& moved = of(thread);
  if (moved.state == EngineThread::State::kQueued && idle_core_for(moved) != nullptr) {
    std::erase(queue_, &moved);
    make_runnable(moved, std::max(moved.available, kernel_time()));
  }
  Core* const core = moved.core;
  if (core == nullptr || may_use(moved, *core)) return;
  if (core == ordering_.running()) return give_up(*core, Cycles(machine_.system.context_switch_cycles));
  interrupt_soon(*core);
}

std::vector<Thread*> Engine::threads() {
  std::vector<Thread*> all;
  for (const auto& thread : threads_) all.push_back(&thread->thread);
  return all;
}

void Engine::request_signal_delivery(Thread& thread) {
  EngineThread& wanted = of(thread);
  wanted.wants_signals = true;
  if (wanted.core != nullptr) interrupt_soon(*wanted.core);
}

/// The time at which the kernel acts.
Cycles Engine::kernel_time() const {
  const Core* core = ordering_.running();
  return core != nullptr ? core->clock() : engine_time_;
}

void Engine::end_conflicting(std::uint64_t address, std::uint64_t size, bool write) {
  if (size == 0) return;
  const std::uint64_t last = address + size - 1;
  if (write) code_changes(address, last + 1);
  model_->end_conflicting(LineAddr(address >> kLineShift), LineAddr(last >> kLineShift), write,
                          kernel_time());
}

void Engine::prepare_filling(std::uint64_t address, std::uint64_t size) {
  if (size == 0) return;
  code_changes(address, address + size);
  end_conflicting(address, size, false);
}

void Engine::host_access(Thread* thread, std::uint64_t address, std::uint64_t size, bool write) {
  end_conflicting(address, size, write);
  Core* core = thread != nullptr ? of(*thread).core : nullptr;
  if (size == 0 || core == nullptr || threads_.size() < 2) return;
  constexpr std::uint64_t kMostTimed = 1u << 20;
  const auto kind = write ? machine::AccessKind::kStore : machine::AccessKind::kLoad;
  const std::uint64_t last = (address + std::min(size, kMostTimed) - 1) >> kLineShift;
  for (std::uint64_t line = address >> kLineShift; line <= last; ++line) {
    for (;;) {
      const machine::Reply reply =
          model_->access({core->id, LineAddr(line), kind, core->clock(), Cycles(0), options_.fast_path});
      core->advance_to(reply.clock);
      if (reply.verdict != machine::Reply::Verdict::kWait) break;
    }
  }
}

}  // namespace elision::vm
