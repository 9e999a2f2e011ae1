// SPDX-License-Identifier: Apache-2.0
// What a process leaves behind in the statistics directory: one JSON file, claimed at its start
// (so that the numbers are in start order) and written once at its end, whole or not at all.
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

  /// Claims a file, if statistics are wanted. In a forked child it is another one, and all counts begin anew.
  void claim();
  /// An instruction that is not supported, by its kind; true if it is the first of them.
  bool count_unsupported(const std::string& kind) { return ++unsupported_instructions_[kind] == 1; }
  /// A failure of the engine tells of this file, or, in a vfork child, of none.
  void announce_to_failure(bool own) const;
  /// Writes the file that was claimed, once. `profile` may be null. An error as errno has it, or 0.
  int write(const std::string& program, int exit_status, bool deadlocked,
            const nlohmann::ordered_json& profile);
  /// The file that was claimed, or nothing.
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
