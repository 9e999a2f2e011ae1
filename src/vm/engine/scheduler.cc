// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/scheduler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "vm/linux/kernel.h"

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

/// Adds to each count of `sum` what it has grown from `before` to `now`.
template <class Counts>
void add_growth(Counts& sum, const Counts& now, const Counts& before) {
  static_assert(sizeof(Counts) % sizeof(std::uint64_t) == 0);
  auto* const to = reinterpret_cast<std::uint64_t*>(&sum);
  const auto* const grown = reinterpret_cast<const std::uint64_t*>(&now);
  const auto* const from = reinterpret_cast<const std::uint64_t*>(&before);
  for (std::size_t i = 0; i < sizeof sum / sizeof *to; ++i) to[i] += grown[i] - from[i];
}

void copy_registers(GuestState& to, const GuestState& from, bool x87) {
  std::memcpy(static_cast<void*>(&to), &from, offsetof(GuestState, fx));
  if (x87) std::memcpy(to.fx, from.fx, sizeof to.fx);
}

}  // namespace

void Scheduler::capture(Cpu& cpu) {
  cpu.state.x87_used = cpu.x87_used;
  cpu.state.rflags = flags_from_slot(cpu.flags_slot, cpu.direction_flag != 0) | cpu.system_flags;
  copy_registers(cpu.thread->state, cpu.state, cpu.x87_used != 0);
}

void Scheduler::restore(Cpu& cpu) {
  const GuestState& state = cpu.thread->state;
  copy_registers(cpu.state, state, state.x87_used != 0);
  cpu.x87_used = state.x87_used != 0;
  cpu.flags_slot = slot_from_flags(state.rflags);
  cpu.direction_flag = (state.rflags & kDirectionFlag) != 0;
  cpu.system_flags = state.rflags & kSystemFlags;
  code_.continue_at(cpu, state.rip);
}

void Scheduler::first_interrupt_after(Cpu& cpu) const {
  const std::uint64_t period =
      context_.machine.core_mhz * 1000000ull / std::max(1u, context_.machine.system.timer_hz);
  const std::uint64_t phase =
      period * cpu.id.value / context_.cpus.size();  // the timers of CPUs are out of phase
  const std::uint64_t now = cpu.clock().value;
  const std::uint64_t ticks = now < phase ? 0 : (now - phase) / period + 1;
  cpu.next_tick = Cycles(phase + ticks * period);
  if (cpu.next_tick.value <= now) cpu.next_tick = Cycles(cpu.next_tick.value + period);
  cpu.set_interrupt();
}

ThreadCounts Scheduler::counts_of_cpu(const Cpu& cpu) const {
  ThreadCounts counts{.cycles = cpu.clock().value,
                      .instructions = cpu.instructions(),
                      .mispredictions = cpu.branches.mispredictions,
                      .accesses = {cpu.accesses[0].count(), cpu.accesses[1].count()},
                      .transaction_cycles = cpu.transaction_cycles,
                      .committed_cycles = cpu.committed_cycles,
                      .machine = context_.model->counts(cpu.id)};
  add_growth(counts.machine, cpu.logged, machine::CpuCounts{});
  return counts;
}

ThreadCounts Scheduler::counts(const Thread& thread) const {
  const EngineThread& counted = of(thread);
  ThreadCounts counts = counted.counts;
  if (counted.cpu != nullptr) add_growth(counts, counts_of_cpu(*counted.cpu), counted.counts_of_cpu);
  counts.nanoseconds = context_.nanoseconds_of(Cycles(counts.cycles));
  counts.reference_cycles = context_.ticks_of(Cycles(counts.cycles));
  return counts;
}

void Scheduler::set_count_limits(Thread& thread, const CountLimits& limits) {
  EngineThread& limited = of(thread);
  limited.limits = limits;
  if (limited.cpu != nullptr) set_next_look(*limited.cpu, counts(thread));
}

