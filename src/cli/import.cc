// SPDX-License-Identifier: Apache-2.0
// `elision import`: makes a profile of a file of `perf record`, for the verbs that read profiles.
#include <fmt/format.h>

#include <filesystem>

#include "base/printable.h"
#include "base/whole_file.h"
#include "cli/host/console.h"
#include "cli/host/output_file.h"
#include "cli/host/shell_words.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/profile_file.h"
#include "cli/verbs.h"
#include "profile/perf_import.h"

namespace elision::cli {
namespace {

constexpr std::size_t kMostPerfBytes = std::size_t{4} << 30;
constexpr const char* kDefaultPerfFile = "perf.data";

struct ImportRequest {
  std::string file = kDefaultPerfFile;
  std::string output = kDefaultProfile;
};

std::unique_ptr<CLI::App> import_options(ImportRequest& request) {
  auto app = make_app("elision import [OPTION...] [FILE]",
                      "Makes a profile of a file of Linux's perf record, with its call paths and aborts.");
  app->add_option("-o,--output", request.output,
                  fmt::format("write the profile there (default: {})", kDefaultProfile))
      ->type_name("FILE");
  app->add_option("FILE", request.file, fmt::format("a file of perf record (default: {})", kDefaultPerfFile))
      ->type_name("");
  return app;
}

/// The words behind perf's "--", or those that perf was called with.
std::vector<std::string> program_in(const std::vector<std::string>& command, const std::string& path) {
  const auto dashes = std::find(command.begin(), command.end(), "--");
  if (dashes != command.end() && dashes + 1 != command.end()) return {dashes + 1, command.end()};
  return command.empty() ? std::vector<std::string>{path} : command;
}

/// Returns the remarks that the user should read about the result; empty if there are none.
std::string remarks_of(const profile::PerfFile& file, const profile::PerfImport& imported) {
  std::string text;
  const auto add = [&text](const std::string& remark) { text += (text.empty() ? "" : "; ") + remark; };
  if (!file.damage().empty()) add(fmt::format("{}, so later records may be missing", file.damage()));
  if (imported.other_samples > 0)
    add(fmt::format("{:.0f} samples are of events that a profile has no place for", imported.other_samples));
  if (imported.other_processes > 0)
    add(fmt::format("{:.0f} samples of time are of other processes than the one with most",
                    imported.other_processes));
  return text;
}

}  // namespace

std::unique_ptr<CLI::App> import_app() {
  static ImportRequest request;
  return import_options(request);
}

int import_verb(const Words& words) {
  ImportRequest request;
  const auto app = import_options(request);
  if (!parse_options(*app, words)) return 0;
  std::error_code unknown;
  if (std::filesystem::equivalent(request.file, request.output, unknown))
    throw UsageError(fmt::format("'{}' cannot be both the file and the profile", request.file));
  const auto bytes = read_whole_file(request.file, kMostPerfBytes);
  if (!bytes) refuse_file(request.file, fmt::format("cannot be read: {}", bytes.error()));
  const auto file = profile::PerfFile::parse(*bytes);
  if (!file) refuse_file(request.file, file.error());
  require_writable(request.output);
  std::string remarks;
  or_discard(request.output, [&] {
    profile::PerfImport imported = profile::import_perf(*file);
    if (imported.time_samples + imported.abort_samples == 0)
      refuse_file(request.file, file->damage().empty()
                                    ? "has no samples of time or aborts"
                                    : fmt::format("has no samples of time or aborts: {}", file->damage()));
    remarks = remarks_of(*file, imported);
    write_output(request.output, profile_text({program_in(file->command(), request.file), kPerf,
                                               kUnknownDesign, std::move(imported.profile)}));
    return 0;
  });
  if (!remarks.empty()) tell("import", printable(remarks));
  if (request.output != "-")
    tell("import",
         fmt::format("wrote {}; 'elision report{}' shows it", request.output,
                     request.output == kDefaultProfile ? "" : " " + quoted_for_shell({request.output})));
  return 0;
}

}  // namespace elision::cli
