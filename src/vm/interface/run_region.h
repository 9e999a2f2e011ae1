// SPDX-License-Identifier: Apache-2.0
// The part of a run that is simulated in full. In front of it and behind it the machine runs in fast mode: no
// caches, no conflicts, and virtual time is a number of instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace elision::vm {

/// The exit code of a process that ended well but did not run through its region.
inline constexpr int kNotMeasuredExitCode = 2;

/// An event in the life of a process.
///
/// Markers are instructions by which a program says that a part of its run begins or ends:
/// - Sniper's XCHG BX, BX with 1 (begins) or 2 (ends) in RAX (sim_api.h: SIM_CMD_ROI_START, SIM_CMD_ROI_END),
///   which a CPU executes without effect. elision_simulation_start() and elision_simulation_stop() execute
///   it.
/// - gem5's m5_work_begin() and m5_work_end() (m5ops.h), which are undefined instructions on a CPU.
struct Trigger {
  enum class Kind : std::uint8_t {
    kNone,
    kThread,        // as its thread number `value` starts; the first one is main's
    kTime,          // `value` nanoseconds after the start of the machine
    kInstructions,  // as the process has executed so many, to within a few hundred for each CPU
    kParallel,      // the same, counted since the second thread started
    kMarker,        // at marker number `value` of its kind
    kCode,          // as the instruction at `place` is to be executed for the time number `value`
  };

  Kind kind = Kind::kNone;
  std::uint64_t value = 0;
  /// A function: its symbol as the file has it, or the demangled name, with or without parameters. Or
  /// 0xADDRESS, or +0xADDRESS as the file itself counts addresses. OBJECT! in front names the program or
  /// library.
  std::string place{};

  bool is_set() const { return kind != Kind::kNone; }
};

/// Without a start, the region begins with the process; without a stop or a length, it ends with it. Times
/// are in nanoseconds.
///
/// With later starts, a run has several parts of the same length, in fast mode between them. Each is counted
/// by itself. A start that has passed when its part is due is met at once.
struct RunRegion {
  Trigger start, stop;
  Trigger warm_from{};        // from then until the start, simulated and not counted; by time or instructions
  std::uint64_t warm_up = 0;  // simulated after the start, and not counted; not with `warm_from`
  std::uint64_t length = 0;   // instead of a stop; 0: none
  /// Values of `start` and `warm_from` for the parts behind the first one. Only with a length.
  std::vector<std::uint64_t> later_starts{}, later_warm_from{};
  bool ends_process = false;  // at the end of the last part, with exit code 0, instead of in fast mode
  /// Places as in Trigger, whose executions are counted; those in a transaction as it commits. Not if start
  /// or stop is code.
  std::vector<std::string> counted{};

  bool is_set() const { return start.is_set() || stop.is_set() || warm_up != 0 || length != 0; }
  std::size_t parts() const { return 1 + later_starts.size(); }
  bool uses_markers() const {
    return start.kind == Trigger::Kind::kMarker || stop.kind == Trigger::Kind::kMarker;
  }
};

}  // namespace elision::vm
