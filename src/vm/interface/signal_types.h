// SPDX-License-Identifier: Apache-2.0
// Sets, actions and stacks of signals; layouts are the x86-64 kernel ABI's.
#pragma once

#include <csignal>
#include <cstdint>

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

inline constexpr SignalSet kAllSignals{~0ull};

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

/// SS_AUTODISARM: the stack is disabled while a handler runs on it.
inline constexpr std::int32_t kAutodisarm = std::int32_t(1u << 31);

}  // namespace elision::vm
