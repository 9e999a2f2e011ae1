// SPDX-License-Identifier: Apache-2.0
#include "runtime/configuration.h"

#include <sys/auxv.h>

#include <cstring>

#include "runtime/start.h"

namespace elision::runtime {
namespace {

using abi::LockVariable;

constexpr std::uint32_t kMostTries = 1000000;

/// A decimal number up to kMostTries; false if `text` is not one.
bool parse_number(const char* text, std::uint32_t& number) {
  if (*text == '\0') return false;
  std::uint32_t value = 0;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') return false;
    value = value * 10 + static_cast<std::uint32_t>(*text - '0');
    if (value > kMostTries) return false;
  }
  number = value;
  return true;
}

class Reader {
 public:
  explicit Reader(Lookup lookup) : lookup_(lookup) {}

  const char* text(LockVariable variable) const {
    const abi::LockVariableRow& row = abi::row_of(variable);
    const char* value = lookup_(row.name);
    return value != nullptr && *value != '\0' ? value : row.default_value;
  }
  bool is(LockVariable variable, const char* word) const { return std::strcmp(text(variable), word) == 0; }
  std::uint32_t number(LockVariable variable) const {
    std::uint32_t value = 0;
    if (!parse_number(text(variable), value)) parse_number(abi::row_of(variable).default_value, value);
    return value;
  }

 private:
  Lookup lookup_;
};

/// What an elided design does while the lock is held.
locks::Busy busy_of(const Reader& reader, const abi::LockDesign& design) {
  if (design.elision == abi::LockElision::kOnceUnlessBusy) return locks::Busy::kFallBack;
  if (reader.is(LockVariable::kBusy, "inside")) return locks::Busy::kInside;
  if (reader.is(LockVariable::kBusy, "abort")) return locks::Busy::kAbort;
  return locks::Busy::kOutside;
}

const char* nothing_set(const char*) { return nullptr; }

/// Whether the environment shows a tool that watches the program and would be misled by our locks.
bool tool_would_be_misled(Lookup lookup) {
  // rr sets this in recorded programs. It can neither replay transactions nor count what they undo.
  const char* recorded = lookup("RUNNING_UNDER_RR");
  if (recorded != nullptr && *recorded == '1') return true;
  // valgrind's race detectors see only the locks that glibc's functions take.
  const char* preloaded = lookup("LD_PRELOAD");
  return preloaded != nullptr && (std::strstr(preloaded, "vgpreload_helgrind") != nullptr ||
                                  std::strstr(preloaded, "vgpreload_drd") != nullptr);
}

ConditionKind condition_of(const Reader& reader) {
  if (reader.is(LockVariable::kCondition, "glibc")) return ConditionKind::kGlibc;
  if (reader.is(LockVariable::kCondition, "aware")) return ConditionKind::kAware;
  if (reader.is(LockVariable::kCondition, "busy")) return ConditionKind::kBusy;
  return ConditionKind::kAuto;
}

}  // namespace

void switch_off(Configuration& configuration) {
  configuration.off = true;
  configuration.design = {};
}

Configuration parse_configuration(Lookup lookup) {
  const Reader reader(lookup);
  Configuration result;
  result.asked_design = reader.text(LockVariable::kLock);
  result.unknown_design = !abi::find_lock_design(result.asked_design, result.design);
  if (reader.is(LockVariable::kOff, "1") || tool_would_be_misled(lookup)) switch_off(result);

  locks::Parameters& parameters = result.parameters;
  parameters.elision_tries = result.design.elision == abi::LockElision::kConflictsQueue
                                 ? reader.number(LockVariable::kScmTries)
                                 : result.design.tries;
  parameters.speculation_tries = reader.number(LockVariable::kTries);
  parameters.max_distance = reader.number(LockVariable::kMaxDist);
  parameters.min_distance = reader.number(LockVariable::kMinDist);
  parameters.most_warm = reader.number(LockVariable::kMaxSpecs);
  parameters.subscribes = reader.is(LockVariable::kSubscribe, "1");
  parameters.pauses = reader.number(LockVariable::kPauses);
  parameters.busy = busy_of(reader, result.design);
  parameters.busy_counts = reader.is(LockVariable::kBusyCounts, "1");
  parameters.backs_off = reader.is(LockVariable::kRetry, "back-off");
  parameters.abort_at_unlock = reader.is(LockVariable::kSpeculation, "abort-at-unlock");
  result.wait_spins = reader.is(LockVariable::kWait, "spin");
  result.exclusive_rwlocks = reader.is(LockVariable::kRwlock, "exclusive");
  result.condition = condition_of(reader);
  result.rtm_always_abort = reader.is(LockVariable::kRtmAlwaysAbort, "1");
  result.hides_rtm = reader.is(LockVariable::kHideRtm, "1");
  result.transactions = !reader.is(LockVariable::kTransactions, "0");
  result.notes_glibc = reader.is(LockVariable::kActivity, "1");
  result.call_paths = reader.number(LockVariable::kCallPaths);
  result.verbose = reader.is(LockVariable::kVerbose, "1");
  const char* directory = reader.text(LockVariable::kCountersDir);
  result.counters_directory = *directory != '\0' ? directory : nullptr;
  return result;
}

Configuration read_configuration() {
  return parse_configuration(getauxval(AT_SECURE) != 0 ? nothing_set : environment_variable);
}

const char* design_name(const Configuration& configuration) {
  return configuration.unknown_design || configuration.off ? abi::row_of(LockVariable::kLock).default_value
                                                           : configuration.asked_design;
}

}  // namespace elision::runtime
