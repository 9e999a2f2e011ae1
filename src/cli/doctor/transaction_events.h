// SPDX-License-Identifier: Apache-2.0
// How perf_event_open names the CPU's counts of transactions that commit and abort: as the kernel says in
// sysfs, or, where sysfs is not there, as all of Intel's CPUs with RTM number them.
#pragma once

#include <filesystem>
#include <optional>

#include "cli/doctor/perf_facts.h"

namespace elision::cli::doctor {

struct TransactionEvents {
  PerfEventCode aborts;   // RTM_RETIRED.ABORTED
  PerfEventCode commits;  // RTM_RETIRED.COMMIT
  // Cycles in transactions, and in those of them that commit. Nothing: not known.
  std::optional<PerfEventCode> cycles{}, committed_cycles{};
};

/// Nothing: the kernel knows no such events, as on CPUs without transactions. `has_rtm`: transactions commit
/// here, which decides where sysfs does not tell.
std::optional<TransactionEvents> transaction_events(bool has_rtm, const std::filesystem::path& root = "/");

}  // namespace elision::cli::doctor
