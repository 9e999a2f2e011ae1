// SPDX-License-Identifier: Apache-2.0
// A row of a table of remarks: its condition and its text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/doctor/diagnosis.h"

namespace elision::cli::doctor {

struct Rule {
  const char* name;
  bool (*holds)(const Facts& f, const Diagnosis& d);
  std::string (*text)(const Facts& f);
};

/// The remarks whose condition holds, in the table's order.
template <std::size_t kCount>
std::vector<Remark> that_hold(const Rule (&rules)[kCount], const Facts& facts, const Diagnosis& diagnosis) {
  std::vector<Remark> remarks;
  for (const Rule& rule : rules) {
    if (rule.holds(facts, diagnosis)) remarks.push_back({rule.name, rule.text(facts)});
  }
  return remarks;
}

}  // namespace elision::cli::doctor
