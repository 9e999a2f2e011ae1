// SPDX-License-Identifier: Apache-2.0
#include "cli/options/tm_modes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "abi/tm_variables.h"
#include "cli/host/install.h"
#include "cli/options/suggest.h"

namespace elision::cli {
namespace {

using abi::TmVariable;

constexpr const char* kMethod = "ITM_DEFAULT_METHOD";
constexpr std::string_view kMethodPrefix = "libitm-";
constexpr std::string_view kLoggedSuffix = "-logged";

const std::vector<std::string>& all_modes() {
  static const std::vector<std::string> kModes = {
      kLibitm, "libitm-serialirr", "libitm-gl_wt", "libitm-ml_wt", "serial",
      "hle",   "hle-scm",          "unsafe-lr",    "ale",          "ale-logged"};
  return kModes;
}

const char* name_of(TmVariable variable) { return abi::row_of(variable).name; }

bool is_retry_rule(const std::string& rule) { return rule == "patient" || rule == "hint"; }

bool is_ours(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::equivalent(file, tm_library(), error);
}

/// Takes out of a list of files or folders those for which `is_wanted` is false.
template <class IsWanted>
void filter(std::vector<std::string>& environment, const std::string& name, const char* separators,
            IsWanted is_wanted) {
  std::string kept;
  const std::string list = variable(environment, name);
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(separators, begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    if (is_wanted(item)) kept += (kept.empty() ? "" : ":") + item;
    begin = end + 1;
  }
  if (kept == list) return;
  kept.empty() ? unset_variable(environment, name) : set_variable(environment, name, kept);
}

/// The user may run with our library in libitm's place.
void take_out_ours(std::vector<std::string>& environment) {
  filter(environment, "LD_PRELOAD", " :", [](const std::string& file) { return !is_ours(file); });
  filter(environment, "LD_LIBRARY_PATH", ":;",
         [](const std::string& folder) { return !is_ours(std::filesystem::path(folder) / "libitm.so.1"); });
}

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

void check_tm_modes(const std::vector<std::string>& modes, const LockOptions& lock,
                    const std::string& retry) {
  for (const std::string& mode : modes) require_tm_mode(mode);
  if (const auto words = as_words(lock); !words.empty())
    throw UsageError(fmt::format("{} is for locks, and has no effect with {}", words.front(), kTm));
  if (!retry.empty() && std::none_of(modes.begin(), modes.end(), needs_hardware))
    throw UsageError(fmt::format("{} has no effect with {} {}", kTmRetry, kTm, fmt::join(modes, ",")));
}

std::vector<std::string> parse_tm_modes(std::string_view list) {
  return parse_names(list, "mode", require_tm_mode);
}

void add_tm_retry(CLI::App& app, std::string& retry) {
  app.add_option(kTmRetry, retry,
                 "with --tm: wait for a held lock or a fallback, then try again in hardware (patient, the "
                 "default); or, as in the ALE paper, try again only if the CPU says that it may succeed "
                 "(hint)")
      ->type_name("patient|hint")
      ->check(CLI::Validator(
          [](const std::string& rule) { return is_retry_rule(rule) ? "" : rule + " is not patient or hint"; },
          ""))
      ->needs(kTm);
}

std::vector<std::string> as_words(const std::string& mode, const std::string& retry) {
  std::vector<std::string> words = {kTm, mode};
  if (!retry.empty() && needs_hardware(mode)) words.insert(words.end(), {kTmRetry, retry});
  return words;
}

void set_tm_variables(std::vector<std::string>& environment, const std::string& mode,
                      const std::string& retry) {
  set_variable(environment, "LD_BIND_NOW", "1");  // binding in a hardware transaction would abort it
  if (is_libitm(mode)) {
    take_out_ours(environment);
    unset_variable(environment, kMethod);
    if (mode != kLibitm) set_variable(environment, kMethod, mode.substr(kMethodPrefix.size()));
    return;
  }
  const bool logged = mode.ends_with(kLoggedSuffix);
  set_variable(environment, name_of(TmVariable::kMode),
               logged ? mode.substr(0, mode.size() - kLoggedSuffix.size()) : mode);
  set_variable(environment, name_of(TmVariable::kFastPath), logged ? "logged" : "two-speed");
  set_variable(environment, name_of(TmVariable::kAcceptUnsafe), "1");
  set_variable(environment, name_of(TmVariable::kRetry), retry.empty() ? "patient" : retry);
}

void set_tm_mode(std::vector<std::string>& environment, const std::string& file, const std::string& mode,
                 const std::string& retry) {
  set_tm_variables(environment, mode, retry);
  if (!is_libitm(mode)) preload_into(file, environment, tm_library());
}

}  // namespace elision::cli
