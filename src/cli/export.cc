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
#include "profile/abort_diff.h"
#include "profile/export_firefox.h"
#include "profile/export_folded.h"
#include "profile/export_pprof.h"
#include "profile/export_rows.h"
#include "profile/export_speedscope.h"

namespace elision::cli {
namespace {

namespace fs = std::filesystem;
using profile::PathTable;

profile::Origin origin_of(const ProfileFile& file) {
  const std::string place = file.where == kNative ? "on a real CPU" : "on virtual " + file.where;
  return {file.program.empty() ? "" : file.program.front(), quoted_for_shell(file.program),
          fmt::format("{} under {}", place, file.design), "elision " ELISION_VERSION};
}

std::string pprof_text(const ProfileFile& file, const PathTable& paths) {
  return profile::pprof_file(paths, origin_of(file));
}

std::string firefox_text(const ProfileFile& file, const PathTable& paths) {
  return json_line(profile::firefox_json(paths, origin_of(file))) + "\n";
}

std::string speedscope_text(const ProfileFile& file, const PathTable& paths) {
  return json_line(profile::speedscope_json(paths, origin_of(file))) + "\n";
}

std::string folded_text(const ProfileFile&, const PathTable& paths) { return profile::folded_text(paths); }

std::string rows_text(const ProfileFile& file, const PathTable& paths) {
  const double lost =
      paths.weight == profile::Weight::kTime ? file.profile.paths_lost : file.profile.abort_events->lost;
  return json_text(nlohmann::ordered_json{{"version", 1},
                                          {"program", file.program},
                                          {"where", file.where},
                                          {"design", file.design},
                                          {"seconds", 1e-9 * file.profile.wall_ns},
                                          {"samples_lost", lost},
                                          {"paths", profile::rows_json(paths)}});
}

std::string csv_text(const ProfileFile&, const PathTable& paths) {
  experiment::Table table;
  const profile::ExportTable rows = profile::rows_table(paths);
  for (const std::string& column : rows.columns) table.columns.push_back({column});
  for (const std::vector<std::string>& row : rows.rows) table.rows.push_back({.cells = row, .remark = ""});
  return experiment::table_csv(table);
}

struct Format {
  const char* name;
  std::string (*text)(const ProfileFile& file, const PathTable& paths);
  const char* output;  // by default
  bool is_binary;
  const char* hint;  // how to see a file: {0}, and {1} is the unit of its counts; empty: as its reader likes
};

constexpr Format kFormats[] = {
    {"pprof", pprof_text, "elision.pb.gz", true, "; 'pprof -top {}' shows it"},
    {"firefox", firefox_text, "elision-firefox.json", false, "; https://profiler.firefox.com shows it"},
    {"speedscope", speedscope_text, kStandardOutput, false, "; 'speedscope {}' shows it"},
    {"folded", folded_text, kStandardOutput, false, "; 'flamegraph.pl --countname={1} {0}' draws it"},
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

constexpr const char *kOfTime = "time", *kOfAborts = "aborts";

struct ExportRequest {
  std::string file = kDefaultProfile;
  std::string format;
  std::string of = kOfTime;
  std::string output;  // empty: the format's own
};

std::unique_ptr<CLI::App> export_options(ExportRequest& request) {
  auto app = make_app("elision export --format FORMAT [--of time|aborts] [-o FILE] [PROFILE]",
                      "Writes the call paths of a profile of elision record for other tools.");
  app->add_option("PROFILE", request.file, fmt::format("the profile (default: {})", kDefaultProfile))
      ->type_name("");
  app->add_option("--format", request.format, "the tool or the form of the file")->type_name(kFormatNames);
  app->add_option("--of", request.of,
                  "what the paths show: where time went, or where transactions aborted (default: time)")
      ->type_name("time|aborts");
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

std::string why_no_paths(const profile::Profile& profile) {
  return !profile.paths_missing.empty() ? profile.paths_missing
                                        : "an earlier version recorded it, or the run was too short";
}

std::string why_no_aborts(const profile::Profile& profile) {
  const std::string why = profile::why_no_abort_events(profile);
  return !why.empty() ? why : "none was sampled";
}

PathTable paths_of(const ProfileFile& file, const ExportRequest& request) {
  const bool aborts = request.of == kOfAborts;
  PathTable paths = aborts ? profile::paths_of_aborts(file.profile) : profile::paths_of_time(file.profile);
  if (paths.paths.empty())
    throw UsageError(fmt::format("'{}' has no {}: {}", request.file, aborts ? "aborts" : "call paths",
                                 aborts ? why_no_aborts(file.profile) : why_no_paths(file.profile)));
  return paths;
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
  if (request.of != kOfTime && request.of != kOfAborts)
    throw unknown_name("kind of paths", request.of, {kOfTime, kOfAborts});
  const std::string output = request.output.empty() ? format.output : request.output;
  check_output(output, format, request.file);
  profile::Weight weight{};
  or_discard(output, [&] {
    const ProfileFile file = read_profile(request.file);
    const PathTable paths = paths_of(file, request);
    weight = paths.weight;
    write_output(output, format.text(file, paths));
  });
  if (!is_standard_output(output))
    tell("export", fmt::format("wrote {}{}", output,
                               fmt::format(fmt::runtime(format.hint), quoted_for_shell({output}),
                                           profile::style_of(weight).unit_of_lines)));
  return 0;
}

}  // namespace elision::cli
