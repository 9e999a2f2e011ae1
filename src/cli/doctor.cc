// SPDX-License-Identifier: Apache-2.0
// `elision doctor`: do hardware transactions commit here, and if not, why, and what to change?
#include <fmt/format.h>
#include <unistd.h>

#include "cli/doctor/gather.h"
#include "cli/doctor/render.h"
#include "cli/doctor/report_json.h"
#include "cli/doctor/rows.h"
#include "cli/host/console.h"
#include "cli/host/json_text.h"
#include "cli/options/arguments.h"
#include "cli/options/output_format.h"
#include "cli/show/table.h"
#include "cli/verbs.h"

namespace elision::cli {
namespace {

constexpr int kNotLiveExitCode = 1;

std::unique_ptr<CLI::App> doctor_options(OutputFormat& format) {
  auto app = make_app("elision doctor [OPTION...]",
                      "Says whether hardware transactions commit here, and if not, why, and what to change.");
  app->footer("Exit code: 0 if they do, 1 if they do not, 2 for bad usage.");
  CLI::Option* formats = add_format(*app, format);
  app->add_flag_callback(
         "--json", [&format] { format = OutputFormat::kJson; },
         "print one JSON object with everything that was found, as --format json does")
      ->excludes(formats);
  return app;
}

experiment::Table table_of(const doctor::Facts& facts, const doctor::Diagnosis& diagnosis) {
  experiment::Table table{{{"source", true}, {"fact", true}, {"value", true}, {"meaning", true}}, {}};
  for (const doctor::Row& row : rows_of(facts, diagnosis))
    table.rows.push_back({{row.section, row.name, row.value, row.meaning}, "", Tone::kPlain});
  return table;
}

std::string markdown(const doctor::Facts& facts, const doctor::Diagnosis& diagnosis) {
  std::string text =
      experiment::markdown_escaped(verdict(diagnosis)) + "\n\n" + table_markdown(table_of(facts, diagnosis));
  if (!diagnosis.notes.empty()) text += "\nNote:\n\n";
  for (const doctor::Remark& note : diagnosis.notes)
    text += "- " + experiment::markdown_escaped(note.text) + "\n";
  if (diagnosis.advice.empty()) return text + "\nNothing to change.\n";
  text += fmt::format("\n{}\n\n", heading_of_advice(diagnosis));
  for (std::size_t i = 0; i < diagnosis.advice.size(); ++i)
    text += fmt::format("{}. {}\n", i + 1, experiment::markdown_escaped(diagnosis.advice[i].text));
  return text;
}

std::string report(const doctor::Facts& facts, const doctor::Diagnosis& diagnosis, OutputFormat format) {
  switch (format) {
    case OutputFormat::kJson:
      return json_text(doctor::report_json(facts, diagnosis));
    case OutputFormat::kCsv:
      return experiment::table_csv(table_of(facts, diagnosis));
    case OutputFormat::kMarkdown:
      return markdown(facts, diagnosis);
    case OutputFormat::kTable:
      break;
  }
  return doctor::render(facts, diagnosis, appearance_of(STDOUT_FILENO).width);
}

}  // namespace

std::unique_ptr<CLI::App> doctor_app() {
  static OutputFormat format;
  return doctor_options(format);
}

int doctor_verb(const Words& words) {
  OutputFormat format = OutputFormat::kTable;
  const auto app = doctor_options(format);
  if (!parse_options(*app, words)) return 0;
  const doctor::Facts facts = doctor::gather();
  const doctor::Diagnosis diagnosis = doctor::diagnose(facts);
  print(report(facts, diagnosis, format));
  return diagnosis.live ? 0 : kNotLiveExitCode;
}

}  // namespace elision::cli
