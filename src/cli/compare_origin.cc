// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_origin.h"

#include "base/usable_cpus.h"
#include "cli/doctor/cpu_facts.h"
#include "cli/doctor/kernel_facts.h"
#include "cli/host/native_htm.h"
#include "cli/host/shell_words.h"
#include "cli/options/machine_choice.h"
#include "cli/show/machine_values.h"

namespace elision::cli {
namespace {

using machine::ValueRecord;

std::vector<ValueRecord> native_values() {
  const doctor::CpuFacts cpu = doctor::read_cpu(doctor::native_cpuid);
  const char* transactions = native_cpu().rtm_is_hidden ? "hidden" : native_htm_is_live() ? "commit" : "none";
  return {{"cpu.brand", cpu.brand, {}, "CPUID"},
          {"cpu.usable", std::to_string(usable_cpus()), {}, "the affinity mask of this process"},
          {"cpu.transactions", transactions, {}, "CPUID and a trial"},
          {"kernel.release", doctor::read_kernel("/").release, {}, "uname"}};
}

}  // namespace

nlohmann::json origin_json(const experiment::Plan& plan, const Words& words) {
  std::vector<std::string> command = {plan.command, "compare"};
  command.insert(command.end(), words.begin(), words.end());
  return {{"elision", ELISION_VERSION},
          {"command", quoted_for_shell(command)},
          {"machine",
           machine_values_json(plan.model ? load_machine_or_throw(plan.where).values : native_values())}};
}

}  // namespace elision::cli
