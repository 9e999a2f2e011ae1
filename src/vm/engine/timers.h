// SPDX-License-Identifier: Apache-2.0
// Timers in virtual time: deadlines of parked threads and the kernel's timers. No CPU runs past the first
// timer without leaving to the run loop (Ordering::set_timer).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "vm/engine/engine_context.h"

namespace elision::vm {

/// When a timer is due. Of timers due at the same time, the older fires first.
struct TimerKey {
  std::uint64_t cycle = 0;
  std::uint64_t number = 0;  // 0: no timer
  friend auto operator<=>(const TimerKey&, const TimerKey&) = default;
};

class Timers {
 public:
  using Set = std::map<TimerKey, std::function<void()>>;

  explicit Timers(EngineContext& context) : context_(context) {}

  TimerKey add(Nanoseconds at, std::function<void()> what);
  /// Does nothing if the key's number is 0.
  void cancel(const TimerKey& key);
  /// Calls the timers due by the clock of the earliest CPU, or, if none runs, by the idle time.
  void fire();
  std::optional<Cycles> first() const;
  /// Swaps all timers with `other`.
  void exchange(Set& other);

 private:
  void refresh();

  EngineContext& context_;
  Set timers_;
  std::uint64_t made_ = 0;
};

}  // namespace elision::vm
