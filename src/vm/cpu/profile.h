// SPDX-License-Identifier: Apache-2.0
// `elision vm --profile`: where the host's time goes while a guest process runs.
//
// The profile divides the host's time into intervals. One ends where control crosses between translated code
// and the engine, or where the engine changes to another kind of work. Each interval belongs to one kind of
// work, so the times of all kinds add up to the total. With a profile, the stub table holds the timed stubs
// (profile_stubs.S), which stamp each crossing, and elision_profiled_enter() replaces elision_enter().
// Without one, none of this code runs. A profile changes nothing that the guest or the model can see.
//
// The profile measures its own cost at the start, accounts for it separately and subtracts it.
//
// profile.cc runs in helpers (helpers.h); profile_report.cc prints the profile.
#pragma once

#include <cstdint>

#include "machine/model.h"
#include "vm/cpu/exit.h"

namespace elision::vm {

struct Cpu;

/// Kinds of work. A full exit is kExits + ExitReason.
enum class Work : std::uint8_t {
  kStart,       // before the guest's first instruction
  kTranslated,  // translated code with its filter look-ups
  // Slow accesses, by what they found:
  kLateLine,    // a load of a line on its way: records when it arrives
  kPrivateHit,  // a local hit in L1, or in the filter after all
  kModelHit,    // an L1 hit on a hot or prefetched line, an atomic, or the first in a transaction
  kUpgrade,     // a line without write permission
  kL2,          // a line in L2, L3, memory or another core's cache
  kL3,
  kMemory,
  kCacheToCache,
  kOwnAbort,     // the access aborted the CPU's own transaction
  kTurn,         // change of CPU: another is behind
  kBusyLine,     // change of CPU: the line is busy, or the CPU must stall first
  kBudgetTurn,   // change of CPU: this one has run ahead as far as it may
  kBudget,       // a new budget for the same CPU
  kFetch,        // code lines that missed in L1I
  kString,       // a step of REP MOVS or REP STOS
  kTranslation,  // the translator
  kKernel,       // system calls
  kOutside,      // no CPU runs: waits for other processes, input or time
  kExits,
};
inline constexpr unsigned kWorkKinds =
    static_cast<unsigned>(Work::kExits) + static_cast<unsigned>(ExitReason::kCount);

/// Events in the model during some work: a part of machine::CpuCounts.
struct ModelEvents {
  std::uint64_t accesses = 0, l1_misses = 0, l2_misses = 0, l3_misses = 0, cache_to_cache = 0, upgrades = 0;

  static ModelEvents of(const machine::CpuCounts& c) {
    return {c.loads_slow + c.stores_slow + c.atomics,
            c.l1_misses,
            c.l2_misses,
            c.l3_misses,
            c.cache_to_cache,
            c.upgrades};
  }
  ModelEvents operator-(const ModelEvents& o) const {
    return {accesses - o.accesses,   l1_misses - o.l1_misses,           l2_misses - o.l2_misses,
            l3_misses - o.l3_misses, cache_to_cache - o.cache_to_cache, upgrades - o.upgrades};
  }
  void operator+=(const ModelEvents& o) {
    accesses += o.accesses, l1_misses += o.l1_misses, l2_misses += o.l2_misses;
    l3_misses += o.l3_misses, cache_to_cache += o.cache_to_cache, upgrades += o.upgrades;
  }
};

class EngineProfile {
 public:
  struct Row {
    std::uint64_t count = 0;
    std::int64_t ticks = 0;  // of the host's time stamp counter; signed, so that errors cancel out
    std::int64_t own = 0;    // the profile's part of them
    ModelEvents events;
  };

  /// Counts of others when the profile began.
  struct Start {
    std::uint64_t clock_ns = 0;      // the host's clock
    std::uint64_t cpu_ns = 0;        // CPU time of this process
    std::uint64_t instructions = 0;  // of the guest
  };

  /// Measures its own cost and begins. `sample` is any CPU of the model.
  EngineProfile(const machine::Model& model, const Cpu& sample, const Start& start);
  /// Begins again, in a forked child.
  void restart(const Start& start);

  /// Closes the current interval; the next belongs to `work`.
  void change_to(Work work);
  Work work() const { return work_; }
  void count(Work work) { ++row(work).count; }

  // For the timed helpers (profile.cc).
  bool in_engine() const { return in_engine_; }
  void arrive();
  void leave_after(Work work, const ModelEvents& events);
  void enter_guest();
  void full_exit(Cpu& cpu);
  ModelEvents events_of(const Cpu& cpu) const;

  /// Brings the rows up to date: closes the current interval and begins another of the same work.
  void close();
  const Row& row(unsigned work) const { return rows_[work]; }
  const Start& start() const { return start_; }
  /// Time from the start to the end of the last closed interval.
  std::uint64_t ticks() const { return since_ - first_tick_; }

 private:
  struct Cost {
    std::int64_t inside = 0, outside = 0, change = 0;
  };
  Row& row(Work work) { return rows_[static_cast<unsigned>(work)]; }
  void calibrate(const Cpu& sample);
  void clear();

  const machine::Model& model_;
  Row rows_[kWorkKinds];
  Cost cost_;
  std::uint64_t since_ = 0;  // start of the current interval
  Work work_ = Work::kStart;
  bool in_engine_ = true;
  const Cpu* exit_cpu_ = nullptr;  // the CPU whose full exit is being handled
  ModelEvents exit_events_;        // of that CPU at its exit
  Start start_;
  std::uint64_t first_tick_ = 0;
};

/// Null without --profile.
extern EngineProfile* engine_profile;

/// Work within a full exit that has its own row.
class ProfileScope {
 public:
  explicit ProfileScope(Work work) {
    if (engine_profile == nullptr) return;
    outer_ = engine_profile->work();
    engine_profile->count(work);
    engine_profile->change_to(work);
  }
  ~ProfileScope() {
    if (engine_profile != nullptr) engine_profile->change_to(outer_);
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Work outer_ = Work::kStart;
};

}  // namespace elision::vm

extern "C" {
/// Replaces elision_enter().
void elision_profiled_enter(elision::vm::Cpu* cpu);

// profile_stubs.S: the stubs of stubs.h with time stamps.
void elision_timed_enter(elision::vm::Cpu* cpu);
void elision_timed_stub_slow_access();
void elision_timed_stub_budget();
void elision_timed_stub_string();
void elision_timed_stub_exit();
void elision_timed_stub_fetch();
[[gnu::no_caller_saved_registers]] bool elision_timed_late_load(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_timed_slow_access(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_timed_budget_exhausted(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_timed_string_step(elision::vm::Cpu* cpu);
elision::vm::Cpu* elision_timed_fetch(elision::vm::Cpu* cpu);
}
