// SPDX-License-Identifier: Apache-2.0
// Sums a counter file of libelision-tm (tm_counters.h) into totals for a process. Header only, hosted; never
// writes the memory it reads. The file may come from a process that crashed or still runs, so everything is
// checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "abi/tm_counters.h"
#include "abi/tm_variables.h"

namespace elision::abi {

struct TmCounterTotals {
  std::uint32_t process_id = 0;
  TmCounters counts{};

  std::uint64_t hardware_commits() const {
    return counts.plain_commits + counts.read_only_commits + counts.logged_commits;
  }
  std::uint64_t software_commits() const { return counts.fallback_commits + counts.serial_commits; }

  void add(const TmCounterTotals& other) {
    combine(other, [](std::uint64_t a, std::uint64_t b) { return a + b; });
  }
  /// `earlier`: of the same process. A transaction that commits meanwhile may be counted in part.
  void subtract(const TmCounterTotals& earlier) {
    combine(earlier, [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; });
  }

 private:
  template <class Operation>
  void combine(const TmCounterTotals& other, Operation operation) {
    static_assert(sizeof(TmCounters) % sizeof(std::uint64_t) == 0);
    std::uint64_t own[sizeof(TmCounters) / sizeof(std::uint64_t)], its[sizeof own / sizeof *own];
    std::memcpy(own, &counts, sizeof own);
    std::memcpy(its, &other.counts, sizeof its);
    for (std::size_t i = 0; i < sizeof own / sizeof *own; ++i) own[i] = operation(own[i], its[i]);
    std::memcpy(&counts, own, sizeof own);
  }
};

/// The sums over all slots of a file's `bytes` bytes at `data`. Nothing if it is no complete counter file of
/// this version.
inline std::optional<TmCounterTotals> sum_tm_counters(const char* data, std::size_t bytes) {
  TmCountersHeader header;
  if (bytes < kTmCountersFileBytes) return std::nullopt;
  std::memcpy(&header, data, sizeof header);
  if (header.magic != kTmCountersMagic || header.version != kTmCountersVersion ||
      header.slot_bytes != sizeof(TmCounters) || header.slots != kTmCounterSlots ||
      header.mode >= static_cast<std::uint32_t>(TmMode::kCount))
    return std::nullopt;
  TmCounterTotals totals;
  totals.process_id = header.process_id;
  for (std::uint32_t i = 0; i < kTmCounterSlots; ++i) {
    TmCounterTotals slot;
    std::memcpy(&slot.counts, data + kTmCountersHeaderBytes + i * sizeof(TmCounters), sizeof slot.counts);
    totals.add(slot);
  }
  return totals;
}

}  // namespace elision::abi
