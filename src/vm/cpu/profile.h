// SPDX-License-Identifier: Apache-2.0
// Where the host's time goes while a guest process runs: `elision vm --profile`.
//
// The host's time is one line. It is cut where control crosses between translated code and the engine, and
// within the engine where one kind of work gives way to another; each piece belongs to exactly one kind, so
// the kinds' times add up to the whole. With a profile, the table through which translated code reaches the
// engine names the timed stubs (profile_stubs.S), which stamp each crossing, and elision_profiled_enter()
// stands for elision_enter(). Without one none of this runs, and the code in its place is the same as if
// there were no profiles. A profile changes nothing that the guest or the model could see.
//
// What the profile itself costs is measured when it begins, kept apart, and taken off.
//
// profile.cc runs in helpers (helpers.h); profile_report.cc tells people.
#pragma once

#include <cstdint>

#include "machine/model.h"
#include "vm/cpu/exit.h"

namespace elision::vm {

struct Cpu;

/// What the host was doing. Full exits follow: kExits + ExitReason.
enum class Work : std::uint8_t {
  kStart,       // before the guest's first instruction
  kTranslated,  // translated code, its look-ups in the filter included
  kLateLine,    // slow accesses, by what they found: a line on its way that only had to be noted,
  kPrivateHit,  // a hit that nobody can notice,
  kModelHit,    // a line in L1 that is hot or was prefetched, an atomic's, or new to the transaction,
  kUpgrade,     // a line without the permission to write,
  kL2,          // a line in L2, in L3, in memory, in another core's cache;
  kL3,
  kMemory,
  kCacheToCache,
  kOwnAbort,     // no room for the line: the CPU's own transaction ended
  kTurn,         // changes of CPU: others are behind,
  kBusyLine,     // the line is busy, or the CPU itself must stop first,
  kBudgetTurn,   // the CPU has run ahead as far as it may
  kBudget,       // a new budget for the same CPU
  kFetch,        // lines of code that L1I did not have
  kString,       // a step of REP MOVS or REP STOS
  kTranslation,  // making translated code
  kKernel,       // the guest's operating system
  kOutside,      // nothing to run: waits for other processes, input, or time
  kExits,
};
inline constexpr unsigned kWorkKinds =
    static_cast<unsigned>(Work::kExits) + static_cast<unsigned>(ExitReason::kCount);

/// What the model counted during some work; a part of machine::CpuCounts.
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
    std::int64_t ticks = 0;  // of the host's time stamp counter; signed, so that what is off cancels out
    std::int64_t own = 0;    // of these, the profile's
    ModelEvents events;
  };

  /// What others had counted when a profile began.
  struct Start {
    std::uint64_t clock_ns = 0;      // the host's clock
    std::uint64_t cpu_ns = 0;        // CPU time of this process
    std::uint64_t instructions = 0;  // of the guest
  };

  /// Measures its own cost and begins. `sample` is any CPU of the model's.
  EngineProfile(const machine::Model& model, const Cpu& sample, const Start& start);
  /// Begins anew: in a forked child.
  void restart(const Start& start);

  /// Closes the present piece; the next belongs to `work`.
  void change_to(Work work);
  Work work() const { return work_; }
  void count(Work work) { ++row(work).count; }

  // For the functions that stand between the border and what they time (profile.cc).
  bool in_engine() const { return in_engine_; }
  void arrive();
  void leave_after(Work work, const ModelEvents& events);
  void enter_guest();
  void full_exit(Cpu& cpu);
  ModelEvents events_of(const Cpu& cpu) const;

  /// Closes the present piece, which goes on: what the rows say is then up to date.
  void close();
  const Row& row(unsigned work) const { return rows_[work]; }
  const Start& start() const { return start_; }
  /// From the start to the end of the last piece that was closed.
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
  std::uint64_t since_ = 0;  // the present piece begins
  Work work_ = Work::kStart;
  bool in_engine_ = true;
  const Cpu* exit_cpu_ = nullptr;  // whose full exit is being served
  ModelEvents exit_events_;        // of that CPU, when it left
  Start start_;
  std::uint64_t first_tick_ = 0;
};

/// Null without --profile.
extern EngineProfile* engine_profile;

/// Work within a full exit that is to be told apart from the rest of it.
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
/// For elision_enter().
void elision_profiled_enter(elision::vm::Cpu* cpu);

// profile_stubs.S: what stubs.h has, timed.
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
