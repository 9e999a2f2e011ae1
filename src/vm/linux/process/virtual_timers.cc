// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/virtual_timers.h"

#include <algorithm>
#include <vector>

namespace elision::vm {

void VirtualTimers::set(EngineServices& services, Key key, Setting setting, std::function<void()> action) {
  Timer& timer = timers_[key];
  timer.setting = setting;
  timer.generation = next_generation_++;
  timer.action = std::move(action);
  if (setting.expires != 0) schedule(services, key);
}

VirtualTimers::Setting VirtualTimers::get(Key key) const {
  const auto timer = timers_.find(key);
  return timer == timers_.end() ? Setting{} : timer->second.setting;
}

std::size_t VirtualTimers::armed_count() const {
  return std::count_if(timers_.begin(), timers_.end(),
                       [](const auto& entry) { return entry.second.setting.expires != 0; });
}

void VirtualTimers::schedule(EngineServices& services, Key key) {
  const Timer& timer = timers_.at(key);
  services.call_at(timer.setting.expires, [this, &services, key, generation = timer.generation] {
    expire(services, key, generation);
  });
}

void VirtualTimers::expire(EngineServices& services, Key key, std::uint64_t generation) {
  const auto found = timers_.find(key);
  if (found == timers_.end() || found->second.generation != generation) return;
  Timer& timer = found->second;
  if (timer.setting.interval != 0) {
    timer.setting.expires += timer.setting.interval;
    schedule(services, key);
  } else {
    timer.setting.expires = 0;
  }
  const std::function<void()> action = timer.action;  // it may set or remove the timer
  action();
}

void CpuTimers::set(Key key, Setting setting, std::function<Nanoseconds()> clock,
                    std::function<void()> action) {
  timers_[key] = {setting, std::move(clock), std::move(action)};
}

std::optional<CpuTimers::Setting> CpuTimers::left(Key key) const {
  const auto found = timers_.find(key);
  if (found == timers_.end()) return std::nullopt;
  const auto& [setting, clock, action] = found->second;
  if (setting.expires == 0) return Setting{0, setting.interval};
  const Nanoseconds now = clock();
  return Setting{setting.expires > now ? setting.expires - now : 1, setting.interval};
}

/// Most expiries of a timer at one tick; further overruns are not counted.
constexpr Nanoseconds kMostExpiries = 1000;

void CpuTimers::tick() {
  std::vector<std::function<void()>> due;  // an action may set or remove timers
  for (auto& [key, timer] : timers_) {
    if (timer.setting.expires == 0) continue;
    const Nanoseconds now = timer.clock();
    if (timer.setting.expires > now) continue;
    const Nanoseconds interval = timer.setting.interval;
    const Nanoseconds expiries = interval != 0 ? (now - timer.setting.expires) / interval + 1 : 1;
    due.insert(due.end(), std::min(expiries, kMostExpiries), timer.action);
    timer.setting.expires = interval != 0 ? timer.setting.expires + expiries * interval : 0;
  }
  for (const auto& action : due) action();
}

}  // namespace elision::vm
