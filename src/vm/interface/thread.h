// SPDX-License-Identifier: Apache-2.0
// A guest thread, as engine and kernel share it.
#pragma once

#include <cstdint>

#include "vm/interface/guest_state.h"

namespace elision::vm {

/// State that the kernel keeps of a thread (linux/process/kernel_thread.h).
struct KernelThread;

/// A fault as the hardware reports it: vector, error code, and CR2 of the last page fault.
struct Trap {
  std::uint64_t number = 0;
  std::uint64_t error = 0;
  std::uint64_t address = 0;

  static constexpr std::uint64_t kPageFault = 14;
  static constexpr std::uint64_t kPresent = 1, kUser = 4, kFetch = 16;  // bits of a page fault's error code
};

/// A guest thread. `state` is exact whenever the kernel sees the thread.
struct Thread {
  GuestState state;
  Trap trap;                                   // the last one, which every signal frame shows
  int tid = 0;                                 // as the guest sees it
  std::uint64_t affinity[2] = {~0ull, ~0ull};  // CPUs it may run on; CPU i is bit i
  KernelThread* kernel = nullptr;
  void* engine = nullptr;  // the engine's own data
};

}  // namespace elision::vm
