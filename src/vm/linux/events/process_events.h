// SPDX-License-Identifier: Apache-2.0
// The counters of this process's threads: for each open event (event_board.h), one a thread that it counts.
// A counter reads what the machine has counted for its thread anyway, and adds what is new to the event's
// count when it is settled: at timer ticks, before reads of this process, at the end of the thread.
//
// A sampled event's counter has a period. The engine interrupts the thread when it is over, and overflow()
// writes the sample.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vm/linux/events/event_board.h"
#include "vm/linux/process/process.h"

namespace elision::vm {

/// A signal that an overflow sends, to a thread of this process or, with `to_process`, to all.
struct EventSignal {
  siginfo_t info;
  int thread = 0;
  bool to_process = false;
};

class ProcessEvents {
 public:
  ProcessEvents(Process& process, int inherited_board) : board(inherited_board), process_(process) {}

  EventBoard board;

  /// Takes in what other processes have changed. Cheap while they have not.
  void look();
  /// Adds what is new to the counts of all events of this process's threads.
  void settle();
  /// An event is open, closed, or its state has changed.
  void event_changed();

  /// A period may be over: `thread` has been interrupted. Returns false if none is.
  bool overflow(KernelThread& thread, const CountInterrupt& interrupt, std::vector<EventSignal>& signals);

  /// `parent` has made `child`, a thread of this process.
  void thread_made(KernelThread& parent, KernelThread& child);
  void thread_ends(KernelThread& thread);
  /// The process ends, with all its threads.
  void process_ends();
  /// In a fork's child, which has the calling thread alone.
  void forked(KernelThread& self, int parent_process, int parent_thread);
  /// The engine counts anew for the thread that has waited for its vfork child.
  void vfork_is_over(KernelThread& self);

  /// The events of the thread that executes another program, which go on there.
  std::vector<std::uint64_t> over_exec(KernelThread& self);
  /// In the new program, before its first instruction.
  void program_starts(KernelThread& self, const std::vector<std::uint64_t>& slots);

  /// Records of what samples refer to. `name`: the thread has another name.
  void note_name(KernelThread& self, bool by_exec);
  void note_mapping(KernelThread& self, std::uint64_t address, std::uint64_t size);

  /// The values of read(2), in the event's format.
  std::vector<std::uint64_t> values(int slot);

  bool counts_anything() const { return !threads_.empty(); }

 private:
  struct Counter {
    int slot = kNoEvent;
    std::uint64_t id = 0;
    std::int64_t left = 0;            // of the period
    std::uint64_t last_overflow = 0;  // nanoseconds on a CPU
    bool counts = false;              // its event is enabled
  };
  struct ThreadEvents {
    ThreadCounts settled;
    std::vector<Counter> counters;
    bool limited = false;
    std::uint32_t branches = 0;  // kinds that its enabled events show
    std::uint32_t accesses = 0;  // kinds that they count
  };
  struct Overflow {
    KernelThread& thread;
    int slot;
    std::uint64_t period;
    const CountInterrupt& interrupt;
  };
  struct MappedRing {
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;
    char* memory = nullptr;
  };

  bool is_current(const Counter& counter) const;
  bool is_effective(const EventSlot& slot) const;
  void adopt(int slot);
  void settle(KernelThread& thread, ThreadEvents& events);
  void refresh(KernelThread& thread, ThreadEvents& events);
  void restart(KernelThread& thread, ThreadEvents& events);
  void tell_what_is_wanted();
  Counter counter_of(int slot) const;
  void change_period(Counter& counter, EventSlot& slot, std::uint64_t now) const;
  void emit(const Overflow& overflow, std::vector<EventSignal>& signals);
  void add_signal(EventSlot& slot, bool is_last, std::vector<EventSignal>& signals) const;
  void target_ends(int tid);
  void wake(int slot);

  // event_records.cc
  MappedRing* ring_of(int slot);
  bool write(int slot, KernelThread& thread, std::vector<char> record);
  std::vector<char> sample(const Overflow& overflow);
  void add_sample_id(std::vector<char>& record, const EventSlot& slot, KernelThread& thread, int pid,
                     int tid);
  std::uint64_t time_of(const EventSlot& slot, KernelThread& thread);
  template <class Wants, class Make>
  void note(KernelThread& self, Wants wants, Make make);
  void note_task(KernelThread& self, bool begins, int pid, int parent_pid, int tid, int parent_tid);

  Process& process_;
  std::map<KernelThread*, ThreadEvents> threads_;
  std::map<int, MappedRing> rings_;
  std::uint64_t seen_changes_ = 0;
};

}  // namespace elision::vm