bool Scheduler::limit_reached(Cpu& cpu) {
  const EngineThread& thread = of(*cpu.thread);
  const ThreadCounts now = counts(thread.thread);
  if (thread.limits.any() && thread.limits.reached_by(now)) return true;
  set_next_look(cpu, now);
  return false;
}

/// No look is later than the limit of cycles, nor than the earliest time at which a limit of instructions can
/// be reached: so often as needed, each look brings the next one closer to it.
void Scheduler::set_next_look(Cpu& cpu, const ThreadCounts& counts) {
  const CountLimits& limits = of(*cpu.thread).limits;
  const std::uint64_t most_a_cycle = 2 * context_.machine.core.issue_width;  // compare and branch are one
  Cycles look = kNever;
  const auto look_in = [&](std::uint64_t cycles) { look = std::min(look, cpu.clock() + Cycles(cycles)); };
  if (limits.cycles != CountLimits::kNone) look_in(limits.cycles - std::min(limits.cycles, counts.cycles));
  if (limits.nanoseconds != CountLimits::kNone)
    look_in(limits.nanoseconds <= counts.nanoseconds
                ? 0
                : context_.cycles_of(limits.nanoseconds - counts.nanoseconds).value + 1);
  if (limits.instructions != CountLimits::kNone)
    look_in(limits.instructions <= counts.instructions
                ? 0
                : std::max<std::uint64_t>((limits.instructions - counts.instructions) / most_a_cycle, 1));
  if (limits.begins <= counts.machine.begins || limits.commits <= counts.machine.commits) look_in(0);
  for (unsigned kind = 0; kind < kCountedAccesses; ++kind) {
    AccessCounter& counter = cpu.accesses[kind];
    if (limits.accesses[kind] <= counts.accesses[kind])
      look_in(0);
    else if (limits.accesses[kind] != CountLimits::kNone)
      counter.record_at(counter.count() + limits.accesses[kind] - counts.accesses[kind]);
    else
      counter.record_at(CountLimits::kNone);
  }
  const std::uint64_t aborts = counts.aborts();
  cpu.aborts_to_look = 0;
  if (limits.aborts != CountLimits::kNone) {
    cpu.aborts_to_look = limits.aborts - std::min(limits.aborts, aborts);
    if (cpu.aborts_to_look == 0) look_in(0);
  }
  cpu.look_at_counts(look);
}

Cycles Scheduler::time_slice() const {
  return Cycles(std::uint64_t{context_.machine.system.time_slice_us} * context_.machine.core_mhz);
}

/// Cancels the deadline of the thread's wait, if it has one.
void Scheduler::cancel_deadline(EngineThread& thread) { timers_.cancel(std::exchange(thread.deadline, {})); }

void Scheduler::attach(EngineThread& thread, Cpu& cpu, Cycles at) {
  cpu.thread = &thread.thread;
  if (cpu.evidence != nullptr) {
    cpu.evidence->held = &thread.account.held;
    cpu.evidence->accesses.end_tries();
  }
  thread.state = EngineThread::State::kOnCpu;
  thread.cpu = &cpu;
  const bool migrates = thread.counts.switches != 0 && thread.last_cpu != cpu.id.value;
  thread.last_cpu = cpu.id.value;
  cpu.advance_to(at);
  first_interrupt_after(cpu);
  cpu.slice_end = cpu.clock() + time_slice();
  cpu.forget_misses();
  context_.model->forget_tries(cpu.id);
  cpu.branch_ring.clear();
  for (AccessCounter& counter : cpu.accesses) counter.is_new = false;
  cpu.waits_for_line = false;  // the previous thread may have waited when it was detached
  cpu.asked_ticks = 0;
  thread.on_cpu_since = cpu.clock();
  thread.instructions_at_start = cpu.instructions();
  if (thread.wants_signals) cpu.next_tick = cpu.clock();
  if (migrates) ++thread.counts.migrations;
  thread.counts_of_cpu = counts_of_cpu(cpu);
  set_next_look(cpu, thread.counts);
  code_.resume_from_thread(cpu);
  share_cpu(cpu, true);
  context_.ordering.add(cpu);
}

