// SPDX-License-Identifier: Apache-2.0
// Follows calls from a thread's registers and its stack, by the unwinding rules of the files that the program
// has mapped (call_rules.h); by elfutils' libdwfl, which takes a hundred times as long, where they are
// complex.
//
// Where there are none (a wild jump, code made at run time, assembly), looks for the caller at the stack
// pointer, as right after a call, then at the frame pointer. Only an address behind a call instruction
// counts.
//
// Allocates and opens files. Memory and files may hold anything: a chain ends where it cannot be followed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "profile/call_rules.h"
#include "profile/names.h"

namespace elision::profile {

/// A step of a call chain.
struct CallStep {
  std::uint64_t pc = 0;
  bool returns_here = false;  // `pc` is a return address: the call lies before it
  /// An address inside of the instruction that calls, or that was to be executed.
  std::uint64_t place() const { return returns_here ? pc - 1 : pc; }
};

/// The innermost part of a stack at an earlier moment, from the stack pointer on.
struct StackBytes {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
};

class Unwinder {
 public:
  /// Copies bytes of the program's memory; false: they cannot be read.
  using ReadMemory = std::function<bool(std::uint64_t address, void* to, std::size_t bytes)>;

  /// Who steps over frames with simple rules. That libdwfl does is for tests: both find the same.
  enum class Steps { kOwn, kByLibrary };
  /// `names` must outlive it.
  Unwinder(const Names& names, ReadMemory read, Steps steps = Steps::kOwn);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  /// The call chain, innermost first, at most `limit` steps. `stack`: ends where the copy does; null: of the
  /// memory as it is.
  std::vector<CallStep> backtrace(const DwarfRegisters& registers, const StackBytes* stack,
                                  std::size_t limit);
  /// True if the code at `pc` is libc's restorer of signal frames.
  bool is_signal_return(std::uint64_t pc) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace elision::profile
