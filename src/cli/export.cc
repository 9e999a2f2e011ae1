// SPDX-License-Identifier: Apache-2.0
// `elision export`: the call paths of a profile as a file of another tool.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "cli/compare_request.h"
#include "cli/host/console.h"
#include "cli/host/json_text.h"
#include "cli/host/output_file.h"
#include "cli/host/shell_words.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/options/suggest.h"
#include "cli/profile_file.h"
#include "cli/show/table.h"
#include "cli/verbs.h"
#include "profile/export_firefox.h"
#include "profile/export_folded.h"
#include "profile/export_pprof.h"
#include "profile/export_rows.h"
#include "profile/export_speedscope.h"

namespace elision::cli {
namespace {

namespace fs = std::filesystem;

profile::Origin origin_of(const ProfileFile& file) {
  const std::string place = file.where == kNative ? "on a real CPU" : "on virtual " + file.where;
  return {file.program.empty() ? "" : file.program.front(), quoted_for_shell(file.program),
          fmt::format("{} under {}", place, file.design), "elision " ELISION_VERSION};
}

std::string pprof_text(const ProfileFile& file) { return profile::pprof_file(file.profile, origin_of(file)); }

std::string firefox_text(const ProfileFile& file) {
  return json_line(profile::firefox_json(file.profile, origin_of(file))) + "\n";
}

std::string speedscope_text(const ProfileFile& file) {
  return json_line(profile::speedscope_json(file.profile, origin_of(file))) + "\n";
}

std::string folded_text(const ProfileFile& file) { return profile::folded_text(file.profile); }

std::string rows_text(const ProfileFile& file) {
  return json_text(nlohmann::ordered_json{{"version", 1},
                                          {"program", file.program},
                                          {"where", file.where},
                                          {"design", file.design},
                                          {"seconds", 1e-9 * file.profile.wall_ns},
                                          {"samples_lost", file.profile.paths_lost},
                                          {"paths", profile::rows_json(file.profile)}});
}

std::string csv_text(const ProfileFile& file) {
  experiment::Table table;
  const profile::ExportTable rows = profile::rows_table(file.profile);
  for (const std::string& column : rows.columns) table.columns.push_back({column});
  for (const std::vector<std::string>& row : rows.rows) table.rows.push_back({.cells = row, .remark = ""});
  return experiment::table_csv(table);
}

struct Format {
  const char* name;
  std::string (*text)(const ProfileFile& file);
  const char* output;  // by default
  bool is_binary;
  const char* hint;  // how to see a file, {}; empty: as its reader likes
};

constexpr Format kFormats[] = {
    {"pprof", pprof_text, "elision.pb.gz", true, "; 'pprof -top {}' shows it"},
    {"firefox", firefox_text, "elision-firefox.json", false, "; https://profiler.firefox.com shows it"},
    {"speedscope", speedscope_text, kStandardOutput, false, "; 'speedscope {}' shows it"},
    {"folded", folded_text, kStandardOutput, false, "; 'flamegraph.pl --countname=us {}' draws it"},
    {"json", rows_text, kStandardOutput, false, ""},
    {"csv", csv_text, kStandardOutput, false, ""},
};
constexpr const char* kFormatNames = "pprof|firefox|speedscope|folded|json|csv";

const Format& format_called(const std::string& name) {
  if (name.empty()) throw UsageError(fmt::format("no format; name one, as in: --format {}", kFormatNames));
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [&](const Format& format) { return name == format.name; });
  if (found != std::end(kFormats)) return *found;
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  throw unknown_name("format", name, names);
}

struct ExportRequest {
  std::string file = kDefaultProfile;
  std::string format;
  std::string output;  // empty: the format's own
};

std::unique_ptr<CLI::App> export_options(ExportRequest& request) {
  auto app = make_app("elision export --format FORMAT [-o FILE] [PROFILE]",
                      "Writes the call paths of a profile of elision record for other tools.");
  app->add_option("PROFILE", request.file, fmt::format("the profile (default: {})", kDefaultProfile))
      ->type_name("");
  app->add_option("--format", request.format, "the tool or the form of the file")->type_name(kFormatNames);
  app->add_option("-o,--output", request.output,
                  "write there; - is standard output (default: elision.pb.gz for pprof, "
                  "elision-firefox.json for firefox, else standard output)")
      ->type_name("FILE");
  return app;
}

void check_output(const std::string& output, const Format& format, const std::string& profile) {
  require_writable(output);
  if (format.is_binary && is_terminal(output))
    throw UsageError(
        fmt::format("a {} file is binary and would garble the terminal; name a file by -o", format.name));
  std::error_code error;
  if (fs::equivalent(output, profile, error))
    throw UsageError(fmt::format("the output '{}' is the profile itself", output));
}

ProfileFile profile_with_paths(const std::string& path) {
  ProfileFile file = read_profile(path);
  if (file.profile.paths.empty())
    throw UsageError(fmt::format("'{}' has no call paths: {}", path,
                                 !file.profile.paths_missing.empty()
                                     ? file.profile.paths_missing
                                     : "an earlier version recorded it, or the run was too short"));
  return file;
}

}  // namespace

std::unique_ptr<CLI::App> export_app() {
  static ExportRequest request;
  return export_options(request);
}

int export_verb(const Words& words) {
  ExportRequest request;
  const auto app = export_options(request);
  if (!parse_options(*app, words)) return 0;
  const Format& format = format_called(request.format);
  const std::string output = request.output.empty() ? format.output : request.output;
  check_output(output, format, request.file);
  or_discard(output, [&] { write_output(output, format.text(profile_with_paths(request.file))); });
  if (!is_standard_output(output))
    tell("export", fmt::format("wrote {}{}", output,
                               fmt::format(fmt::runtime(format.hint), quoted_for_shell({output}))));
  return 0;
}

}  // namespace elision::cli
