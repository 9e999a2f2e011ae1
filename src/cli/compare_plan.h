// SPDX-License-Identifier: Apache-2.0
// What `elision compare` has chosen and run, written so that --plan repeats it on any host: the rounds that a
// comparison has, and with a budget its windows, depend on how fast the host was.
//
// The plan is the object "plan" of a JSON report. It has the words of the command line, what was chosen where
// they leave a choice, each run by number of threads, round and design, and which windows shared a process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/experiment/sample.h"
#include "cli/verbs.h"

namespace elision::cli {

struct OldPlan {
  Words words;        // behind `elision compare`
  std::string where;  // machine
  std::vector<std::string> designs;
  std::vector<std::optional<unsigned>> thread_counts;
  experiment::Part part;
  unsigned first_rounds = 0, most_rounds = 0;
  std::vector<experiment::Cell> cells;  // without seeds and variations
};

/// null: a word is not UTF-8, which JSON cannot hold.
nlohmann::json plan_json(const experiment::Plan& plan, const Words& words,
                         const std::vector<experiment::Result>& results);

/// The plan in `file`: a report of `elision compare`, or such an object alone. Throws UsageError if it is
/// none.
OldPlan read_plan(const std::string& file);

/// Makes `plan`, which comes from the same words, machine and designs, run what `old` says. Throws UsageError
/// that names `file` if it cannot.
void repeat(const OldPlan& old, const std::string& file, experiment::Plan& plan);

}  // namespace elision::cli
