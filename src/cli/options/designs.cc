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

/// "htm-10" of "htm-N".
std::string with_number(std::string form, const char* number) {
  const std::size_t at = form.find('N');
  return at == std::string::npos ? form : form.replace(at, 1, number);
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

std::string design_forms(bool (*is_wanted)(std::string_view design)) {
  std::vector<std::string> forms;
  for (const std::string& form : all_forms())
    if (is_wanted(with_number(form, "1"))) forms.push_back(form);
  if (forms.size() < 2) return forms.empty() ? "no design" : forms.front();
  return fmt::format("{} and {}", fmt::join(forms.begin(), forms.end() - 1, ", "), forms.back());
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

bool speculates_by_distance(std::string_view design) { return speculates(design) && is_fifo(design); }

bool speculates_with_priority(std::string_view design) {
  return design_of(design).wait == abi::LockWait::kSpeculatingWithPriority;
}

bool retries(std::string_view design) {
  return design_of(design).elision == abi::LockElision::kRetries || queues_conflicts(design);
}

bool queues_conflicts(std::string_view design) {
  return design_of(design).elision == abi::LockElision::kConflictsQueue;
}

std::vector<std::string> example_designs() {
  std::vector<std::string> examples;
  for (const std::string& form : all_forms()) {
    examples.push_back(with_number(form, "1"));
    if (const std::string other = with_number(form, "10"); other != examples.back())
      examples.push_back(other);
  }
  return examples;
}

void require_design(std::string_view name) {
  abi::LockDesign design;
  if (abi::find_lock_design(std::string(name).c_str(), design)) return;
  throw unknown_name("lock design", name, example_designs());
}

std::vector<std::string> parse_designs(std::string_view list) {
  return parse_names(list, "lock design", require_design);
}

}  // namespace elision::cli
