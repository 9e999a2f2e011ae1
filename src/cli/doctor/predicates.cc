// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/predicates.h"

#include "cli/doctor/knowledge.h"

namespace elision::cli::doctor {
namespace {

// Transactions of one store, alone: fewer commits than this mean that something ends them from outside.
constexpr double kOrdinaryShare = 0.9;

}  // namespace

bool is_hidden(const Facts& f) { return f.settings.hide_rtm == "1" && f.cpu.rtm && !f.cpu.virtual_cpu; }

bool any_commit(const Facts& f) { return f.trial.counts.commits > 0; }

bool few_commit(const Facts& f) { return f.trial.counts.commits < kOrdinaryShare * f.trial.counts.attempts; }

bool open_to_taa(const Facts& f) { return f.kernel.taa && *f.kernel.taa != "Not affected"; }

bool knows_tsx_word(const Facts& f) {
  return f.kernel.tsx == "on" || f.kernel.tsx == "off" || f.kernel.tsx == "auto";
}

std::optional<std::string> asked_tsx(const Facts& f) {
  if (!f.kernel.tsx || knows_tsx_word(f)) return f.kernel.tsx;
  return "off";
}

bool kernel_switched_off(const Facts& f) {
  return f.kernel.taa == kTsxDisabled || (asked_tsx(f) == "off" && has_rtm_without_taa(f.cpu));
}

bool off_by_default(const Facts& f) {
  return !f.kernel.tsx && (!f.kernel.built_in_tsx || f.kernel.built_in_tsx == "off");
}

bool on_ec2(const Facts& f) { return f.kernel.system_vendor == "Amazon EC2"; }

}  // namespace elision::cli::doctor
