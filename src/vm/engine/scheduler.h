// SPDX-License-Identifier: Apache-2.0
// Threads on virtual CPUs: the operating system's scheduler.
//
// A woken thread goes to the CPU it last ran on if that is idle, else to the lowest idle CPU it may
// use, else it queues. A thread that waits in the queue takes over at the end of a time slice.
//
// Invariant: no CPU is idle while a thread waits in the queue that may run there. What can break it (a CPU
// that becomes idle, a thread that becomes runnable, a mask that changes) restores it at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "vm/engine/code_manager.h"
#include "vm/engine/engine_context.h"
#include "vm/engine/timers.h"

namespace elision::vm {

/// A guest thread and where it stands.
struct EngineThread {
  enum class State { kQueued, kOnCpu, kParked, kHeld, kEnded };

  Thread thread;
  State state = State::kQueued;
  Cpu* cpu = nullptr;  // while on one
  unsigned last_cpu = 0;
  Cycles available{0};  // queued: not before
  bool wants_signals = false;
  bool hold = false;  // it may not run: it is kHeld, or becomes so where it would run on
  std::function<void()> on_timeout;
  TimerKey deadline;  // of its timer, while it has one
  // statistics
  Cycles started{0};
  Cycles on_cpu_since{0};
  std::uint64_t instructions_at_start = 0;
  std::uint64_t busy_cycles = 0;
  std::uint64_t instructions = 0;
};

class Scheduler {
 public:
  using Threads = std::vector<std::unique_ptr<EngineThread>>;

  Scheduler(EngineContext& context, Timers& timers, CodeManager& code)
      : context_(context), timers_(timers), code_(code) {}

  static EngineThread& of(const Thread& thread) { return *static_cast<EngineThread*>(thread.engine); }
  const Threads& live() const { return threads_; }
  const Threads& ended() const { return ended_threads_; }

  /// Makes a thread that starts from `state` and is not runnable yet.
  EngineThread& add(const GuestState& state);
  void make_runnable(EngineThread& thread, Cycles at);

  // As EngineServices has them.
  Nanoseconds now(const Thread& thread) const;
  Thread& create(const GuestState& state, Thread& creator);
  void end(Thread& thread);
  void park(Thread& thread, Nanoseconds deadline, std::function<void()> on_timeout);
  void unpark(Thread& thread, const Thread* waker);
  void hold(Thread& thread);
  bool is_held(const Thread& thread) const;
  void release(Thread& thread);
  void yield(Thread& thread);
  void affinity_changed(Thread& thread);
  void request_signal_delivery(Thread& thread);
  void keep_only(EngineThread& thread);
  void begin_vfork(Thread& parent);
  /// Whatever happened to the child, in the middle of a sleep for instance, its thread is the parent's again
  /// and on the CPU where it called.
  void end_vfork();
  bool in_vfork() const { return !vforks_.empty(); }
  /// The one CPU of a vfork child, with the thread that it runs.
  void start_vfork_child();

  /// The thread's state becomes what the CPU holds.
  static void capture(Cpu& cpu);
  /// The CPU continues from its thread's state.
  void restore(Cpu& cpu);
  /// Between two instructions: the thread leaves a CPU that it may no longer use, or as somebody holds it,
  /// or, when its slice is over, leaves it to the longest waiting one that may run here.
  void preempt(Cpu& cpu);
  /// Sets when the CPU's timer next interrupts it.
  void first_interrupt_after(Cpu& cpu) const;

 private:
  /// What a process that waits for its vfork child goes on with: the child uses its memory, and one CPU.
  struct VforkParent {
    EngineThread* thread;
    Cpu* cpu;
    Ordering ordering;
    std::vector<EngineThread*> queue;
    Timers::Set timers;
    bool wants_signals;
    Cycles on_cpu_since;
    std::uint64_t instructions_at_start, busy_cycles, instructions;
  };

  void attach(EngineThread& thread, Cpu& cpu, Cycles at);
  void detach(Cpu& cpu);
  bool may_use(const EngineThread& thread, const Cpu& cpu) const;
  Cpu* idle_cpu_for(const EngineThread& thread);
  void fill(Cpu& cpu, Cycles at);
  bool is_wanted(const Cpu& cpu) const;
  void give_up(Cpu& cpu, Cycles delay);
  static void interrupt_soon(Cpu& cpu);
  void share_cpu(Cpu& cpu, bool runs);
  void cancel_deadline(EngineThread& thread);
  Cycles time_slice() const;

  EngineContext& context_;
  Timers& timers_;
  CodeManager& code_;
  Threads threads_;
  Threads ended_threads_;
  std::vector<EngineThread*> queue_;
  std::vector<VforkParent> vforks_;  // those whose memory this process uses
};

}  // namespace elision::vm
