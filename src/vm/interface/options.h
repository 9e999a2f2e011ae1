// SPDX-License-Identifier: Apache-2.0
// The options of `elision vm`, parsed once by the command line and passed unchanged to every process that the
// guest starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vm/interface/run_region.h"

namespace elision::vm {

struct Options {
  std::string machine;  // a built-in name or the path of a machine file
  unsigned cpus = 0;    // 0: as many as the machine has
  std::uint64_t seed = 1;
  std::uint32_t variation = 0;  // which draw of the machine's uncertain values; 0: the best guesses
  std::string stats_directory;  // each process writes NNNN.json here; empty: no statistics
  std::uint64_t date_seconds = 1'767'225'600;  // the wall clock at the start, since 1970; this is 2026-01-01
  std::uint64_t run_ahead_cycles = 1000;
  bool fast = false;               // no timing model: time is a number of instructions
  RunRegion region;                // what is simulated in full; not with `fast`
  bool fast_path = true;           // false: every access takes the slow path (for tests)
  bool conflict_detection = true;  // false: transactions never conflict (for tests that must fail)
  bool profile = false;            // report at the end where host time went (profile.h)
  bool lock_times = false;         // statistics say where threads spent their time at locks
  bool record_forms = false;       // statistics list the forms of instructions met (instruction_form.h)
  /// The process runs up to the region's start and then serves copies of itself there, at this path
  /// (engine/snapshot_server.h). Empty: it runs on.
  std::string serves{};
  std::string crash_reports = "stderr";  // destination of crash reports: this, "none", or a file
  std::string command;                   // repeats the whole run, for reports
  std::vector<std::string> preload;      // objects for the guest's LD_PRELOAD, in front of its own
};

}  // namespace elision::vm
