// SPDX-License-Identifier: Apache-2.0
#include "cli/options/lock_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "abi/lock_variables.h"
#include "cli/host/parse.h"
#include "cli/options/arguments.h"
#include "cli/options/designs.h"
#include "cli/options/suggest.h"

namespace elision::cli {
namespace {

using abi::LockVariable;

using Designs = bool (*)(std::string_view design);

struct TextOption {
  const char* option;
  LockVariable variable;
  std::string LockOptions::*member;
  std::vector<std::string> choices;  // empty: a number
  Designs readers;  // the designs that the option changes; null: all, or see without_effect()
};

struct FlagOption {
  const char* option;
  LockVariable variable;
  bool LockOptions::*member;
  Designs readers;
};

const std::vector<TextOption>& text_options() {
  static const std::vector<TextOption> kOptions = {
      {"--wait", LockVariable::kWait, &LockOptions::wait, {"park", "spin"}, nullptr},
      {"--busy", LockVariable::kBusy, &LockOptions::busy, {"inside", "outside", "abort"}, retries},
      {"--retry", LockVariable::kRetry, &LockOptions::retry, {"at-once", "back-off"}, retries},
      {"--speculation",
       LockVariable::kSpeculation,
       &LockOptions::speculation,
       {"run-on", "abort-at-unlock"},
       speculates},
      {"--tries", LockVariable::kTries, &LockOptions::tries, {}, speculates},
      {"--max-dist", LockVariable::kMaxDist, &LockOptions::max_dist, {}, speculates_by_distance},
      {"--min-dist", LockVariable::kMinDist, &LockOptions::min_dist, {}, speculates_by_distance},
      {"--max-specs", LockVariable::kMaxSpecs, &LockOptions::max_specs, {}, speculates_with_priority},
      {"--pauses", LockVariable::kPauses, &LockOptions::pauses, {}, speculates_by_distance},
      {"--scm-tries", LockVariable::kScmTries, &LockOptions::scm_tries, {}, queues_conflicts},
      {"--rwlock", LockVariable::kRwlock, &LockOptions::rwlock, {"shared", "exclusive"}, nullptr},
      {"--condition",
       LockVariable::kCondition,
       &LockOptions::condition,
       {"auto", "glibc", "aware", "busy"},
       nullptr},
  };
  return kOptions;
}

const std::vector<FlagOption>& flag_options() {
  static const std::vector<FlagOption> kOptions = {
      {"--busy-counts", LockVariable::kBusyCounts, &LockOptions::busy_counts, retries},
      {"--subscribe", LockVariable::kSubscribe, &LockOptions::subscribe, speculates_by_distance},
      {"--rtm-always-abort", LockVariable::kRtmAlwaysAbort, &LockOptions::rtm_always_abort, speculates},
  };
  return kOptions;
}

std::string help_of(const TextOption& option) {
  const abi::LockVariableRow& row = abi::row_of(option.variable);
  return fmt::format("{} (default: {})", row.meaning, row.default_value);
}

constexpr std::uint64_t kMostTries = 1'000'000;  // as many as the library takes

void check(const TextOption& option, const std::string& value) {
  if (value.empty()) return;
  if (option.choices.empty()) {
    whole_number(option.option, value, 0, kMostTries);
  } else if (std::find(option.choices.begin(), option.choices.end(), value) == option.choices.end()) {
    throw unknown_name(std::string("value for ") + option.option, value, option.choices);
  }
}

/// The value of `variable` in our environment, which the program inherits; empty: none.
std::string inherited(LockVariable variable) {
  const char* const value = std::getenv(abi::row_of(variable).name);
  return value != nullptr ? value : "";
}

/// What the library will use: an option precedes the environment.
std::string effective(LockVariable variable, const std::string& asked) {
  if (!asked.empty()) return asked;
  const std::string value = inherited(variable);
  return value.empty() ? abi::row_of(variable).default_value : value;
}

/// A number that the library will use, and the words that set it.
struct Distance {
  Distance(const char* option, LockVariable variable, const std::string& asked) {
    const abi::LockVariableRow& row = abi::row_of(variable);
    const auto known = number_of<std::uint64_t>(inherited(variable));
    if (asked.empty() && known && *known <= kMostTries) {
      value = *known;
      words = fmt::format("{}={}", row.name, value);
    } else {
      value = number_of<std::uint64_t>(asked.empty() ? row.default_value : asked).value_or(0);
      words = fmt::format("{} {}", option, value);
    }
  }

