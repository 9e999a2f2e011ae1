// SPDX-License-Identifier: Apache-2.0
// The statistics file of a process: JSON in the statistics directory. The process claims the file at its
// start, so that file numbers are in order of start, and writes it once at its end, completely or not at all.
// If a run has several parts, each has a directory of its own in that, "1" and so on, with one such file of
// each process that was there, written as the part ends, and with the counters of the lock library.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "vm/engine/code_manager.h"
#include "vm/engine/engine_context.h"
#include "vm/engine/scheduler.h"
#include "vm/interface/options.h"

namespace elision::vm {

/// What the region's control has counted.
struct RegionCounts {
  std::uint64_t calls = 0;             // of RunRegion::counted
  std::uint64_t second_thread_at = 0;  // instructions executed before it; 0: no second thread
};

class Statistics {
 public:
  /// The references must outlive this object.
  Statistics(const Options& options, std::string machine_name, const EngineContext& context,
             const Scheduler& scheduler, const CodeManager& code)
      : options_(options),
        machine_name_(std::move(machine_name)),
        context_(context),
        scheduler_(scheduler),
        code_(code) {
    region_.reached = !options.region.is_set();
  }

  /// Claims a file if statistics are requested. A forked child claims another one and drops the counts.
  void claim();
  /// In the copy of a snapshot, whose options are its own.
  void begin_anew();
  /// Counts an unsupported instruction. Returns true if it is the first of its kind.
  bool count_unsupported(const std::string& kind) { return ++unsupported_instructions_[kind] == 1; }
  /// Counts from now on, and no longer: the region of the run (run_region.h). `now`: in nanoseconds, for the
  /// reader.
  void begin_region(Nanoseconds now);
  void end_region();
  /// The part has been written. Claims the next one's file.
  void next_part();
  /// A process whose region is over without it.
  void count_nothing();
  /// What the timing model has counted of the region, on all CPUs.
  machine::CpuCounts modelled() const;
  /// Tells the failure handler the name of this file, or, in a vfork child (`own` false), none.
  void announce_to_failure(bool own) const;
  /// Writes the claimed file, once. No exit status: the process runs on. `profile` and `lock_times` may be
  /// null. Returns 0 or an errno value.
  int write(const std::string& program, std::optional<int> exit_status, bool deadlocked,
            const nlohmann::ordered_json& profile, const nlohmann::ordered_json& lock_times,
            const RegionCounts& counts);
  /// The claimed file, or an empty string.
  const std::string& file() const { return file_; }

 private:
  /// What the machine has counted until some moment.
  struct Totals {
    machine::CpuCounts counts{};
    machine::CpuCounts modelled{};  // without those of fast mode
    std::uint64_t instructions = 0, mispredictions = 0;
    std::uint64_t ordered_events = 0, out_of_order = 0, waits_for_order = 0, waits_for_lines = 0;
    std::uint64_t flushes = 0;
    Cycles last{0};  // the latest clock
  };
  struct CpuTotals {
    machine::CpuCounts counts{};
    std::uint64_t instructions = 0;
  };
  struct Counted {
    Totals totals;
    std::vector<CpuTotals> cpus;
  };
  struct Region {
    bool reached = false;
    bool counts_nothing = false;
    Nanoseconds begin = 0;
    Counted before;
    std::optional<Counted> until;                                      // set at its end
    nlohmann::ordered_json threads = nlohmann::ordered_json::array();  // until then
  };

  Counted counted() const;
  nlohmann::ordered_json threads() const;
  std::string directory() const;
  void claim_file();
  void copy_lock_counters(const char* suffix) const;
  void copy_counters_at_end() const;
  nlohmann::ordered_json cpu_rows(const Counted& until) const;

  const Options& options_;
  std::string machine_name_;
  const EngineContext& context_;
  const Scheduler& scheduler_;
  const CodeManager& code_;
  std::string file_;                                               // claimed, and not written yet
  std::map<std::string, std::uint64_t> unsupported_instructions_;  // by kind
  Region region_;
  std::size_t part_ = 0;
  bool is_copy_ = false;  // of a snapshot
};

}  // namespace elision::vm
