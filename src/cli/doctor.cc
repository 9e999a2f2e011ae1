// SPDX-License-Identifier: Apache-2.0
// `elision doctor`: do hardware transactions commit here, and if not, why, and what to change?
#include <unistd.h>

#include "cli/doctor/gather.h"
#include "cli/doctor/render.h"
#include "cli/doctor/report_json.h"
#include "cli/host/console.h"
#include "cli/host/json_text.h"
#include "cli/options/arguments.h"
#include "cli/verbs.h"

namespace elision::cli {
namespace {

constexpr int kNotLiveExitCode = 1;

std::unique_ptr<CLI::App> doctor_options(bool& json) {
  auto app = make_app("elision doctor [--json]",
                      "Says whether hardware transactions commit here, and if not, why, and what to change.");
  app->footer("Exit code: 0 if they do, 1 if they do not, 2 for bad usage.");
  app->add_flag("--json", json, "print one JSON object with everything that was found");
  return app;
}

}  // namespace

std::unique_ptr<CLI::App> doctor_app() {
  static bool json;
  return doctor_options(json);
}

int doctor_verb(const Words& words) {
  bool json = false;
  const auto app = doctor_options(json);
  if (!parse_options(*app, words)) return 0;
  const doctor::Facts facts = doctor::gather();
  const doctor::Diagnosis diagnosis = doctor::diagnose(facts);
  print(json ? json_text(doctor::report_json(facts, diagnosis))
             : doctor::render(facts, diagnosis, appearance_of(STDOUT_FILENO).width));
  return diagnosis.live ? 0 : kNotLiveExitCode;
}

}  // namespace elision::cli
