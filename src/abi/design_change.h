// SPDX-License-Identifier: Apache-2.0
// How the virtual machine changes the lock design of a running process: a copy of a snapshot
// (vm/engine/snapshot_server.h) goes on with the design of its own run.
//
// The preload library exports one object, elision_design_change. The virtual machine writes settings into it,
// and lets the process's only thread call `function` like a signal handler. Before that it checks that the
// thread neither holds nor awaits a lock that the library replaces, and that the next design can use free
// locks of this one (may_become).
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
  /// A thread has waited in glibc for a condition variable: the variable holds counts that only glibc reads.
  std::uint32_t waited_in_glibc = 0;
  /// Of the first thread that took a lock, of this library or of libelision-api; null before that.
  const ThreadActivity* activity = nullptr;
  /// Enters as a signal handler and ends by rt_sigreturn.
  void (*function)() = nullptr;
  /// Variables of the library, "NAME=value" each, with a zero behind each and one more at the end.
  char settings[kSettingsBytes] = {};
};

/// Whether a process under `from` can go on under `to`. glibc's locks look like ours only until they are
/// used. glibc reads the setting for its own elision only at the program's start.
constexpr bool may_become(const LockDesign& from, const LockDesign& to) {
  const auto is_glibcs = [](const LockDesign& design) { return design.base == LockBase::kPthread; };
  if (from.elision == LockElision::kByGlibc || to.elision == LockElision::kByGlibc) return false;
  return is_glibcs(from) == is_glibcs(to);
}

}  // namespace elision::abi

/// Exported by the preload library.
extern "C" elision::abi::DesignChange elision_design_change;
