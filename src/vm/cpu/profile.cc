// SPDX-License-Identifier: Apache-2.0
// The functions that the timed stubs call, and their accounts. Runs in helpers.
#include "vm/cpu/profile.h"

#include "vm/cpu/helpers.h"
#include "vm/cpu/stubs.h"

namespace elision::vm {

EngineProfile* engine_profile = nullptr;

/// A time stamp as the stubs store it, in two halves. One load of both would stall on store forwarding.
struct Stamp {
  std::uint32_t low, high;
  std::uint64_t ticks() const { return std::uint64_t{high} << 32 | low; }
};

}  // namespace elision::vm

extern "C" {
elision::vm::Stamp elision_profile_arrived;  // when control entered the engine
elision::vm::Stamp elision_profile_left;     // when control left for translated code
}

namespace elision::vm {
namespace {

std::uint64_t now_ticks() { return __builtin_ia32_rdtsc(); }

[[gnu::always_inline]] inline void stamp(Stamp& into) {
  __asm__ volatile("rdtsc" : "=a"(into.low), "=d"(into.high) : : "memory");
}

std::int64_t from_to(std::uint64_t begin, std::uint64_t end) {
  return static_cast<std::int64_t>(end - begin);
}

/// The counts of model and helpers at one time.
struct Counters {
  ModelEvents events;
  std::uint64_t yields, waits;

  explicit Counters(const Cpu& cpu)
      : events(engine_profile->events_of(cpu)), yields(helper_context.yields), waits(helper_context.waits) {}
};

/// One crossing into a helper, from its entry to its return.
class Crossing {
 public:
  explicit Crossing(const Cpu& cpu) : cpu_(cpu), before_(arrived(cpu)) {}

  /// Classifies an access by its rarest event, since it may have had several lines.
  Work access(const Cpu* next) const {
    const Counters after(cpu_);
    if (reinterpret_cast<std::uint64_t>(next) & 1) return Work::kOwnAbort;
    if (after.yields != before_.yields) return after.waits != before_.waits ? Work::kBusyLine : Work::kTurn;
    const ModelEvents found = after.events - before_.events;
    if (found.l3_misses != 0) return Work::kMemory;
    if (found.cache_to_cache != 0) return Work::kCacheToCache;
    if (found.upgrades != 0) return Work::kUpgrade;
    if (found.l2_misses != 0) return Work::kL3;
    if (found.l1_misses != 0) return Work::kL2;
    return found.accesses != 0 ? Work::kModelHit : Work::kPrivateHit;
  }
  bool changed_cpu() const { return helper_context.yields != before_.yields; }
  void leave_after(Work work) const {
    engine_profile->leave_after(work, engine_profile->events_of(cpu_) - before_.events);
  }

 private:
  static Counters arrived(const Cpu& cpu) {
    if (!engine_profile->in_engine()) engine_profile->arrive();
    return Counters(cpu);
  }

