// SPDX-License-Identifier: Apache-2.0
// The common part of the case studies: options, shares of the work (conflict_free.h), the end of a run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "command_line.h"
#include "conflict_free.h"

namespace workloads {

struct CaseOptions {
  std::string variant = "original";
  unsigned threads = 1;
  std::uint64_t seed = 1;
  bool no_pin = false;
};

/// `threads`: says which threads these are.
inline void add_case_options(CommandLine& line, CaseOptions& options,
                             const std::vector<std::string>& variants, const std::string& threads = "") {
  line.add("--variant", options.variant, "the program as it was, or changed").one_of(variants);
  line.add("--threads", options.threads, threads).within(1, 256);
  line.add("--seed", options.seed, "of the input");
  line.add_flag("--no-pin", options.no_pin, "threads may move between CPUs");
}

/// Returns 0, or prints the complaint of a check as one line and returns 1. `complaint`: empty if all is
/// right.
inline int exit_code(const std::string& complaint) {
  if (complaint.empty()) return 0;
  std::printf("%s\n", complaint.c_str());
  return 1;
}

}  // namespace workloads
