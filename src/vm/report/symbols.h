// SPDX-License-Identifier: Apache-2.0
// Names and call chains of guest code, for messages (profile/names.h, profile/unwinder.h), with guest memory
// read through guest_memory.h. Made only when a report is written.
//
// Allocates and opens files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profile/unwinder.h"
#include "vm/interface/guest_state.h"

namespace elision::vm {

using Frame = profile::CallStep;

/// The registers of a thread and the innermost part of its stack, at an earlier moment.
struct StackCopy {
  std::uint64_t gpr[kGprCount] = {};
  std::uint64_t pc = 0;
  std::vector<std::uint8_t> bytes{};  // from the stack pointer on
};

class Symbols {
 public:
  /// `memory_map` is the guest's own, as /proc/self/maps shows it.
  explicit Symbols(const std::string& memory_map);
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  /// The call chain that leads to `state`, innermost first, at most `limit` steps.
  std::vector<Frame> backtrace(const GuestState& state, std::size_t limit);
  /// The same as of that moment; ends where the copy does.
  std::vector<Frame> backtrace(const StackCopy& copy, std::size_t limit);
  /// The steps outside of the lock library's own calls (profile/call_paths.h).
  std::vector<std::uint64_t> places_outside_library(const std::vector<Frame>& chain) const;
  /// "0x401136 crash_here+0x16 at crash.c:12 (program)", or the known part of that.
  std::string describe(const Frame& frame) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace elision::vm
