// SPDX-License-Identifier: Apache-2.0
// One guest process: the state that all parts of the kernel share. Only the engine's host thread touches it.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "vm/interface/engine_services.h"
#include "vm/interface/machine_identity.h"
#include "vm/interface/options.h"
#include "vm/interface/signal_types.h"
#include "vm/linux/memory/address_space.h"
#include "vm/linux/process/cpu_time_board.h"
#include "vm/linux/process/futex_queues.h"
#include "vm/linux/process/kernel_thread.h"
#include "vm/linux/process/pending_signals.h"
#include "vm/linux/process/process_board.h"
#include "vm/linux/process/process_ids.h"
#include "vm/linux/process/virtual_timers.h"

namespace elision::vm {

/// A timer made by timer_create. `signal` 0: it sends none; `thread` 0: its signal goes to the process.
struct PosixTimer {
  int clock = 0;
  int owner = 0;  // the thread that made it
  int signal = 0;
  std::uint64_t value = 0;
  int thread = 0;
  int overruns = 0;       // expiries while its signal is pending
  int last_overruns = 0;  // of the last signal taken
};

/// A descriptor made by timerfd_create.
struct DescriptorTimer {
  int clock = 0;
};

/// A descriptor made by signalfd (signal_descriptors.h).
struct SignalDescriptor {
  SignalSet mask;
  int write_end = -1;     // a reserved descriptor
  bool readable = false;  // the pipe holds a byte
  bool arrived = false;   // a signal was sent since: edge-triggered waits get an edge
};

/// Keyed by the inode of the pipe.
using SignalDescriptors = std::map<ino_t, SignalDescriptor>;

/// A companion or traced thread that has ended and was not waited for yet.
struct EndedCompanion {
  int pid = 0;
  int parent = 0;  // or tracer
  int status = 0;  // wait4's
  bool sends_sigchld = false;
};

class ProcessEvents;

struct Process {
  Process(EngineServices& engine, const Options& process_options, const MachineIdentity& machine,
          const ProcessOrigin& process_origin)
      : services(engine),
        options(process_options),
        identity(machine),
        ids(process_origin),
        start_time(process_origin.start_time),
        cpu_time_board(process_origin.cpu_time_board),
        board(process_origin.process_board),
        limits(process_origin.limits),
        memory(engine),
        ended_threads_cpu_time(process_origin.cpu_time),
        children_cpu_time(process_origin.children_cpu_time),
        earlier_images_answer(process_origin.answers_for_region) {}

  EngineServices& services;
  Options options;  // changes only in the copy of a snapshot
  const MachineIdentity identity;
  ProcessIds ids;
  Nanoseconds start_time;  // virtual time of earlier images of this process
  CpuTimeBoard cpu_time_board;
  ProcessBoard board;
  std::uint64_t published_regions = 0;  // RegionMap::changes() of those on the board
  LimitTable limits;
  AddressSpace memory;
  FutexQueues futexes;
  VirtualTimers timers;
  CpuTimers cpu_timers;
  std::map<int, PosixTimer> posix_timers;
  int next_posix_timer = 0;
  SignalDescriptors signal_descriptors;
  std::shared_ptr<ProcessEvents> events;             // of perf_event_open; null in tests
  std::map<int, DescriptorTimer> descriptor_timers;  // timerfd, by the reserved descriptor for it

  Thread* acting = nullptr;                            // the thread for which the kernel acts (guest_door.h)
  std::vector<std::unique_ptr<KernelThread>> threads;  // live ones, in creation order
  std::vector<std::unique_ptr<KernelThread>> companions;  // live ones (companions.h)
  std::vector<EndedCompanion> ended_companions;
  Nanoseconds ended_threads_cpu_time;  // of earlier images too
  Nanoseconds children_cpu_time;       // of children that were waited for
  int leader_exit_code = 0;
  int leader_tid = 0;

  SignalAction actions[kSignalCount + 1];
  PendingSignals pending;  // sent to the process as a whole

  std::string executable;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<std::uint64_t> auxiliary_vector;

  int membarrier_commands = 0;           // registered for, as MEMBARRIER_CMD_ bits
  bool child_event = false;              // a child changed state since waits were last tried
  bool has_had_children = false;         // other processes exist: their time is the host's
  bool earlier_images_answer;            // answers_for_region() as it was before the last execve
  KernelThread* inside_vfork = nullptr;  // set in a vfork child, in its parent's memory: its thread
  std::map<std::string, std::uint64_t> refused_calls;  // ENOSYS, by name
  std::set<int> inherited_descriptors;                 // with Options::serves: those of the start
  std::set<std::uint64_t> named_calls;                 // unknown ones, already reported
  std::uint64_t wakeups = 0;                           // waits that ended by an event or a signal

  /// Whether a region that was not reached is this process's fault: the first one, if neither a child nor an
  /// earlier image may have had it.
  bool answers_for_region() const { return ids.is_root() && !has_had_children && earlier_images_answer; }
  /// True if the host may block: no other thread could run, no timer would be late.
  bool alone() const {
    return inside_vfork != nullptr || (threads.size() == 1 && companions.empty() && !timers.any_armed() &&
                                       threads.front()->credentials == nullptr);
  }
  /// Visits all threads and companions.
  template <class Visit>
  void visit_runners(const Visit& visit) const {
    for (const auto* list : {&threads, &companions})
      for (const auto& each : *list) visit(*each);
  }
  template <class Condition>
  bool any_runner(const Condition& condition) const {
    bool any = false;
    visit_runners([&](KernelThread& each) { any = any || condition(each); });
    return any;
  }
  bool has_several_runners() const { return threads.size() + companions.size() > 1; }
  /// The action of `thread` for `signal`.
  SignalAction& action_of(const KernelThread& thread, int signal) {
    return thread.companion != nullptr ? thread.companion->actions[signal] : actions[signal];
  }
};

}  // namespace elision::vm
