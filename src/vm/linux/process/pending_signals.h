// SPDX-License-Identifier: Apache-2.0
// Signals that were sent and have not been delivered yet.
#pragma once

#include <csignal>
#include <deque>
#include <optional>

#include "vm/interface/signal_types.h"

namespace elision::vm {

/// Pending signals: a standard signal once, real-time signals queued (signal(7)).
class PendingSignals {
 public:
  void add(const siginfo_t& info) {
    if (info.si_signo < SIGRTMIN_KERNEL && set_.has(info.si_signo)) return;
    set_.add(info.si_signo);
    queue_.push_back(info);
  }
  SignalSet set() const { return set_; }
  /// Removes and returns the signal of `wanted` to deliver first: lowest number, then oldest.
  std::optional<siginfo_t> take(SignalSet wanted);
  void discard(int signal);
  void clear() { queue_.clear(), set_ = {}; }
  const std::deque<siginfo_t>& all() const { return queue_; }

 private:
  static constexpr int SIGRTMIN_KERNEL = 32;
  SignalSet set_;
  std::deque<siginfo_t> queue_;
};

}  // namespace elision::vm
