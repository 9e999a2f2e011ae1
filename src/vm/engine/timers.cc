// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/timers.h"

#include <algorithm>

namespace elision::vm {

TimerKey Timers::add(Nanoseconds at, std::function<void()> what) {
  const TimerKey key{context_.cycles_of(at).value, ++made_};
  timers_.emplace(key, std::move(what));
  refresh();
  return key;
}

void Timers::cancel(const TimerKey& key) {
  if (key.number == 0) return;
  timers_.erase(key);
  refresh();
}

void Timers::fire() {
  while (!timers_.empty()) {
    const auto next = timers_.begin();
    const Cpu* first = context_.ordering.first();
    const std::uint64_t reached = first != nullptr ? first->clock().value : context_.idle_time.value;
    if (next->first.cycle > reached) break;
    const auto what = std::move(next->second);
    context_.idle_time = std::max(context_.idle_time, Cycles(next->first.cycle));
    timers_.erase(next);
    what();
  }
  refresh();
}

std::optional<Cycles> Timers::first() const {
  if (timers_.empty()) return std::nullopt;
  return Cycles(timers_.begin()->first.cycle);
}

void Timers::exchange(Set& other) {
  timers_.swap(other);
  refresh();
}

void Timers::refresh() { context_.ordering.set_timer(first().value_or(kNever)); }

}  // namespace elision::vm
