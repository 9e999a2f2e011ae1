// SPDX-License-Identifier: Apache-2.0
// What happens at a virtual time: deadlines of parked threads, timers of the kernel. No CPU runs past the
// first one without leaving to the run loop (Ordering::set_timer).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "vm/engine/engine_context.h"

namespace elision::vm {

/// When a timer is due; of equal times the older goes first.
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
  /// Does nothing for a key without number.
  void cancel(const TimerKey& key);
  /// Calls what is due by the time of the earliest CPU, or, if none runs, by the idle time.
  void fire();
  std::optional<Cycles> first() const;
  /// Puts `other` in the place of all timers, and those in its place.
  void exchange(Set& other);

 private:
  void refresh();

  EngineContext& context_;
  Set timers_;
  std::uint64_t made_ = 0;
};

}  // namespace elision::vm
