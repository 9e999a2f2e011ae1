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

}  // namespace

int doctor_verb(const Words& words) {
  bool json = false;
  const auto app =
      make_app("elision doctor [--json]",
               "Says whether hardware transactions commit here, and if not, why, and what to change.\n"
               "Exit code: 0 if they do, 1 if they do not, 2 for bad usage.");
  app->add_flag("--json", json, "print one JSON object with everything that was found");
  if (!parse_options(*app, words)) return 0;
  const doctor::Facts facts = doctor::gather();
  const doctor::Diagnosis diagnosis = doctor::diagnose(facts);
  print(json ? json_text(doctor::report_json(facts, diagnosis))
             : doctor::render(facts, diagnosis, appearance_of(STDOUT_FILENO).width));
  return diagnosis.live ? 0 : kNotLiveExitCode;
}

}  // namespace elision::cli