/// `cpu` starts or stops running: updates the sharing of its core with its sibling.
void Scheduler::share_cpu(Cpu& cpu, bool runs) {
  Cpu* sibling = cpu.sharing.sibling;
  if (sibling == nullptr || in_vfork()) return;
  if (!runs) {
    cpu.account_for_sibling();
    sibling->account_for_sibling();
  }
  cpu.sharing.active = sibling->sharing.active = runs && sibling->thread != nullptr && !context_.fast;
  cpu.restart_account();
  sibling->restart_account();
  if (sibling->in_heap) context_.ordering.moved(*sibling);
}

void Scheduler::share_cores() {
  for (Cpu* cpu : context_.cpus) cpu->account_for_sibling();
  for (Cpu* cpu : context_.cpus) share_cpu(*cpu, cpu->thread != nullptr);
}

void Scheduler::restart_counts() {
  ended_threads_.clear();
  for (const auto& thread : threads_) {
    thread->busy_cycles = thread->instructions = 0;
    if (thread->state == EngineThread::State::kParked)
      thread->parked_since = std::max(thread->parked_since, context_.kernel_time());
    if (thread->cpu == nullptr) continue;
    thread->on_cpu_since = thread->cpu->clock();
    thread->instructions_at_start = thread->cpu->instructions();
  }
}

/// Takes the thread off its CPU and adds up its time and instructions there.
void Scheduler::detach(Cpu& cpu) {
  share_cpu(cpu, false);
  EngineThread& thread = of(*cpu.thread);
  thread.busy_cycles += cpu.clock().value - thread.on_cpu_since.value;
  thread.instructions += cpu.instructions() - thread.instructions_at_start;
  thread.counts = counts(thread.thread);
  ++thread.counts.switches;
  cpu.aborts_to_look = 0;
  cpu.aborted.is_new = false;
  cpu.look_at_counts(kNever);
  thread.cpu = nullptr;
  context_.ordering.remove(cpu);
  cpu.thread = nullptr;
  context_.idle_time = std::max(context_.idle_time, cpu.clock());
}

/// A vfork child uses only the CPU on which its parent waits. Its affinity applies after execve.
bool Scheduler::may_use(const EngineThread& thread, const Cpu& cpu) const {
  if (in_vfork()) return &cpu == vforks_.back().cpu;
  const unsigned id = cpu.id.value;
  return thread.thread.affinity[id / 64] >> (id % 64) & 1;
}

Cpu* Scheduler::idle_cpu_for(const EngineThread& thread) {
  const auto usable = [&](unsigned id) {
    return id < context_.cpus.size() && context_.cpus[id]->thread == nullptr &&
           may_use(thread, *context_.cpus[id]);
  };
  if (usable(thread.last_cpu)) return context_.cpus[thread.last_cpu];
  for (Cpu* cpu : context_.cpus)
    if (usable(cpu->id.value)) return cpu;
  return nullptr;
}

void Scheduler::make_runnable(EngineThread& thread, Cycles at) {
  if (thread.hold) {
    thread.state = EngineThread::State::kHeld;
    thread.available = at;
    return context_.kernel->held(thread.thread);
  }
  if (Cpu* cpu = idle_cpu_for(thread)) return attach(thread, *cpu, at);
  thread.state = EngineThread::State::kQueued;
  thread.available = at;
  queue_.push_back(&thread);
}

/// An idle CPU takes the first queued thread that may run there.
void Scheduler::fill(Cpu& cpu, Cycles at) {
  const auto next = std::find_if(queue_.begin(), queue_.end(),
                                 [&](const EngineThread* waiting) { return may_use(*waiting, cpu); });
  if (next == queue_.end()) return;
  EngineThread& thread = **next;
  queue_.erase(next);
  attach(thread, cpu, std::max(at, thread.available) + Cycles(context_.machine.system.context_switch_cycles));
}

