// SPDX-License-Identifier: Apache-2.0
// The scheduler of the guest's operating system: assigns threads to CPUs.
//
// A woken thread runs on its last CPU if that is idle, else on the lowest idle CPU that its affinity allows,
// else it is queued. A queued thread gets a CPU when a time slice ends.
//
// Invariant: no CPU is idle while the queue holds a thread that may run there. Each event that can break it
// (a CPU becomes idle, a thread becomes runnable, an affinity changes) restores it at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "vm/engine/code_manager.h"
#include "vm/engine/engine_context.h"
#include "vm/engine/timers.h"

namespace elision::vm {

/// A guest thread and its scheduling state.
struct EngineThread {
  enum class State { kQueued, kOnCpu, kParked, kHeld, kEnded };

  Thread thread;
  State state = State::kQueued;
  Cpu* cpu = nullptr;  // null: on no CPU
  unsigned last_cpu = 0;
  Cycles available{0};  // queued: earliest time to run
  bool wants_signals = false;
  bool hold = false;  // it must not run: it is kHeld, or becomes kHeld when it would next run
  std::function<void()> on_timeout;
  TimerKey deadline;  // timer of its wait, if it has one
  Cycles parked_since{0};
  Cycles parked{0};                  // time spent parked, without the present wait
  profile::Account::Thread account;  // with Options::lock_times
  // statistics
  Cycles started{0};
  std::uint64_t started_instructions = 0;  // that the process had executed by then
  Cycles on_cpu_since{0};
  std::uint64_t instructions_at_start = 0;
  std::uint64_t busy_cycles = 0;
  std::uint64_t instructions = 0;
  // for perf_event_open
  ThreadCounts counts;           // on its CPUs before the present one
  ThreadCounts counts_of_cpu{};  // of the present CPU, when the thread came to it
  CountLimits limits;
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

  // See EngineServices.
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
  /// Ends the vfork child in any state, for instance asleep. Its thread is the parent's again, on the CPU of
  /// the vfork call.
  void end_vfork();
  bool in_vfork() const { return !vforks_.empty(); }
  /// Starts the vfork child on its only CPU, that of the vfork call.
  void start_vfork_child();

  /// Copies the CPU's registers to its thread.
  static void capture(Cpu& cpu);
  /// Lets the CPU continue from its thread's registers.
  void restore(Cpu& cpu);
  /// Called between two instructions. The thread leaves the CPU if its affinity excludes the CPU, if the
  /// thread is held, or if its slice is over and a queued thread may run there.
  void preempt(Cpu& cpu);
  /// Whether the timing model runs has changed: updates the sharing of cores.
  void share_cores();
  /// Threads' busy cycles and instructions count from now on, without threads that have ended.
  void restart_counts();
  /// See EngineServices.
  ThreadCounts counts(const Thread& thread) const;
  void set_count_limits(Thread& thread, const CountLimits& limits);
  /// Whether a limit of the CPU's thread is reached. If not, sets the time of the next look.
  bool limit_reached(Cpu& cpu);
  /// The CPU has counted the begin or the end of a transaction: lets it leave to a look if that is a limit.
  void look_at_limits(Cpu& cpu) {
    const CountLimits& limits = of(*cpu.thread).limits;
    if (limits.begins == CountLimits::kNone && limits.commits == CountLimits::kNone) return;
    if (limit_reached(cpu)) look_soon(cpu);
  }
  /// Sets the time of the CPU's next timer interrupt.
  void first_interrupt_after(Cpu& cpu) const;

 private:
  /// State of a process that waits for its vfork child. The child uses its memory and one of its CPUs.
  struct VforkParent {
    EngineThread* thread;
    Cpu* cpu;
    Ordering ordering;
    std::vector<EngineThread*> queue;
    Timers::Set timers;
    bool wants_signals;
    Cycles on_cpu_since;
    std::uint64_t instructions_at_start, busy_cycles, instructions;
    ThreadCounts counts;
  };

  void attach(EngineThread& thread, Cpu& cpu, Cycles at);
  void detach(Cpu& cpu);
  bool may_use(const EngineThread& thread, const Cpu& cpu) const;
  Cpu* idle_cpu_for(const EngineThread& thread);
  void fill(Cpu& cpu, Cycles at);
  bool is_wanted(const Cpu& cpu) const;
  void give_up(Cpu& cpu, Cycles delay);
  static void interrupt_soon(Cpu& cpu);
  void look_soon(Cpu& cpu);
  ThreadCounts counts_of_cpu(const Cpu& cpu) const;
  void set_next_look(Cpu& cpu, const ThreadCounts& counts);
  void share_cpu(Cpu& cpu, bool runs);
  void cancel_deadline(EngineThread& thread);
  Cycles time_slice() const;

  EngineContext& context_;
  Timers& timers_;
  CodeManager& code_;
  Threads threads_;
  Threads ended_threads_;
  std::vector<EngineThread*> queue_;
  std::vector<VforkParent> vforks_;  // the parents whose memory this process uses
};

}  // namespace elision::vm
