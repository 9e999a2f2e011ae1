// SPDX-License-Identifier: Apache-2.0
// `elision diff`: what differs between the profiles of two runs, first in one sentence.
#include "profile/diff.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "base/printable.h"
#include "cli/compare_request.h"
#include "cli/host/console.h"
#include "cli/host/json_text.h"
#include "cli/host/text_layout.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/options/output_format.h"
#include "cli/profile_file.h"
#include "cli/show/abort_changes.h"
#include "cli/show/diff_tables.h"
#include "cli/verbs.h"

namespace elision::cli {
namespace {

struct DiffRequest {
  std::string a, b;
  OutputFormat format = OutputFormat::kTable;
};

std::unique_ptr<CLI::App> diff_options(DiffRequest& request) {
  auto app =
      make_app("elision diff [OPTION...] A B",
               "Shows what differs between two profiles of elision record: time by state, locks, aborts "
               "and functions.");
  app->add_option("A", request.a, "the profile of the first run")->type_name("");
  app->add_option("B", request.b, "the profile of the second run")->type_name("");
  add_format(*app, request.format);
  return app;
}

/// Both profiles, and the files that they are from.
struct Pair {
  ProfileFile a, b;
  std::string path_a, path_b;
};

/// What, besides the change that the user looks at, may make the runs differ.
std::vector<std::string> warnings_of(const Pair& pair) {
  const ProfileFile &a = pair.a, &b = pair.b;
  std::vector<std::string> warnings;
  if (program_of(a) != program_of(b))
    warnings.push_back(
        fmt::format("The programs differ: A is of {}, B of {}.", program_of(a), program_of(b)));
  if (a.where != b.where) {
    warnings.push_back(fmt::format("The machines differ: A ran on {}, B on {}.", place_of(a), place_of(b)));
  } else if (a.profile.cpus != b.profile.cpus) {
    warnings.push_back(fmt::format("The CPUs differ: the program could use {} in A, {} in B.", a.profile.cpus,
                                   b.profile.cpus));
  }
  const auto period_of = [](const profile::Profile& profile) {
    return profile.access_events ? std::optional(profile.access_events->period) : std::nullopt;
  };
  if (period_of(a.profile) != period_of(b.profile))
    warnings.push_back("Loads and stores were not sampled alike, and such samples abort transactions.");
  return warnings;
}

std::string samples_of(const ProfileFile& file) {
  return file.profile.exact ? "exact" : fmt::format("{} samples", file.profile.samples);
}

std::string heading(const char* name, const std::string& path, const ProfileFile& file) {
  return printable(fmt::format("{}: {}, {}, {}", name, path, heading_of(file), samples_of(file)));
}

nlohmann::json file_json(const std::string& path, const ProfileFile& file) {
  nlohmann::json json = {{"file", path},
                         {"program", file.program},
                         {"where", file.where},
                         {"design", file.design},
                         {"seconds", 1e-9 * file.profile.wall_ns}};
  if (!file.profile.exact) json["samples"] = file.profile.samples;
  return json;
}

std::string json_of(const Pair& pair, const profile::ProfileDiff& diff) {
  nlohmann::json json = experiment::diff_json(diff);
  json["version"] = 1;
  json["a"] = file_json(pair.path_a, pair.a);
  json["b"] = file_json(pair.path_b, pair.b);
  json["warnings"] = warnings_of(pair);
  return json_text(json);
}

std::vector<std::string> first_lines(const Pair& pair, const profile::ProfileDiff& diff) {
  std::vector<std::string> lines = {heading("A", pair.path_a, pair.a), heading("B", pair.path_b, pair.b)};
  for (const std::string& warning : warnings_of(pair)) lines.push_back("Warning: " + printable(warning));
  lines.push_back(printable(profile::verdict_of(diff)));
  return lines;
}

std::string markdown_of(const Pair& pair, const profile::ProfileDiff& diff) {
  std::string text;
  for (const std::string& line : first_lines(pair, diff))
    text += (text.empty() ? "" : "\n") + experiment::markdown_escaped(line) + "\n";
  return text + experiment::diff_markdown(diff);
}

std::string text_of(const Pair& pair, const profile::ProfileDiff& diff) {
  const Appearance appearance = appearance_of(STDOUT_FILENO);
  std::string text;
  for (const std::string& line : first_lines(pair, diff)) text += paragraph("", line, appearance.width);
  return text + experiment::diff_text(diff, appearance);
}

std::string written(const Pair& pair, OutputFormat format) {
  const profile::ProfileDiff diff = profile::diff(pair.a.profile, pair.b.profile);
  switch (format) {
    case OutputFormat::kJson:
      return json_of(pair, diff);
    case OutputFormat::kCsv:
      for (const std::string& warning : warnings_of(pair)) tell("diff", warning);
      if (const std::string line = experiment::only_one_knows_aborts(diff.aborts); !line.empty())
        tell("diff", line);
      return experiment::table_csv(experiment::diff_rows(diff));
    case OutputFormat::kMarkdown:
      return markdown_of(pair, diff);
    case OutputFormat::kTable:
      break;
  }
  return text_of(pair, diff);
}

}  // namespace

std::unique_ptr<CLI::App> diff_app() {
  static DiffRequest request;
  return diff_options(request);
}

int diff_verb(const Words& words) {
  DiffRequest request;
  const auto app = diff_options(request);
  if (!parse_options(*app, words)) return 0;
  if (request.b.empty()) throw UsageError("name two profiles, as in: elision diff A B");
  print(written({read_profile(request.a), read_profile(request.b), request.a, request.b}, request.format));
  return 0;
}

}  // namespace elision::cli