/// True if a queued thread may run there.
bool Scheduler::is_wanted(const Cpu& cpu) const {
  return std::any_of(queue_.begin(), queue_.end(),
                     [&](const EngineThread* waiting) { return may_use(*waiting, cpu); });
}

void Scheduler::preempt(Cpu& cpu) {
  EngineThread& thread = of(*cpu.thread);
  const bool allowed = may_use(thread, cpu);
  const bool may_stay = allowed && !thread.hold;
  if (may_stay && cpu.clock() < cpu.slice_end) return;
  if (may_stay && !is_wanted(cpu)) {
    cpu.slice_end = cpu.clock() + time_slice();
    return;
  }
  capture(cpu);
  give_up(cpu, Cycles(allowed ? 0 : context_.machine.system.context_switch_cycles));
}

/// Gives the CPU to the first queued thread that may run there. Its previous thread, whose state is captured,
/// is runnable elsewhere after `delay`.
void Scheduler::give_up(Cpu& cpu, Cycles delay) {
  EngineThread& thread = of(*cpu.thread);
  const Cycles now = cpu.clock();
  detach(cpu);
  fill(cpu, now);
  make_runnable(thread, now + delay);
}

/// Makes the CPU leave translated code to interrupt() before its next block.
void Scheduler::interrupt_soon(Cpu& cpu) {
  cpu.next_tick = cpu.clock();
  cpu.set_interrupt();
  if (!cpu.in_heap) cpu.set_deadline(cpu.clock_ticks());
}

/// The same to look_at_counts().
void Scheduler::look_soon(Cpu& cpu) {
  cpu.look_at_counts(cpu.clock());
  if (!cpu.in_heap) cpu.set_deadline(cpu.clock_ticks());
}

Nanoseconds Scheduler::now(const Thread& thread) const {
  const Cpu* cpu = of(thread).cpu;
  return context_.nanoseconds_of(cpu != nullptr ? cpu->clock() : context_.idle_time);
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
  const Cpu* cpu = of(creator).cpu;
  const Cycles at = (cpu != nullptr ? cpu->clock() : context_.idle_time) +
                    Cycles(context_.machine.system.futex_wake_cycles);
  thread.started = at;
  thread.started_instructions = context_.instructions();
  make_runnable(thread, at);
  return thread.thread;
}

