// SPDX-License-Identifier: Apache-2.0
// The state of the library in this process: set up once, by the constructor or by the first lock
// operation, whichever comes first, and read only from then on.
#pragma once

#include "htm/cpu.h"
#include "runtime/configuration.h"
#include "runtime/region.h"

namespace elision::runtime {

/// Who serves objects of a kind.
enum class Owner { kNotYetKnown, kOriginal, kUs };

struct Process {
  Configuration configuration;
  htm::CpuFeatures cpu;
  unsigned files_at_start = 0;  // loaded with the program, without ours (loaded_files.h)
  unsigned cpus = 0;            // usable when the library was loaded; 1 if not known
  abi::AlwaysAbortKind always_abort = abi::AlwaysAbortKind::kNone;
  bool elides = false;                   // htm-N with live RTM
  Owner locks = Owner::kNotYetKnown;     // ours unless the design leaves mutexes to glibc
  Owner barriers = Owner::kNotYetKnown;  // ours in designs whose waiters speculate
  bool used_fallback = false;            // the design needs HTM, and the CPU has none
  alignas(64) Region region;             // written now and then; transactions read the members above
};

extern constinit Process process;

enum class SetUp { kDone, kRunning };

/// Sets the library up once; waits if another thread does it. kRunning: the calling thread is in the middle
/// of it (a replaced malloc locked a mutex).
SetUp ensure_set_up();

/// Whether locks other than pthread mutexes, or barriers, are ours too.
inline bool owns(Owner Process::*kind) {
  if (process.*kind == Owner::kNotYetKnown) [[unlikely]]
    ensure_set_up();
  return process.*kind == Owner::kUs;
}

/// Resets process, region and calling thread in the child of a fork.
void after_fork_in_child();

/// Goes on with another configuration (abi/design_change.h). The calling thread is the only one; it holds and
/// awaits no lock.
void start_anew(const Configuration& configuration);

/// Sets the library up and registers the fork handler: the constructor's work.
void set_up_at_load();

}  // namespace elision::runtime
