// SPDX-License-Identifier: Apache-2.0
// State that the parts of the engine share: the machine, its CPUs, their ordering, virtual time, the kernel.
#pragma once

#include <memory>
#include <vector>

#include "machine/description.h"
#include "machine/model.h"
#include "profile/account.h"
#include "vm/cpu/cpu.h"
#include "vm/cpu/ordering.h"
#include "vm/interface/engine_services.h"

namespace elision::vm {

class Kernel;

struct EngineContext {
  machine::Description machine;
  Ordering ordering;
  std::vector<Cpu*> cpus{};
  std::unique_ptr<machine::Model> model{};
  bool fast = false;                    // no CPU runs timed code
  bool watches_part_markers = false;    // translated code leaves at markers (run_region.h)
  std::uint32_t recorded_branches = 0;  // kinds (BranchKind)
  std::uint32_t counted_accesses = 0;   // kinds (CountedAccess)
  Kernel* kernel = nullptr;             // set before the first thread exists
  Cycles idle_time{0};                  // virtual time while no CPU runs
  profile::Account* account = nullptr;  // with Options::lock_times

  Cycles cycles_of(Nanoseconds time) const;
  Nanoseconds nanoseconds_of(Cycles time) const;
  /// The time-stamp counter.
  std::uint64_t ticks_of(Cycles time) const;
  /// The time at which the kernel acts.
  Cycles kernel_time() const {
    const Cpu* cpu = ordering.running();
    return cpu != nullptr ? cpu->clock() : idle_time;
  }
  /// Guest instructions that all CPUs have executed.
  std::uint64_t instructions() const;
};

/// Makes `count` CPUs of `context.machine` and pairs those that share a core. Unused parts of their memory
/// are never touched. Throws std::bad_alloc.
void make_cpus(EngineContext& context, unsigned count);

}  // namespace elision::vm
