// SPDX-License-Identifier: Apache-2.0
// How this process names events to perf_event_open.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

namespace elision::cli {

/// An event as perf_event_attr encodes it: a type and three words.
struct PerfEventCode {
  std::uint32_t type = 0;
  std::uint64_t config[3] = {};
};

/// The CPU's events of transactions.
struct TransactionEvents {
  PerfEventCode aborts;   // RTM_RETIRED.ABORTED
  PerfEventCode commits;  // RTM_RETIRED.COMMIT
  // Cycles in transactions, and in committed ones; empty if the CPU does not count them.
  std::optional<PerfEventCode> cycles{}, committed_cycles{};
};

/// Returns the attributes of an event that counts user code and is disabled at first.
perf_event_attr attributes_of(const PerfEventCode& code);

}  // namespace elision::cli
