// SPDX-License-Identifier: Apache-2.0
#include "vm/kernel/virtual_timers.h"

#include <algorithm>

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

}  // namespace elision::vm
