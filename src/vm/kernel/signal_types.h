// SPDX-License-Identifier: Apache-2.0
// What the kernel remembers about signals; layouts are the x86-64 kernel ABI's.
#pragma once

#include <csignal>
#include <cstdint>
#include <deque>
#include <optional>

namespace elision::vm {

inline constexpr int kSignalCount = 64;

/// A set of signals as system calls pass it: signal n is bit n - 1.
struct SignalSet {
  std::uint64_t bits = 0;

  static constexpr SignalSet of(int signal) { return {1ull << (signal - 1)}; }
  constexpr bool has(int signal) const { return (bits >> (signal - 1) & 1) != 0; }
  constexpr void add(int signal) { bits |= of(signal).bits; }
  constexpr void remove(int signal) { bits &= ~of(signal).bits; }
};

/// struct kernel_sigaction.
struct SignalAction {
  std::uint64_t handler = 0;  // SIG_DFL
  std::uint64_t flags = 0;
  std::uint64_t restorer = 0;
  SignalSet mask;
};
static_assert(sizeof(SignalAction) == 32);

/// stack_t.
struct SignalStack {
  std::uint64_t address = 0;
  std::int32_t flags = SS_DISABLE;
  std::int32_t padding = 0;
  std::uint64_t size = 0;
};
static_assert(sizeof(SignalStack) == 24);

/// SS_AUTODISARM: a handler that begins on the stack takes it away until it returns.
inline constexpr std::int32_t kAutodisarm = std::int32_t(1u << 31);

/// Signals that wait to be delivered: standard ones once each, real-time ones queued (signal(7)).
class PendingSignals {
 public:
  void add(const siginfo_t& info) {
    if (info.si_signo < SIGRTMIN_KERNEL && set_.has(info.si_signo)) return;
    set_.add(info.si_signo);
    queue_.push_back(info);
  }
  SignalSet set() const { return set_; }
  /// Removes and returns the one to deliver first of those in `wanted`: lowest number, oldest.
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
