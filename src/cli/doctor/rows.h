// SPDX-License-Identifier: Apache-2.0
// Facts in words: what was looked at, what was found, what that means. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/diagnosis.h"
#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

struct Row {
  std::string section;  // where it was looked up: "CPU", "kernel"
  std::string name;
  std::string value;
  std::string meaning;  // empty: the value says it all
};

std::vector<Row> rows_of(const Facts& facts, const Diagnosis& diagnosis);

/// How always-abort transactions can be made here: "virtual-cpu", "nested-rtm" or "none", as the library
/// names them.
const char* always_abort_kind(const Facts& facts, const Diagnosis& diagnosis);

}  // namespace elision::cli::doctor
