// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/report_json.h"

#include <cstring>

#include "cli/doctor/knowledge.h"
#include "cli/doctor/rows.h"
#include "cli/host/json_text.h"

namespace elision::cli::doctor {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

json known_text(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json error_json(int error) {
  if (error == 0) return nullptr;
  const char* name = strerrorname_np(error);
  return name != nullptr ? json(name) : json(std::to_string(error));
}

json cpu_json(const CpuFacts& cpu) {
  return {{"vendor", cpu.vendor},
          {"brand", cpu.brand},
          {"family", cpu.family},
          {"model", cpu.model},
          {"stepping", cpu.stepping},
          {"rtm", cpu.rtm},
          {"hle", cpu.hle},
          {"rtm_always_abort", cpu.rtm_always_abort},
          {"tsx_force_abort", cpu.tsx_force_abort},
          {"tsxldtrk", cpu.tsxldtrk},
          {"arch_capabilities", cpu.arch_capabilities},
          {"hypervisor", cpu.hypervisor ? json(hypervisor_name(cpu)) : json(nullptr)},
          {"hypervisor_signature", known_text(cpu.hypervisor_signature)},
          {"virtual_cpu", cpu.virtual_cpu}};
}

json trial_json(const TrialFacts& trial) {
  json aborts = json::object();
  for (std::size_t i = 0; i < trial.counts.aborts.size(); ++i)
    aborts[abi::kAbortCauseNames[i]] = trial.counts.aborts[i];
  return {{"attempts", trial.counts.attempts},
          {"commits", trial.counts.commits},
          {"aborts", aborts},
          {"illegal_instruction", trial.illegal_instruction},
          {"nesting_depth", trial.nesting_depth > 0 ? json(trial.nesting_depth) : json(nullptr)}};
}

json kernel_json(const KernelFacts& kernel) {
  json vulnerabilities = {{"tsx_async_abort", or_null(kernel.taa)}};
  for (const auto& other : kernel.others) vulnerabilities[other.name] = other.text;
  return {{"release", known_text(kernel.release)},
          {"microcode", or_null(kernel.microcode)},
          {"command_line_known", kernel.command_line_known},
          {"tsx", or_null(kernel.tsx)},
          {"tsx_async_abort", or_null(kernel.tsx_async_abort)},
          {"mitigations", or_null(kernel.mitigations)},
          {"built_in_tsx", or_null(kernel.built_in_tsx)},
          {"vulnerabilities", vulnerabilities},
          {"rtm_flag", or_null(kernel.rtm_flag)},
          {"allow_tsx_force_abort", or_null(kernel.perf_may_abort_all)},
          {"system_vendor", known_text(kernel.system_vendor)}};
}

json perf_json(const PerfFacts& perf) {
  json events = json::array();
  for (const PerfFacts::Event& event : perf.tsx_events)
    events.push_back({{"name", event.name}, {"error", error_json(event.error)}});
  return {{"perf_event_paranoid", or_null(perf.paranoid)},
          {"capable", perf.capable},
          {"cycles", {{"error", error_json(perf.cycles_error)}}},
          {"tsx_events", events}};
}

const char* name_of(GlibcElision elision) {
  switch (elision) {
    case GlibcElision::kNotGlibc:
      return "not-glibc";
    case GlibcElision::kBuildOption:
      return "build-option";
    case GlibcElision::kTunable:
      return "tunable";
    case GlibcElision::kRemoved:
      return "removed";
  }
  return "unknown";
}

json glibc_json(const GlibcFacts& glibc) {
  return {{"version", known_text(glibc.version)},
          {"elision", name_of(glibc_elision(glibc.version))},
          {"elision_tunables", known_text(glibc.elision_tunables)}};
}

json settings_json(const SettingsFacts& settings) { return {{"hide_rtm", or_null(settings.hide_rtm)}}; }

json remarks_json(const std::vector<Remark>& remarks) {
  json list = json::array();
  for (const Remark& remark : remarks) list.push_back({{"name", remark.name}, {"text", remark.text}});
  return list;
}

}  // namespace

json report_json(const Facts& facts, const Diagnosis& diagnosis) {
  return {{"version", kVersion},
          {"live", diagnosis.live},
          {"reason", name_of(diagnosis.reason)},
          {"sentence", diagnosis.sentence},
          {"always_abort", always_abort_kind(facts, diagnosis)},
          {"cpu", cpu_json(facts.cpu)},
          {"trial", trial_json(facts.trial)},
          {"kernel", kernel_json(facts.kernel)},
          {"perf", perf_json(facts.perf)},
          {"glibc", glibc_json(facts.glibc)},
          {"settings", settings_json(facts.settings)},
          {"notes", remarks_json(diagnosis.notes)},
          {"advice", remarks_json(diagnosis.advice)}};
}

}  // namespace elision::cli::doctor
