// SPDX-License-Identifier: Apache-2.0
// Facts in words: the source, the value, the meaning. Pure.
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

/// The kind of always-abort transactions available here, by the library's name: "virtual-cpu", "nested-rtm"
/// or "none".
const char* always_abort_kind(const Facts& facts, const Diagnosis& diagnosis);

}  // namespace elision::cli::doctor
