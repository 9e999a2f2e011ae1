// SPDX-License-Identifier: Apache-2.0
// What the kernel keeps of one guest thread, and its wait while it is parked.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vm/interface/engine_services.h"
#include "vm/interface/signal_types.h"
#include "vm/linux/process/pending_signals.h"
#include "vm/linux/process/process_ids.h"

namespace elision::vm {

class CredentialHolder;

/// What happens to a waiting call after a signal handler: it starts again if the handler has SA_RESTART, or
/// it fails with EINTR in any case (signal(7)).
enum class OnSignal { kRestart, kInterrupt };

/// A call that waits. Event, wake-up, deadline or signal ends it and clears it exactly once.
struct Wait {
  std::vector<pollfd> descriptors;    // ready descriptors cause `attempt`
  bool for_children = false;          // a SIGCHLD causes `attempt`
  ino_t signal_descriptor = 0;        // reads from this signalfd
  bool periodic = false;              // no event will come: `attempt` periodically
  std::optional<OnSignal> on_signal;  // none: park() takes it from the call's row
  long transferred = 0;               // bytes moved so far: if not 0, the result of an interrupted call
  std::function<bool()> attempt;      // sets RAX and returns true if the call can end now
  std::function<void()> cancel;       // leaves queues
  std::function<void()> expire;       // changes to guest memory on timeout
  std::function<void()> give_up;      // changes to guest memory when a signal ends it
  /// Cancels work that a helper does for the call, before a signal or the deadline ends the call. If that
  /// work has completed, returns its result, with which the call then ends.
  std::function<std::optional<long>()> interrupt;
};

inline constexpr std::size_t kThreadNameBytes = 16;  // TASK_COMM_LEN

/// State of a companion, a process that shares this one's memory (companions.h).
struct Companion {
  int parent = 0;
  int exit_signal = 0;
  SignalAction actions[kSignalCount + 1];
};

/// Progress of stopping a thread for the companion that traces it (trace_calls.h).
enum class TraceStop { kNone, kWanted, kStopped, kReported };
struct Tracing {
  int tracer = 0;  // its process number; 0: none
  TraceStop stop = TraceStop::kNone;
};

struct KernelThread {
  explicit KernelThread(Thread& engine_thread) : thread(engine_thread) {}

  Thread& thread;
  std::string name;  // PR_SET_NAME
  std::uint64_t clear_child_tid = 0;
  std::uint64_t robust_list = 0;
  std::uint64_t call_number = 0;  // of the call in progress
  Scheduling scheduling;

  std::shared_ptr<CredentialHolder> credentials;  // null: those of the engine's host thread

  std::optional<Wait> wait;
  std::uint64_t futex_address = 0;  // the queue that it is in; 0: none
  std::uint32_t futex_bits = 0;

  SignalSet blocked;
  std::optional<SignalSet> saved_blocked;  // to restore when the call that replaced the mask ends
  SignalSet waited_for;                    // rt_sigtimedwait
  PendingSignals pending;
  SignalStack signal_stack;
  char* published_state = nullptr;       // on the board (shown_process.h); null: nowhere
  std::unique_ptr<Companion> companion;  // null: a thread of the process
  Tracing tracing;

  Nanoseconds started = 0;  // the CPU clock counts from here, without waits
  Nanoseconds waited = 0;
  std::optional<Nanoseconds> waits_since;
};

}  // namespace elision::vm
