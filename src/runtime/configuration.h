// SPDX-License-Identifier: Apache-2.0
// The library's configuration from the environment (abi/lock_variables.h), parsed once.
//
// Never fails: an unknown design means `pthread` and is recorded; an unknown value of another variable
// means its default. No allocation, no output.
#pragma once

#include <cstdint>

#include "abi/lock_designs.h"
#include "abi/lock_variables.h"
#include "locks/parameters.h"

namespace elision::runtime {

/// How condition variables wait (runtime/condition.h).
enum class ConditionKind { kAuto, kGlibc, kAware, kBusy };

struct Configuration {
  const char* asked_design = nullptr;  // as the user wrote it
  bool unknown_design = false;
  bool off = false;  // see switch_off
  bool transactions = true;
  bool hides_rtm = false;  // htm::detect_cpu
  abi::LockDesign design;
  bool wait_spins = false;
  bool exclusive_rwlocks = false;
  ConditionKind condition = ConditionKind::kAuto;
  bool rtm_always_abort = false;
  bool notes_glibc = false;      // under pthread and glibc-elision, ThreadActivity is kept too
  std::uint32_t call_paths = 0;  // samples in a second of each thread's CPU time (runtime/call_paths.h)
  bool verbose = false;
  const char* counters_directory = nullptr;  // null: none
  locks::Parameters parameters{};
};

/// Leaves all locks to glibc: for the off switch, for a recorder that cannot follow transactions, and for a
/// race detector that would not see our locks.
void switch_off(Configuration& configuration);

/// Looks a variable up; null if it is not set.
using Lookup = const char* (*)(const char* name);

/// Parses what `lookup` finds. The strings must outlive the result.
Configuration parse_configuration(Lookup lookup);

/// The configuration of this process; under AT_SECURE that of an empty environment.
Configuration read_configuration();

/// The name of the design that `configuration` selects, whether the CPU has HTM or not.
const char* design_name(const Configuration& configuration);

}  // namespace elision::runtime
