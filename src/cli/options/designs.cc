// SPDX-License-Identifier: Apache-2.0
#include "cli/options/designs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>

#include <algorithm>

#include "abi/lock_designs.h"
#include "abi/lock_variables.h"
#include "cli/doctor/knowledge.h"
#include "cli/host/parse.h"
#include "cli/options/suggest.h"

namespace elision::cli {
namespace {

/// The design called `name`, or that of `pthread`.
abi::LockDesign design_of(std::string_view name) {
  abi::LockDesign design;
  abi::find_lock_design(std::string(name).c_str(), design);
  return design;
}

std::vector<std::string> all_forms() {
  std::vector<std::string> forms;
  for (const abi::LockDesignRow& row : abi::kLockDesigns) forms.emplace_back(row.name);
  return forms;
}

}  // namespace

const std::vector<std::string>& default_designs() {
  static const std::vector<std::string> kDesigns = {"pthread", "tatas",       "ticket",      "htm-1",
                                                    "htm-10",  "tatas-aahtm", "ticket-aahtm"};
  return kDesigns;
}

std::string design_forms() {
  const std::vector<std::string> forms = all_forms();
  return fmt::format("{} or {}", fmt::join(forms.begin(), forms.end() - 1, ", "), forms.back());
}

bool elides(std::string_view design) { return design_of(design).elides() && !is_elided_by_glibc(design); }

unsigned tries_of(std::string_view design) {
  if (design_of(design).elision != abi::LockElision::kConflictsQueue) return design_of(design).tries;
  return number_of<unsigned>(abi::row_of(abi::LockVariable::kScmTries).default_value).value_or(0);
}

bool is_elided_by_glibc(std::string_view design) {
  return design_of(design).elision == abi::LockElision::kByGlibc;
}

std::string missing_in_glibc(std::string_view design) {
  if (!is_elided_by_glibc(design)) return {};
  const char* version = gnu_get_libc_version();
  if (doctor::glibc_elision(version) == doctor::GlibcElision::kTunable) return {};
  return fmt::format("glibc {} has no elision of its own that can be switched on", version);
}

bool leaves_rwlocks(std::string_view design) { return design_of(design).base == abi::LockBase::kPthread; }

bool leaves_mutexes(std::string_view design) { return leaves_rwlocks(design) && !speculates(design); }

bool is_fifo(std::string_view design) { return design_of(design).base == abi::LockBase::kTicket; }

bool speculates(std::string_view design) { return design_of(design).speculates(); }

std::vector<std::string> example_designs() {
  std::vector<std::string> examples;
  for (const std::string& form : all_forms()) {
    const std::size_t number = form.find('N');
    if (number == std::string::npos) {
      examples.push_back(form);
    } else {
      for (const char* value : {"1", "10"}) examples.push_back(std::string(form).replace(number, 1, value));
    }
  }
  return examples;
}

void require_design(std::string_view name) {
  abi::LockDesign design;
  if (abi::find_lock_design(std::string(name).c_str(), design)) return;
  throw unknown_name("lock design", name, example_designs());
}

std::vector<std::string> parse_designs(std::string_view list) {
  std::vector<std::string> designs;
  for (const std::string& word : split_list(list, ',')) {
    const std::string name = without_blanks(word);
    require_design(name);
    if (std::find(designs.begin(), designs.end(), name) != designs.end())
      throw UsageError(fmt::format("lock design '{}' is named twice", name));
    designs.push_back(name);
  }
  return designs;
}

}  // namespace elision::cli