void Scheduler::end(Thread& thread) {
  EngineThread& ended = of(thread);
  if (ended.cpu != nullptr) {
    Cpu& cpu = *ended.cpu;
    detach(cpu);
    fill(cpu, cpu.clock());
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
  Cpu* cpu = parked.cpu;
  if (cpu != nullptr) detach(*cpu);
  parked.state = EngineThread::State::kParked;
  parked.parked_since = cpu != nullptr ? cpu->clock() : context_.kernel_time();
  parked.on_timeout = std::move(on_timeout);
  if (cpu != nullptr) fill(*cpu, cpu->clock());
  if (parked.hold) context_.kernel->held(thread);
  if (deadline == kNoDeadline) return;
  EngineThread* waiting = &parked;
  parked.deadline = timers_.add(deadline, [this, waiting] {
    waiting->deadline = {};
    const auto on_timeout = std::move(waiting->on_timeout);
    if (on_timeout) on_timeout();
    unpark(waiting->thread, nullptr);  // if on_timeout did not
  });
}

void Scheduler::unpark(Thread& thread, const Thread* waker) {
  EngineThread& woken = of(thread);
  if (woken.state != EngineThread::State::kParked) return;
  const Cpu* cpu = waker != nullptr ? of(*waker).cpu : context_.ordering.running();
  const Cycles now = cpu != nullptr
                         ? std::max(cpu->clock(), waker != nullptr ? Cycles(0) : context_.idle_time)
                         : context_.idle_time;
  cancel_deadline(woken);
  if (now > woken.parked_since) woken.parked += now - woken.parked_since;
  make_runnable(woken, now + Cycles(context_.machine.system.futex_wake_cycles));
}

/// A running thread leaves its CPU at its next interrupt, which comes at once.
void Scheduler::hold(Thread& thread) {
  EngineThread& held = of(thread);
  held.hold = true;
  if (held.cpu != nullptr) return interrupt_soon(*held.cpu);
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
  Cpu* cpu = of(thread).cpu;
  if (cpu != nullptr && is_wanted(*cpu)) give_up(*cpu, Cycles(0));
}

/// A parked thread and one that may stay on its CPU are not affected. A thread that runs on another CPU may
/// be in the middle of a block: it leaves at that CPU's next interrupt, before the CPU does anything at a
/// later time than this call.
void Scheduler::affinity_changed(Thread& thread) {
  EngineThread& moved = of(thread);
  if (moved.state == EngineThread::State::kQueued && idle_cpu_for(moved) != nullptr) {
    std::erase(queue_, &moved);
    make_runnable(moved, std::max(moved.available, context_.kernel_time()));
  }
  Cpu* const cpu = moved.cpu;
  if (cpu == nullptr || may_use(moved, *cpu)) return;
  if (cpu == context_.ordering.running())
    return give_up(*cpu, Cycles(context_.machine.system.context_switch_cycles));
  interrupt_soon(*cpu);
}

void Scheduler::request_signal_delivery(Thread& thread) {
  EngineThread& wanted = of(thread);
  wanted.wants_signals = true;
  if (wanted.cpu != nullptr) interrupt_soon(*wanted.cpu);
}

void Scheduler::begin_vfork(Thread& thread) {
  EngineThread& parent = of(thread);
  Cpu& cpu = *parent.cpu;
  if (cpu.sharing.active) share_cpu(cpu, false);  // the parent's CPUs are suspended
  vforks_.push_back({&parent,
                     &cpu,
                     context_.ordering,
                     {},
                     {},
                     parent.wants_signals,
                     parent.on_cpu_since,
                     parent.instructions_at_start,
                     parent.busy_cycles,
                     parent.instructions,
                     counts(thread)});
  vforks_.back().queue.swap(queue_);
  timers_.exchange(vforks_.back().timers);
  context_.ordering.clear();
  context_.model->forget_tries();
  context_.ordering.set_look(kNever);  // the child does not look at the region
}

void Scheduler::end_vfork() {
  VforkParent saved = std::move(vforks_.back());
  vforks_.pop_back();
  context_.ordering = saved.ordering;
  context_.model->forget_tries();  // the child's
  queue_.swap(saved.queue);
  timers_.exchange(saved.timers);
  EngineThread& parent = *saved.thread;
  parent.state = EngineThread::State::kOnCpu;
  parent.cpu = saved.cpu;
  parent.wants_signals = saved.wants_signals;
  parent.on_timeout = nullptr;
  parent.deadline = {};
  parent.on_cpu_since = saved.on_cpu_since;
  parent.instructions_at_start = saved.instructions_at_start;
  parent.busy_cycles = saved.busy_cycles;
  parent.instructions = saved.instructions;
  parent.counts = saved.counts;  // without the child's
  parent.counts_of_cpu = counts_of_cpu(*saved.cpu);
  saved.cpu->thread = &parent.thread;
  set_next_look(*saved.cpu, parent.counts);
  saved.cpu->in_heap = false;
  share_cpu(*saved.cpu, true);
}

void Scheduler::start_vfork_child() {
  Cpu& cpu = *vforks_.back().cpu;
  restore(cpu);
  context_.ordering.add(cpu);
}

void Scheduler::keep_only(EngineThread& thread) {
  for (Cpu* cpu : context_.cpus) {
    cpu->sharing.active = false;
    if (cpu->thread == &thread.thread) continue;
    cpu->aborts_to_look = 0;
    cpu->look_at_counts(kNever);
    cpu->thread = nullptr;
    cpu->in_heap = false;
  }
  vforks_.clear();
  context_.ordering.clear();
  context_.model->forget_tries();
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