  std::uint64_t value = 0;
  std::string words;
};

/// Mutexes and reader-writer locks are the library's own.
bool has_own_locks(std::string_view design) { return !leaves_rwlocks(design); }

/// Options that would silently do nothing beside the others.
void check_together(const LockOptions& options) {
  const Distance nearest("--min-dist", LockVariable::kMinDist, options.min_dist);
  const Distance farthest("--max-dist", LockVariable::kMaxDist, options.max_dist);
  const bool is_asked = !options.min_dist.empty() || !options.max_dist.empty();
  if (is_asked && nearest.value >= farthest.value)
    throw UsageError(fmt::format("{} is not below {}: no waiter is that far", nearest.words, farthest.words));
  if (options.busy_counts && effective(LockVariable::kBusy, options.busy) != "inside")
    throw UsageError("--busy-counts has no effect without --busy inside");
}

}  // namespace

void add_lock_options(CLI::App& app, LockOptions& options) {
  for (const TextOption& option : text_options()) {
    app.add_option(option.option, options.*option.member, help_of(option))
        ->type_name(option.choices.empty() ? "NUMBER" : fmt::format("{}", fmt::join(option.choices, "|")));
  }
  for (const FlagOption& option : flag_options())
    app.add_flag(option.option, options.*option.member, abi::row_of(option.variable).meaning);
}

void check_lock_options(const LockOptions& options) {
  for (const TextOption& option : text_options()) check(option, options.*option.member);
  check_together(options);
}

std::vector<std::string> without_effect(const LockOptions& options, const std::vector<std::string>& designs) {
  struct Rule {
    bool is_asked;
    Designs concerns;
    const char* option;
    const char* why;
  };
  const bool spins = effective(LockVariable::kWait, options.wait) == "spin";
  const Rule rules[] = {
      {options.rwlock == "exclusive", leaves_rwlocks, "--rwlock exclusive",
       "whose reader-writer locks are the C library's"},
      {options.condition == "aware", leaves_mutexes, "--condition aware",
       "whose mutexes are the C library's"},
      {options.condition == "glibc", spins ? has_own_locks : is_fifo, "--condition glibc",
       "whose mutexes the C library's condition variables cannot take"},
  };
  std::vector<std::string> notes;
  const auto note_unread = [&](const char* option, bool is_asked, Designs readers) {
    if (is_asked && readers != nullptr && std::none_of(designs.begin(), designs.end(), readers))
      notes.push_back(fmt::format("{} changes nothing for {}: it is for {}", option, fmt::join(designs, ", "),
                                  design_forms(readers)));
  };
  for (const TextOption& option : text_options())
    note_unread(option.option, !(options.*option.member).empty(), option.readers);
  for (const FlagOption& option : flag_options())
    note_unread(option.option, options.*option.member, option.readers);
  for (const Rule& rule : rules) {
    std::vector<std::string> concerned;
    if (rule.is_asked)
      std::copy_if(designs.begin(), designs.end(), std::back_inserter(concerned), rule.concerns);
    if (!concerned.empty())
      notes.push_back(
          fmt::format("{} changes nothing for {}, {}", rule.option, fmt::join(concerned, ", "), rule.why));
  }
  return notes;
}

Variables lock_variables(const std::string& design, const LockOptions& options) {
  Variables variables = {{abi::row_of(LockVariable::kLock).name, design}};
  for (const TextOption& option : text_options()) {
    if (!(options.*option.member).empty())
      variables.emplace_back(abi::row_of(option.variable).name, options.*option.member);
  }
  for (const FlagOption& option : flag_options()) {
    if (options.*option.member) variables.emplace_back(abi::row_of(option.variable).name, "1");
  }
  return variables;
}

void set_lock_variables(std::vector<std::string>& environment, const std::string& design,
                        const LockOptions& options) {
  constexpr const char* kTunables = "GLIBC_TUNABLES";
  constexpr const char* kElisionOn = "glibc.elision.enable=1";
  for (const auto& [name, value] : lock_variables(design, options)) set_variable(environment, name, value);
  if (!is_elided_by_glibc(design)) return;
  const std::string present = variable(environment, kTunables);
  set_variable(environment, kTunables, present.empty() ? kElisionOn : present + ":" + kElisionOn);
}

std::vector<std::string> as_words(const LockOptions& options) {
  std::vector<std::string> words;
  for (const TextOption& option : text_options()) {
    if (!(options.*option.member).empty()) {
      words.insert(words.end(), {option.option, options.*option.member});
    }
  }
  for (const FlagOption& option : flag_options()) {
    if (options.*option.member) words.push_back(option.option);
  }
  return words;
}

}  // namespace elision::cli
