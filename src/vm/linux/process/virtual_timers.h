// SPDX-License-Identifier: Apache-2.0
// Timers in virtual time: setitimer, alarm, timer_create, timerfd. The engine cannot cancel a callback. Each
// setting of a timer therefore has a generation, and a callback of an older generation does nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "vm/interface/engine_services.h"

namespace elision::vm {

class VirtualTimers {
 public:
  using Key = std::uint64_t;

  struct Setting {
    Nanoseconds expires = 0;   // 0: not armed
    Nanoseconds interval = 0;  // 0: once
  };

  /// Arms `key` (expires 0 disarms) to run `action(expirations)` at each expiry.
  void set(EngineServices& services, Key key, Setting setting, std::function<void()> action);
  Setting get(Key key) const;
  void remove(Key key) { timers_.erase(key); }
  bool any_armed() const { return armed_count() != 0; }
  std::size_t armed_count() const;
  void clear() { timers_.clear(); }

 private:
  struct Timer {
    Setting setting;
    std::uint64_t generation = 0;
    std::function<void()> action;
  };
  void schedule(EngineServices& services, Key key);
  void expire(EngineServices& services, Key key, std::uint64_t generation);

  std::map<Key, Timer> timers_;
  std::uint64_t next_generation_ = 1;
};

/// Timers of CPU clocks, which run only while a thread computes. Checked at each timer tick of a CPU, as in
/// Linux.
class CpuTimers {
 public:
  using Key = VirtualTimers::Key;
  using Setting = VirtualTimers::Setting;

  /// Like VirtualTimers::set(), with the time that `clock` returns.
  void set(Key key, Setting setting, std::function<Nanoseconds()> clock, std::function<void()> action);
  /// Time to expiry and interval; nothing if there is no such timer.
  std::optional<Setting> left(Key key) const;
  void remove(Key key) { timers_.erase(key); }
  void clear() { timers_.clear(); }
  void tick();

 private:
  struct Timer {
    Setting setting;
    std::function<Nanoseconds()> clock;
    std::function<void()> action;
  };
  std::map<Key, Timer> timers_;
};

}  // namespace elision::vm