  const Cpu& cpu_;
  Counters before_;
};

}  // namespace

EngineProfile::EngineProfile(const machine::Model& model, const Cpu& sample, const Start& start)
    : model_(model) {
  engine_profile = this;
  calibrate(sample);
  restart(start);
}

void EngineProfile::restart(const Start& start) {
  start_ = start;
  clear();
  count(work_);
  first_tick_ = since_;
  if (exit_cpu_ != nullptr) exit_events_ = events_of(*exit_cpu_);
}

void EngineProfile::clear() {
  for (Row& each : rows_) each = Row{};
  since_ = now_ticks();
}

ModelEvents EngineProfile::events_of(const Cpu& cpu) const { return ModelEvents::of(model_.counts(cpu.id)); }

/// Closes the last interval of the engine and that of translated code after it.
void EngineProfile::arrive() {
  const std::uint64_t left = elision_profile_left.ticks();
  const std::uint64_t arrived = elision_profile_arrived.ticks();
  row(work_).ticks += from_to(since_, left);
  row(work_).own += cost_.inside;
  row(Work::kTranslated).ticks += from_to(left, arrived);
  row(Work::kTranslated).own += cost_.outside;
  since_ = arrived;
  in_engine_ = true;
}

/// Counts the engine's current interval as `work`. It ends with the next stamp.
void EngineProfile::leave_after(Work work, const ModelEvents& events) {
  work_ = work;
  Row& done = row(work);
  ++done.count;
  done.events += events;
  in_engine_ = false;
}

void EngineProfile::close() {
  const std::uint64_t now = now_ticks();
  row(work_).ticks += from_to(since_, now);
  row(work_).own += cost_.change;
  since_ = now;
  if (exit_cpu_ == nullptr) return;
  const ModelEvents events = events_of(*exit_cpu_);
  row(work_).events += events - exit_events_;
  exit_events_ = events;
}

void EngineProfile::change_to(Work work) {
  close();
  work_ = work;
}

void EngineProfile::enter_guest() {
  if (exit_cpu_ != nullptr) row(work_).events += events_of(*exit_cpu_) - exit_events_;
  exit_cpu_ = nullptr;
  in_engine_ = false;
}

/// `cpu` has left to the run loop. An ordered exit that had to wait comes twice and counts once.
void EngineProfile::full_exit(Cpu& cpu) {
  const bool again = cpu.exit->reason == ExitReason::kPending;
  const ExitReason reason = again ? cpu.deferred.reason : cpu.exit->reason;
  if (reason == ExitReason::kHostFault) stamp(elision_profile_arrived);  // came through a signal handler
  if (in_engine_) {
    close();  // came through a helper
  } else {
    arrive();
  }
  work_ = static_cast<Work>(static_cast<unsigned>(Work::kExits) + static_cast<unsigned>(reason));
  if (!again) count(work_);
  exit_cpu_ = &cpu;
  exit_events_ = events_of(cpu);
}

/// Measures the least cost of crossings and changes, each repeated back to back. Any further cost of the
/// profile is counted as the engine's.
void EngineProfile::calibrate(const Cpu& sample) {
  constexpr int kBatches = 64, kCrossings = 256;
  Cost least{1 << 30, 1 << 30, 1 << 30};
  const auto keep_less = [](std::int64_t& least, std::int64_t ticks) {
    if (ticks / kCrossings < least) least = ticks / kCrossings;
  };
  for (int batch = 0; batch < kBatches; ++batch) {
    clear();
    in_engine_ = false;
    stamp(elision_profile_left);
    for (int i = 0; i < kCrossings; ++i) {
      stamp(elision_profile_arrived);
      const Crossing crossing(sample);
      crossing.leave_after(crossing.access(&sample));
      stamp(elision_profile_left);
    }
    keep_less(least.inside, row(Work::kPrivateHit).ticks);
    keep_less(least.outside, row(Work::kTranslated).ticks);
    clear();
    for (int i = 0; i < kCrossings; ++i) close();
    keep_less(least.change, row(work_).ticks);
  }
  cost_ = least;
  work_ = Work::kStart;
  in_engine_ = true;
}

}  // namespace elision::vm

using namespace elision::vm;

[[gnu::no_caller_saved_registers]] bool elision_timed_late_load(Cpu* cpu) {
  if (!engine_profile->in_engine()) engine_profile->arrive();
  if (!elision_late_load(cpu)) return false;  // elision_timed_slow_access continues the interval
  engine_profile->leave_after(Work::kLateLine, ModelEvents{});
  return true;
}

Cpu* elision_timed_slow_access(Cpu* cpu) {
  const Crossing crossing(*cpu);
  Cpu* next = elision_slow_access(cpu);
  crossing.leave_after(crossing.access(next));
  return next;
}

Cpu* elision_timed_budget_exhausted(Cpu* cpu) {
  const Crossing crossing(*cpu);
  Cpu* next = elision_budget_exhausted(cpu);
  // Null becomes a full exit, which has its own interval.
  if (next != nullptr) crossing.leave_after(crossing.changed_cpu() ? Work::kBudgetTurn : Work::kBudget);
  return next;
}

Cpu* elision_timed_string_step(Cpu* cpu) {
  const Crossing crossing(*cpu);
  Cpu* next = elision_string_step(cpu);
  const Work found = crossing.access(next);
  const bool stepped = !crossing.changed_cpu() && found != Work::kOwnAbort;
  crossing.leave_after(stepped ? Work::kString : found);
  return next;
}

Cpu* elision_timed_fetch(Cpu* cpu) {
  const Crossing crossing(*cpu);
  Cpu* next = elision_fetch(cpu);
  if (next != nullptr) crossing.leave_after(crossing.changed_cpu() ? Work::kTurn : Work::kFetch);
  return next;
}

void elision_profiled_enter(Cpu* cpu) {
  engine_profile->enter_guest();
  elision_timed_enter(cpu);
  engine_profile->full_exit(*current_cpu());
}
