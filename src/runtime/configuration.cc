// SPDX-License-Identifier: Apache-2.0
#include "runtime/configuration.h"

#include <sys/auxv.h>

#include <cstdlib>
#include <cstring>

namespace elision::runtime {
namespace {

using abi::LockVariable;

constexpr char kElidedPrefix[] = "htm-";
constexpr std::size_t kElidedPrefixLength = sizeof kElidedPrefix - 1;
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

/// Sets base, speculates and, for htm-N, tries. False: no design has this name.
bool parse_design(const char* name, Configuration& configuration) {
  struct Row {
    const char* name;
    Base base;
    bool speculates;
  };
  static constexpr Row kRows[] = {
      {"pthread", Base::kPthread, false},    {"tatas", Base::kTatas, false},
      {"ticket", Base::kTicket, false},      {"tatas-aahtm", Base::kTatas, true},
      {"ticket-aahtm", Base::kTicket, true},
  };
  for (const Row& row : kRows) {
    if (std::strcmp(name, row.name) != 0) continue;
    configuration.base = row.base;
    configuration.speculates = row.speculates;
    return true;
  }
  if (std::strncmp(name, kElidedPrefix, kElidedPrefixLength) != 0) return false;
  std::uint32_t tries = 0;
  if (!parse_number(name + kElidedPrefixLength, tries) || tries == 0) return false;
  configuration.base = Base::kElided;
  configuration.parameters.tries = tries;
  return true;
}

const char* nothing_set(const char*) { return nullptr; }
const char* from_environment(const char* name) { return std::getenv(name); }

}  // namespace

Configuration parse_configuration(Lookup lookup) {
  const Reader reader(lookup);
  Configuration result;
  result.parameters.tries = reader.number(LockVariable::kTries);
  result.parameters.max_distance = reader.number(LockVariable::kMaxDist);
  result.parameters.min_distance = reader.number(LockVariable::kMinDist);
  result.parameters.busy_inside = reader.is(LockVariable::kBusy, "inside");
  result.parameters.busy_counts = reader.is(LockVariable::kBusyCounts, "1");
  result.parameters.abort_at_unlock = reader.is(LockVariable::kSpeculation, "abort-at-unlock");
  result.wait_spins = reader.is(LockVariable::kWait, "spin");
  result.rtm_always_abort = reader.is(LockVariable::kRtmAlwaysAbort, "1");
  result.verbose = reader.is(LockVariable::kVerbose, "1");
  const char* directory = reader.text(LockVariable::kCountersDir);
  result.counters_directory = *directory != '\0' ? directory : nullptr;
  result.asked_design = reader.text(LockVariable::kLock);
  result.unknown_design = !parse_design(result.asked_design, result);
  return result;
}

Configuration read_configuration() {
  return parse_configuration(getauxval(AT_SECURE) != 0 ? nothing_set : from_environment);
}

const char* design_name(const Configuration& configuration) {
  return configuration.unknown_design ? abi::row_of(LockVariable::kLock).default_value
                                      : configuration.asked_design;
}

}  // namespace elision::runtime
