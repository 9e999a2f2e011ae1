// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/transaction_events.h"

#include "base/rtm_events.h"

namespace elision::cli::doctor {
std::optional<TransactionEvents> transaction_events(bool has_rtm, const std::filesystem::path& root) {
  const std::filesystem::path devices = root / "sys/bus/event_source/devices";
  bool knows_cpu = false;
  for (const char* const pmu : {"cpu", "cpu_core"}) {  // of hybrid CPUs, that of the big cores
    std::error_code error;
    knows_cpu |= std::filesystem::exists(devices / pmu, error);
    const auto aborts = event_of_pmu(devices / pmu, "tx-abort");
    const auto commits = event_of_pmu(devices / pmu, "tx-commit");
    if (aborts && commits)
      return TransactionEvents{*aborts, *commits, event_of_pmu(devices / pmu, "cycles-t"),
                               event_of_pmu(devices / pmu, "cycles-ct")};
  }
  if (knows_cpu || !has_rtm) return std::nullopt;
  return TransactionEvents{{PERF_TYPE_RAW, {kRtmAborted}}, {PERF_TYPE_RAW, {kRtmCommit}}};
}

}  // namespace elision::cli::doctor
