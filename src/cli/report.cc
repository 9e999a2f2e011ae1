// SPDX-License-Identifier: Apache-2.0
// `elision report`: what a profile means, first in one sentence.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/printable.h"
#include "cli/host/console.h"
#include "cli/host/json_text.h"
#include "cli/host/output_file.h"
#include "cli/host/text_layout.h"
#include "cli/judge/explanation.h"
#include "cli/options/arguments.h"
#include "cli/options/output_format.h"
#include "cli/profile_file.h"
#include "cli/show/aborts_json.h"
#include "cli/show/aborts_text.h"
#include "cli/show/html.h"
#include "cli/show/paths_json.h"
#include "cli/show/paths_text.h"
#include "cli/show/shared_data.h"
#include "cli/show/why_json.h"
#include "cli/show/why_text.h"
#include "cli/verbs.h"

namespace elision::cli {
namespace {

constexpr const char* kRun = "the run";
constexpr const char* kFromPerf =
    "perf does not record what threads do at locks. These are its call paths and aborts.";
constexpr std::size_t kMostPaths = 5, kMostAborts = 5;

struct ReportRequest {
  std::string file = kDefaultProfile;
  std::string html_file;  // empty: no page
  OutputFormat format = OutputFormat::kTable;
};

std::unique_ptr<CLI::App> report_options(ReportRequest& request) {
  auto app = make_app("elision report [OPTION...] [PROFILE]",
                      "Shows what a profile of elision record means: whether locks matter, which, and why.");
  app->add_option("PROFILE", request.file, fmt::format("the profile (default: {})", kDefaultProfile))
      ->type_name("");
  add_format(*app, request.format);
  app->add_option("--html", request.html_file, "write a page with charts and call paths to this file")
      ->type_name("FILE");
  return app;
}

std::string heading(const ProfileFile& file) { return printable(heading_of(file)); }

nlohmann::json report_json(const ProfileFile& file, const experiment::Block& block) {
  nlohmann::ordered_json json{{"version", 1},
                              {"kind", "profile"},  // a comparison has none
                              {"elision", ELISION_VERSION},
                              {"program", file.program},
                              {"where", file.where},
                              {"design", file.design},
                              {"seconds", 1e-9 * file.profile.wall_ns},
                              {"thread_seconds", 1e-9 * file.profile.thread_ns()}};
  const std::optional<experiment::Why>& why = block.rows.front().why;
  json["why"] = why ? experiment::why_json(*why) : nullptr;
  json["diagnosis"] = block.diagnosis ? experiment::diagnosis_json(*block.diagnosis) : nullptr;
  json["unexplained"] = block.unexplained ? experiment::unexplained_json(*block.unexplained) : nullptr;
  json["time_intervals"] = time_intervals_json(file.profile);
  json["threads"] = threads_json(file.profile);
  json["call_paths"] = call_paths_json(file.profile);
  json["abort_events"] = abort_events_json(file.profile);
  json["shared_data"] = experiment::shared_data_json(file.profile);
  return json;
}

std::string changes(const experiment::Block& block, const Appearance& appearance) {
  std::vector<experiment::NextStep> steps;
  if (block.diagnosis)
    for (const profile::Finding& finding : block.diagnosis->findings)
      if (!finding.change.empty()) steps.push_back({finding.change, ""});
  return experiment::next_steps_text(steps, appearance);
}

std::string report(const ProfileFile& file, const experiment::Block& block, OutputFormat format,
                   const Appearance& appearance) {
  switch (format) {
    case OutputFormat::kJson:
      return json_text(report_json(file, block));
    case OutputFormat::kCsv:
      return experiment::table_csv(experiment::locks_table(block));
    case OutputFormat::kMarkdown:
      return experiment::markdown_escaped(heading(file)) + "\n" +
             (file.where == kPerf ? std::string("\n") + kFromPerf + "\n" : "") +
             experiment::why_markdown(block, kRun) + experiment::paths_markdown(file.profile, kMostPaths) +
             experiment::aborts_markdown(file.profile, kMostAborts) +
             experiment::shared_data_markdown(file.profile, kMostAborts);
    case OutputFormat::kTable:
      break;
  }
  const std::string note = file.where == kPerf ? paragraph("", kFromPerf, appearance.width) : "";
  return paragraph("", heading(file), appearance.width) + note +
         experiment::why_text(block, appearance, kRun) +
         experiment::paths_text(file.profile, kMostPaths, appearance) +
         experiment::aborts_text(file.profile, kMostAborts, appearance) +
         experiment::shared_data_text(file.profile, kMostAborts, appearance) + changes(block, appearance);
}

/// Before the profile is read: a page in its place would be the end of it.
void check_page(const ReportRequest& request) {
  require_regular(request.html_file);
  std::error_code unknown;
  if (std::filesystem::equivalent(request.file, request.html_file, unknown))
    throw UsageError(fmt::format("--html would overwrite the profile, '{}'", request.file));
}

// If the page goes to standard output, the report goes to standard error.
void show(const ReportRequest& request) {
  const ProfileFile file = read_profile(request.file);
  experiment::Block block = experiment::block_of_run(file.profile, file.design);
  if (file.where == kPerf) block.unexplained.reset();
  if (!request.html_file.empty())
    write_output(request.html_file, html_page(viewer_page(), report_json(file, block)));
  const bool is_taken = !request.html_file.empty() && is_standard_output(request.html_file);
  const int descriptor = is_taken ? STDERR_FILENO : STDOUT_FILENO;
  const std::string text = report(file, block, request.format, appearance_of(descriptor));
  is_taken ? print_error(text) : print(text);
}

}  // namespace

std::unique_ptr<CLI::App> report_app() {
  static ReportRequest request;
  return report_options(request);
}

int report_verb(const Words& words) {
  ReportRequest request;
  const auto app = report_options(request);
  if (!parse_options(*app, words)) return 0;
  if (!request.html_file.empty()) check_page(request);
  or_discard(request.html_file, [&request] { show(request); });
  return 0;
}

}  // namespace elision::cli
