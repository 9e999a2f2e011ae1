// SPDX-License-Identifier: Apache-2.0
// How the virtual machine gives a running process another lock design: a process that is a copy of a snapshot
// (vm/engine/snapshot.h) goes on with the design of its own run.
//
// The preload library exports one object, elision_design_change. The virtual machine writes settings into it
// and lets the only thread call `function`, like a signal handler. The caller has made sure that the thread
// holds and awaits no lock that the library replaces, and that its own design (`may_become`) leaves free
// locks as the next one expects them.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/lock_designs.h"
#include "abi/thread_activity.h"

namespace elision::abi {

struct DesignChange {
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::size_t kSettingsBytes = 8192;

  std::uint32_t version = kVersion;
  /// The library has set itself up, in its constructor or at the first lock.
  std::uint32_t is_set_up = 0;
  /// A condition variable has been waited for in glibc, which leaves counts in it that only glibc reads.
  std::uint32_t waited_in_glibc = 0;
  /// Of the thread that was known first: null before its first lock.
  const ThreadActivity* activity = nullptr;
  /// Enters as a signal handler and ends by rt_sigreturn.
  void (*function)() = nullptr;
  /// Variables of the library, "NAME=value" each, with a zero behind each and one more at the end.
  char settings[kSettingsBytes] = {};
};

/// Whether a process under `from` can go on under `to`: glibc's locks and ours are alike only as long as they
/// are new. glibc reads the setting for its own elision at the program's start alone.
constexpr bool may_become(const LockDesign& from, const LockDesign& to) {
  const auto is_glibcs = [](const LockDesign& design) { return design.base == LockBase::kPthread; };
  if (from.elision == LockElision::kByGlibc || to.elision == LockElision::kByGlibc) return false;
  return is_glibcs(from) == is_glibcs(to);
}

}  // namespace elision::abi

/// Exported by the preload library.
extern "C" elision::abi::DesignChange elision_design_change;
