// SPDX-License-Identifier: Apache-2.0
// What the user asks of `elision compare`, and the options that say it.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/experiment/sample.h"
#include "cli/options/amounts.h"
#include "cli/options/arguments.h"
#include "cli/options/output_format.h"
#include "vm/interface/run_region.h"

namespace elision::cli {

inline constexpr const char* kNative = "native";
inline constexpr const char* kPlan = "--plan";

inline constexpr unsigned kMostThreads = 4096;

/// Of --budget, on a virtual machine, unless the user says what to run.
inline constexpr double kDefaultBudgetSeconds = 300;

struct CompareRequest {
  std::string plan_file;           // of an earlier comparison, which this one repeats
  std::vector<std::string> words;  // the command line, or that of the earlier comparison
  std::string designs;
  std::string tm_modes;  // empty: designs of locks are compared
  std::string threads;
  experiment::Plan plan;
  std::string json_file;
  std::string html_file;
  std::string plot_file;
  nlohmann::json origin;  // what the reports say about repeating the comparison
  OutputFormat format = OutputFormat::kTable;
  double timeout_seconds = 0;
  vm::RunRegion region;
  std::uint32_t variations = 0;  // 0: the machine as it is
  bool explains = true;
  bool whole_run = false;                  // what the program does alone, too
  bool samples_auto = false;               // as many windows as are needed
  unsigned windows = 0;                    // so many; 0: the user says no number
  std::optional<std::uint64_t> window_ns;  // from the user
  unsigned runs = 0;                       // 0: as many as are needed
  std::string budget;                      // as the user wrote it
};

/// The options of the verb, which write into `request`.
std::unique_ptr<CLI::App> compare_options(CompareRequest& request);

}  // namespace elision::cli
