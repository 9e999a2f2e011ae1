// SPDX-License-Identifier: Apache-2.0
// What the kernel (system calls, signals, mappings, processes) asks of the engine (translation, virtual CPUs,
// virtual time, scheduling). The other direction is the class Kernel in linux/kernel.h. EngineServices is
// abstract for two reasons: `linux` must not include `engine`, and tests of the kernel put a fake engine in
// its place.
//
// All of it runs on the engine's host thread, outside translated code, with the host's own TLS and all
// libraries available. One host thread runs all virtual threads. A call into the kernel must therefore not
// block the host while another virtual thread can run: it parks the calling thread and completes later.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "vm/interface/guest_state.h"
#include "vm/interface/thread.h"
#include "vm/interface/thread_counts.h"

namespace elision::vm {

/// Virtual time in nanoseconds since the machine started.
using Nanoseconds = std::uint64_t;
inline constexpr Nanoseconds kNoDeadline = ~std::uint64_t{0};

/// What the engine does for the kernel.
class EngineServices {
 public:
  virtual ~EngineServices() = default;

  /// Virtual time of the CPU that runs `thread`; for a parked thread, of the latest event.
  virtual Nanoseconds now(const Thread& thread) const = 0;
  /// A number from the machine's seed (AT_RANDOM, getrandom, layout).
  virtual std::uint64_t random() = 0;
  virtual unsigned cpu_count() const = 0;
  /// The CPU on which `thread` runs or last ran (getcpu).
  virtual unsigned cpu_of(const Thread& thread) const = 0;

  /// What the machine has counted for `thread` up to now.
  virtual ThreadCounts counts(const Thread& thread) const = 0;
  /// Replaces the values at which Kernel::count_reached is called for `thread`. A value that is reached
  /// already counts.
  virtual void set_count_limits(Thread& thread, const CountLimits& limits) = 0;
  /// Records these kinds of branches (BranchKind) on all CPUs, for CountInterrupt::branches. 0: none.
  virtual void record_branches(std::uint32_t kinds) = 0;
  /// Counts these accesses (CountedAccess) on all CPUs, for ThreadCounts::accesses. 0: none.
  virtual void count_accesses(std::uint32_t kinds) = 0;

  /// A new runnable thread that starts from `state`, at the creator's time plus the wake-up latency. The
  /// engine owns it.
  virtual Thread& create_thread(const GuestState& state, Thread& creator) = 0;
  /// `thread` has ended. The reference is valid until the engine next schedules.
  virtual void end_thread(Thread& thread) = 0;
  /// Takes `thread` off its CPU until unpark() or the deadline. At the deadline `on_timeout` runs first (it
  /// may set the result register), then the thread becomes runnable.
  virtual void park(Thread& thread, Nanoseconds deadline, std::function<void()> on_timeout) = 0;
  /// Makes a parked thread runnable at `waker`'s time (null: now) plus the wake-up latency. Cancels its
  /// deadline.
  virtual void unpark(Thread& thread, const Thread* waker) = 0;
  /// Stops `thread` until release(): at once if it is parked or queued, else at its next safe point, where
  /// the engine calls Kernel::held. A parked thread may be unparked meanwhile.
  virtual void hold(Thread& thread) = 0;
  virtual bool is_held(const Thread& thread) const = 0;
  virtual void release(Thread& thread) = 0;
  /// `thread` gives up its CPU to others that wait for one (sched_yield).
  virtual void yield(Thread& thread) = 0;
  /// Affinity changed: moves the thread if it may no longer run where it is.
  virtual void affinity_changed(Thread& thread) = 0;
  /// Threads that exist, in creation order.
  virtual std::vector<Thread*> threads() = 0;
  /// Asks for Kernel::deliver_signals on `thread` as soon as it is at a safe point.
  virtual void request_signal_delivery(Thread& thread) = 0;
  /// Calls back at virtual time `at` in scheduling order (interval timers, timerfd).
  virtual void call_at(Nanoseconds at, std::function<void()> what) = 0;

  /// The guest's mappings are about to change. Every transaction ends, as by the interrupt with which the
  /// operating system tells other CPUs: its undo log may hold memory that goes away.
  virtual void end_all_transactions() = 0;
  /// Drops translations of [begin, end) (munmap, mprotect, mmap over it).
  virtual void forget_code(std::uint64_t begin, std::uint64_t end) = 0;
  /// The guest has asked for 2 MB pages in [begin, end), or no longer has them.
  virtual void set_huge_pages(std::uint64_t begin, std::uint64_t end, bool huge) = 0;
  /// Nobody has touched the pages in [begin, end) yet, or somebody has touched them all.
  virtual void set_untouched(std::uint64_t begin, std::uint64_t end, bool untouched) = 0;
  /// Other processes may see [begin, end), or no longer. Transactions that touch such memory abort.
  virtual void set_shared(std::uint64_t begin, std::uint64_t end, bool shared) = 0;
  /// The kernel or the host may read or write guest memory: ends the transactions that conflict, of any CPU
  /// (a thread in a system call has none), and lifts write guards of code.
  virtual void end_conflicting(std::uint64_t address, std::uint64_t size, bool write) = 0;
  /// The host may fill a part of this memory; host_access() will tell which. Ends the transactions that have
  /// written there, since their undo logs would overwrite the data, and lifts write guards of code.
  /// Transactions that have only read there continue.
  virtual void prepare_filling(std::uint64_t address, std::uint64_t size) = 0;
  /// The kernel or the host reads or writes this memory for `thread`: ends the transactions that conflict. If
  /// the thread is on a CPU, the lines move there and the CPU is charged for that. Null: no thread.
  virtual void host_access(Thread* thread, std::uint64_t address, std::uint64_t size, bool write) = 0;
  /// In a fork's child: drops all threads but `survivor`.
  virtual void keep_only(Thread& survivor) = 0;
  /// `parent` is about to make a vfork child and to wait for it: threads, timers and CPUs are set aside.
  virtual void begin_vfork(Thread& parent) = 0;
  /// In the parent, before anything else: restores them.
  virtual void end_vfork() = 0;
  /// In the child: runs guest code on the parent's CPU until it execs or exits.
  [[noreturn]] virtual void run_vfork_child() = 0;
  /// `thread` has caused `info`, of which the process dies: writes a crash report. `note` adds a line to it.
  virtual void report_crash(Thread& thread, const siginfo_t& info, const std::string& note) = 0;
  /// Writes this process's statistics. execve and exit call it once.
  virtual void write_statistics(int exit_status) = 0;
  /// The exit code with which the process ends, after its statistics: `exit_code`, the guest's own, or
  /// another one if the run did not do what it was asked for. Says so then.
  virtual int final_exit_code(int exit_code) = 0;
  /// Whether the run has done all that it was asked for.
  virtual bool region_is_complete() const = 0;
};

/// How a system call ended.
enum class SyscallOutcome {
  kReturn,     // state.gpr[kRax] holds the result; continue behind the SYSCALL instruction
  kParked,     // the thread is parked; RAX is set before it is unparked
  kRestart,    // execute the SYSCALL instruction again when the thread next runs
  kExited,     // the thread (or the process image) is gone
  kSigreturn,  // state was replaced as a whole: continue at state.rip
};

}  // namespace elision::vm
