// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/region_control.h"

#include <algorithm>
#include <utility>

namespace elision::vm {
namespace {

/// As on the command line.
std::string time_text(std::uint64_t nanoseconds) {
  constexpr std::pair<std::uint64_t, const char*> kUnits[] = {
      {1'000'000'000, "s"}, {1'000'000, "ms"}, {1000, "us"}};
  for (const auto& [size, name] : kUnits)
    if (nanoseconds % size == 0) return std::to_string(nanoseconds / size) + name;
  return std::to_string(nanoseconds) + "ns";
}

}  // namespace

std::uint64_t RegionControl::now() const {
  const Cpu* first = context_.ordering.first();
  return earlier_ + context_.nanoseconds_of(first != nullptr ? first->clock() : context_.idle_time);
}

void RegionControl::is_met() {
  awaited_ = {};
  due_ = true;
}

void RegionControl::begin(std::uint64_t earlier) {
  earlier_ = earlier;
  if (phase_ == Phase::kCounted) return;
  watch(region_.start);
  await_part();
}

void RegionControl::begin_anew() {
  timers_.cancel(std::exchange(timer_, {}));
  context_.ordering.set_look(kNever);
  phase_ = Phase::kBefore;
  awaited_ = {};
  part_ = due_at_ = starts_ = stops_ = counted_ = 0;
  due_ = started_ = is_empty_ = false;
  begin(earlier_);
}

void RegionControl::postpone(std::uint64_t instructions) {
  due_ = false;
  await({Trigger::Kind::kInstructions, context_.instructions() + instructions});
}

Trigger RegionControl::start() const {
  Trigger trigger = region_.start;
  if (part_ > 0) trigger.value = region_.later_starts[part_ - 1];
  return trigger;
}

Trigger RegionControl::warm_from() const {
  Trigger trigger = region_.warm_from;
  if (part_ > 0 && trigger.is_set()) trigger.value = region_.later_warm_from[part_ - 1];
  return trigger;
}

void RegionControl::await_part() {
  if (warm_from().is_set()) return await(warm_from());
  if (start().is_set()) return await(start());
  due_ = true;
}

/// Executions of code count from now on, also of one that is awaited later. What is counted and not awaited
/// is watched from the beginning on, so that no code must be translated again as counting begins.
void RegionControl::watch(const Trigger& trigger) {
  code_met_ = false;
  const bool is_code = trigger.kind == Trigger::Kind::kCode;
  if (is_code) return code_.watch({trigger.place}, trigger.value);
  if (!region_.counted.empty() && code_.watched().is_idle()) return code_.watch(region_.counted, 0);
  if (region_.counted.empty() && !code_.watched().is_idle()) code_.watch({}, 0);
}

/// If the event is past, the change is due at once.
void RegionControl::await(const Trigger& trigger) {
  awaited_ = trigger;
  switch (trigger.kind) {
    case Trigger::Kind::kNone:
      return;
    case Trigger::Kind::kThread:
      if (threads_ >= trigger.value) is_met();
      return;
    case Trigger::Kind::kTime:
      if (now() >= trigger.value) return is_met();
      return await_time(trigger.value - earlier_);
    case Trigger::Kind::kInstructions:
    case Trigger::Kind::kParallel:
      return look_at_instructions();
    case Trigger::Kind::kMarker:
      if ((started_ ? stops_ : starts_) >= trigger.value) is_met();
      return;
    case Trigger::Kind::kCode:
      if (code_met_) is_met();
      return;
  }
}

void RegionControl::await_time(std::uint64_t at) {
  due_at_ = at;
  timer_ = timers_.add(at, [this] {
    timer_ = {};
    due_at_ = 0;
    is_met();
  });
}

RegionControl::Phase RegionControl::advance() {
  due_ = false;
  awaited_ = {};
  context_.ordering.set_look(kNever);
  timers_.cancel(std::exchange(timer_, {}));
  due_at_ = 0;
  const bool warms_for_start = phase_ == Phase::kBefore && region_.warm_from.is_set();
  if (!started_ && !warms_for_start) {
    started_ = true;
    watch(region_.stop);
  }
  const bool warms_up = phase_ == Phase::kBefore && region_.warm_up != 0;
  if (warms_for_start) {
    phase_ = Phase::kWarmUp;
    await(start());
  } else if (warms_up) {
    phase_ = Phase::kWarmUp;
    await_time(now() - earlier_ + region_.warm_up);
  } else if (phase_ < Phase::kCounted) {
    phase_ = Phase::kCounted;
    if (!region_.counted.empty()) WatchedCode::count_anew();
    if (region_.length != 0) {
      await_time(now() - earlier_ + region_.length);
    } else {
      await(region_.stop);
    }
    is_empty_ = due_;
  } else {
    counted_ = WatchedCode::executions();
    phase_ = Phase::kAfter;
    if (part_ + 1 < region_.parts()) {
      ++part_;
      phase_ = Phase::kBefore;
      started_ = false;
      await_part();
    }
  }
  return phase_;
}

void RegionControl::thread_started() {
  if (++threads_ == 2) second_thread_at_ = context_.instructions();
  if (awaited_.kind == Trigger::Kind::kParallel) look_at_instructions();
  if (awaited_.kind == Trigger::Kind::kThread && threads_ >= awaited_.value) is_met();
  look_for_start();
}

/// A start that comes before its warm-up was to begin ends that at once: the part must not begin late.
void RegionControl::look_for_start() {
  if (phase_ != Phase::kBefore || !awaited_.is_set() || !warm_from().is_set()) return;
  const Trigger from = start();
  const bool met = (from.kind == Trigger::Kind::kThread && threads_ >= from.value) ||
                   (from.kind == Trigger::Kind::kMarker && starts_ >= from.value) ||
                   (from.kind == Trigger::Kind::kCode && code_met_);
  if (met) is_met();
}

void RegionControl::marker(bool ends) {
  if (started_ && ends) ++stops_;
  if (!started_ && !ends) ++starts_;
  if (awaited_.kind == Trigger::Kind::kMarker && (started_ ? stops_ : starts_) >= awaited_.value) is_met();
  look_for_start();
}

void RegionControl::code_reached() {
  code_met_ = true;
  if (awaited_.kind == Trigger::Kind::kCode) is_met();
  look_for_start();
}

void RegionControl::forked() {
  threads_ = 1;
  second_thread_at_ = 0;
  timer_ = {};
  if (due_at_ != 0) await_time(due_at_);
}

/// Looks again when as many instructions as are missing can have been executed at the earliest.
void RegionControl::look_at_instructions() {
  constexpr std::uint64_t kMostInCycle = 8, kLeastCycles = 40;
  const bool is_parallel = awaited_.kind == Trigger::Kind::kParallel;
  if (is_parallel && threads_ < 2) return;
  const std::uint64_t done = context_.instructions() - (is_parallel ? second_thread_at_ : 0);
  if (done >= awaited_.value) return is_met();
  const Cpu* const first = context_.ordering.first();
  if (first == nullptr) return;
  const std::uint64_t earliest = (awaited_.value - done) / (kMostInCycle * context_.cpus.size());
  context_.ordering.set_look(first->clock() + Cycles(std::max(earliest, kLeastCycles)));
}

std::string RegionControl::why_never(const char* option, const Trigger& trigger) const {
  const std::string begin = std::string(option) + " was never reached: ";
  const auto of = [&](std::uint64_t count) {
    return std::to_string(count) + " of " + std::to_string(trigger.value);
  };
  switch (trigger.kind) {
    case Trigger::Kind::kThread:
      return begin + "the program started " + of(threads_) + " threads";
    case Trigger::Kind::kInstructions:
      return begin + "the program executed " + of(context_.instructions()) + " instructions";
    case Trigger::Kind::kParallel:
      if (threads_ < 2) return begin + "the program started no second thread";
      return begin + "the program executed " + of(context_.instructions() - second_thread_at_) +
             " instructions since it started its second thread";
    case Trigger::Kind::kMarker:
      return begin + "the program met " + of(started_ ? stops_ : starts_) + " such markers";
    case Trigger::Kind::kCode:
      if (code_.watched().addresses().empty())
        return begin + "no program or library that ran has '" + trigger.place + "'";
      return begin + "the program executed '" + trigger.place + "' " + of(WatchedCode::executions()) +
             " times";
    default:
      return begin + "the program ended before " + time_text(trigger.value);
  }
}

std::string RegionControl::why_incomplete() const {
  switch (phase_) {
    case Phase::kBefore:
      return warm_from().is_set() ? why_never("--warmup", warm_from()) : why_never("--start", start());
    case Phase::kWarmUp:
      if (!started_) return why_never("--start", start());
      return "the program ended within --warmup " + time_text(region_.warm_up);
    case Phase::kCounted:
      if (region_.length != 0) return "the program ended within --length " + time_text(region_.length);
      return region_.stop.is_set() ? why_never("--stop", region_.stop) : "";
    case Phase::kAfter:
      break;
  }
  return is_empty_ ? "--stop was reached before counting began: nothing was counted" : "";
}

}  // namespace elision::vm
