// SPDX-License-Identifier: Apache-2.0
#include "cli/options/tm_modes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "abi/tm_variables.h"
#include "cli/host/install.h"
#include "cli/host/parse.h"
#include "cli/options/suggest.h"

namespace elision::cli {
namespace {

using abi::TmVariable;

constexpr std::string_view kMethodPrefix = "libitm-";
constexpr std::string_view kLoggedSuffix = "-logged";

const std::vector<std::string>& all_modes() {
  static const std::vector<std::string> kModes = {
      kLibitm, "libitm-serialirr", "libitm-gl_wt", "libitm-ml_wt", "serial",
      "hle",   "hle-scm",          "unsafe-lr",    "ale",          "ale-logged"};
  return kModes;
}

const char* name_of(TmVariable variable) { return abi::row_of(variable).name; }

}  // namespace

const std::vector<std::string>& default_tm_modes() {
  static const std::vector<std::string> kModes = {
      kLibitm, "libitm-serialirr", "libitm-gl_wt", "libitm-ml_wt", "serial", "hle", "hle-scm", "ale"};
  return kModes;
}

std::string tm_mode_forms() {
  const std::vector<std::string>& modes = all_modes();
  return fmt::format("{} or {}", fmt::join(modes.begin(), modes.end() - 1, ", "), modes.back());
}

bool is_libitm(std::string_view mode) { return mode == kLibitm || mode.starts_with(kMethodPrefix); }

bool needs_hardware(std::string_view mode) { return !is_libitm(mode) && mode != "serial"; }

void require_tm_mode(std::string_view name) {
  const std::vector<std::string>& modes = all_modes();
  if (std::find(modes.begin(), modes.end(), name) == modes.end())
    throw unknown_name("mode of transactional memory", name, modes);
}

void check_no_lock_options(const LockOptions& lock) {
  if (const auto words = as_words(lock); !words.empty())
    throw UsageError(fmt::format("{} is for locks, and has no effect with {}", words.front(), kTm));
}

void check_tm_mode(std::string_view name, const LockOptions& lock) {
  require_tm_mode(name);
  check_no_lock_options(lock);
}

std::vector<std::string> parse_tm_modes(std::string_view list) {
  std::vector<std::string> modes;
  for (const std::string& word : split_list(list, ',')) {
    const std::string name = without_blanks(word);
    if (name.empty())
      throw UsageError(fmt::format("a mode of transactional memory is missing in '{}'", list));
    require_tm_mode(name);
    if (std::find(modes.begin(), modes.end(), name) != modes.end())
      throw UsageError(fmt::format("mode '{}' is named twice", name));
    modes.push_back(name);
  }
  return modes;
}

void add_tm_retry(CLI::App& app, std::string& retry) {
  app.add_option(
         kTmRetry, retry,
         "with --tm: another try in hardware also after a held lock or a fallback, which is waited for "
         "(patient, the default); or, as the ALE paper, only where the CPU says so (hint)")
      ->type_name("patient|hint")
      ->check(CLI::IsMember({"patient", "hint"}))
      ->needs(kTm);
}

void set_tm_variables(std::vector<std::string>& environment, const std::string& mode,
                      const std::string& retry) {
  if (mode.starts_with(kMethodPrefix))
    set_variable(environment, "ITM_DEFAULT_METHOD", mode.substr(kMethodPrefix.size()));
  if (is_libitm(mode)) return;
  const bool logged = mode.ends_with(kLoggedSuffix);
  set_variable(environment, name_of(TmVariable::kMode),
               logged ? mode.substr(0, mode.size() - kLoggedSuffix.size()) : mode);
  set_variable(environment, name_of(TmVariable::kFastPath), logged ? "logged" : "two-speed");
  set_variable(environment, name_of(TmVariable::kAcceptUnsafe), "1");
  if (!retry.empty()) set_variable(environment, name_of(TmVariable::kRetry), retry);
}

void set_tm_mode(std::vector<std::string>& environment, const std::string& file, const std::string& mode,
                 const std::string& retry) {
  set_tm_variables(environment, mode, retry);
  if (!is_libitm(mode)) preload_into(file, environment, tm_library());
}

}  // namespace elision::cli
