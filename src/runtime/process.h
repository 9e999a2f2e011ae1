// SPDX-License-Identifier: Apache-2.0
// The state of the library in this process: set up once, by the constructor or by the first lock
// operation, whichever comes first, and read only from then on.
#pragma once

#include "htm/cpu.h"
#include "runtime/configuration.h"
#include "runtime/region.h"

namespace elision::runtime {

/// Who answers for objects of some kind.
enum class Owner { kNotYetKnown, kOriginal, kUs };

struct Process {
  Configuration configuration;
  htm::CpuFeatures cpu;
  unsigned files_at_start = 0;  // loaded with the program, ours not counted (loaded_files.h)
  unsigned cpus = 0;            // that it might use when the library was loaded; 1 if not known
  abi::AlwaysAbortKind always_abort = abi::AlwaysAbortKind::kNone;
  bool elides = false;                   // htm-N with live RTM
  Owner locks = Owner::kNotYetKnown;     // mutexes of any design but glibc's own
  Owner barriers = Owner::kNotYetKnown;  // in designs whose waiters speculate
  bool used_fallback = false;            // a design that wants HTM, on a machine without it
  alignas(64) Region region;             // written now and then; what is above is read inside transactions
};

extern constinit Process process;

enum class SetUp { kDone, kRunning };

/// Sets the library up if nobody did; waits if another thread does. kRunning: the calling thread itself
/// is in the middle of it (a replaced malloc locked a mutex).
SetUp ensure_set_up();

/// Whether locks, or barriers, that are not pthread mutexes are ours too.
inline bool owns(Owner Process::*kind) {
  if (process.*kind == Owner::kNotYetKnown) [[unlikely]]
    ensure_set_up();
  return process.*kind == Owner::kUs;
}

/// What must happen in the child of a fork (process, region, calling thread).
void after_fork_in_child();

/// Sets the library up and registers the fork handler: the constructor's work.
void set_up_at_load();

}  // namespace elision::runtime
