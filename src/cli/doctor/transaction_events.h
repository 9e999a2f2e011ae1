// SPDX-License-Identifier: Apache-2.0
// How perf_event_open names the CPU's counts of transactions that commit and abort: as the kernel says in
// sysfs, or, where sysfs is not there, as all of Intel's CPUs with RTM number them.
#pragma once

#include <filesystem>
#include <optional>

#include "cli/doctor/perf_facts.h"

namespace elision::cli::doctor {

/// Returns nothing if the kernel has no such events, as on CPUs without transactions. `has_rtm` says whether
/// transactions commit here. It decides if sysfs has no events.
std::optional<TransactionEvents> transaction_events(bool has_rtm, const std::filesystem::path& root = "/");

}  // namespace elision::cli::doctor
