// SPDX-License-Identifier: Apache-2.0
// The statistics file of a process: JSON in the statistics directory. The process claims the file at its
// start, so that file numbers are in order of start, and writes it once at its end, completely or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "vm/engine/code_manager.h"
#include "vm/engine/engine_context.h"
#include "vm/engine/scheduler.h"
#include "vm/interface/options.h"

namespace elision::vm {

class Statistics {
 public:
  /// The references must outlive this object.
  Statistics(const Options& options, std::string machine_name, const EngineContext& context,
             const Scheduler& scheduler, const CodeManager& code)
      : options_(options),
        machine_name_(std::move(machine_name)),
        context_(context),
        scheduler_(scheduler),
        code_(code) {}

  /// Claims a file if statistics are requested. A forked child claims another one and drops the counts.
  void claim();
  /// Counts an unsupported instruction. Returns true if it is the first of its kind.
  bool count_unsupported(const std::string& kind) { return ++unsupported_instructions_[kind] == 1; }
  /// Tells the failure handler the name of this file, or, in a vfork child (`own` false), none.
  void announce_to_failure(bool own) const;
  /// Writes the claimed file, once. `profile` and `lock_times` may be null. Returns 0 or an errno value.
  int write(const std::string& program, int exit_status, bool deadlocked,
            const nlohmann::ordered_json& profile, const nlohmann::ordered_json& lock_times);
  /// The claimed file, or an empty string.
  const std::string& file() const { return file_; }

 private:
  const Options& options_;
  std::string machine_name_;
  const EngineContext& context_;
  const Scheduler& scheduler_;
  const CodeManager& code_;
  std::string file_;                                               // claimed, and not written yet
  std::map<std::string, std::uint64_t> unsupported_instructions_;  // by kind
};

}  // namespace elision::vm
