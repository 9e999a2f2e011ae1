// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/transaction_events.h"

#include <linux/perf_event.h>

namespace elision::cli::doctor {
namespace {

/// github.com/intel/perfmon: the same from Haswell to Granite Rapids.
constexpr std::uint64_t kAborts = 0x4c9, kCommits = 0x2c9;

}  // namespace

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
  return TransactionEvents{{PERF_TYPE_RAW, {kAborts}}, {PERF_TYPE_RAW, {kCommits}}};
}

}  // namespace elision::cli::doctor
