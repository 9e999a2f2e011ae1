// SPDX-License-Identifier: Apache-2.0
// `elision report`: what a profile means, first in one sentence.
#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli/compare_request.h"
#include "cli/host/console.h"
#include "cli/host/json_text.h"
#include "cli/host/shell_words.h"
#include "cli/host/text_layout.h"
#include "cli/judge/explanation.h"
#include "cli/options/arguments.h"
#include "cli/options/output_format.h"
#include "cli/profile_file.h"
#include "cli/show/format.h"
#include "cli/show/paths_json.h"
#include "cli/show/paths_text.h"
#include "cli/show/why_json.h"
#include "cli/show/why_text.h"
#include "cli/verbs.h"

namespace elision::cli {
namespace {

constexpr const char* kRun = "the run";
constexpr std::size_t kMostPaths = 5;

struct ReportRequest {
  std::string file = kDefaultProfile;
  OutputFormat format = OutputFormat::kTable;
};

std::unique_ptr<CLI::App> report_options(ReportRequest& request) {
  auto app = make_app("elision report [OPTION...] [FILE]",
                      "Shows what a profile of elision record means: whether locks matter, which, and why.");
  app->add_option("FILE", request.file, fmt::format("the profile (default: {})", kDefaultProfile))
      ->type_name("");
  add_format(*app, request.format);
  return app;
}

std::string heading(const ProfileFile& file) {
  const std::string place = file.where == kNative ? "this CPU" : "virtual " + file.where;
  return printable(fmt::format("{} on {} under {}, {}", quoted_for_shell(file.program), place, file.design,
                               experiment::format_seconds(1e-9 * file.profile.wall_ns)));
}

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
  return json;
}

std::string changes(const experiment::Block& block, const Appearance& appearance) {
  std::vector<experiment::NextStep> steps;
  if (block.diagnosis)
    for (const profile::Finding& finding : block.diagnosis->findings)
      if (!finding.change.empty()) steps.push_back({finding.change, ""});
  return experiment::next_steps_text(steps, appearance);
}

std::string report(const ProfileFile& file, OutputFormat format) {
  const experiment::Block block = experiment::block_of_run(file.profile, file.design);
  switch (format) {
    case OutputFormat::kJson:
      return json_text(report_json(file, block));
    case OutputFormat::kCsv:
      return experiment::table_csv(experiment::locks_table(block));
    case OutputFormat::kMarkdown:
      return experiment::markdown_escaped(heading(file)) + "\n" + experiment::why_markdown(block, kRun) +

             experiment::paths_markdown(file.profile, kMostPaths);
    case OutputFormat::kTable:
      break;
  }
  const Appearance appearance = appearance_of(STDOUT_FILENO);
  return paragraph("", heading(file), appearance.width) + experiment::why_text(block, appearance, kRun) +
         experiment::paths_text(file.profile, kMostPaths, appearance) + changes(block, appearance);
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
  print(report(read_profile(request.file), request.format));
  return 0;
}

}  // namespace elision::cli
