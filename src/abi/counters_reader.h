// SPDX-License-Identifier: Apache-2.0
// Sums a counter file (counters.h) into totals for a process.
//
// Header only, hosted, no allocation beyond the returned value; never writes the memory it reads.
// The file may come from a process that crashed or still runs, so everything is checked before use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "abi/counters.h"

namespace elision::abi {

/// The longest wait of a part of a run, by the longest ones until its end and its beginning; 0: not known,
/// since an earlier one was as long.
inline std::uint64_t longest_since(std::uint64_t now, std::uint64_t before) { return now > before ? now : 0; }
/// A lock that is being taken may be counted in part.
inline std::uint64_t since(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

/// The sums over all threads of a process.
struct CounterTotals {
  std::string asked_design;
  std::string design;
  std::string program;
  std::uint32_t process_id = 0;
  std::uint32_t parent_id = 0;
  bool unknown_design = false;
  bool has_rtm = false;
  bool rtm_always_aborts = false;
  bool used_fallback = false;
  bool wait_spins = false;
  AlwaysAbortKind always_abort = AlwaysAbortKind::kNone;
  std::uint64_t tsc_khz = 0;  // 0: not known
  std::uint64_t start_tsc = 0;
  std::uint64_t start_monotonic_ns = 0;

  bool interposed_locks_seen = false;
  std::uint64_t acquisitions = 0;  // locks taken, with or without a wait
  std::uint64_t uncontended = 0;   // of these: free at once
  std::uint64_t commits = 0;
  std::uint64_t aborts[kAbortCauses] = {};
  std::uint64_t fallbacks = 0;
  std::uint64_t speculations = 0;
  std::uint64_t busy = 0;
  std::uint64_t bad_unlocks = 0;
  std::uint64_t bad_destroys = 0;
  std::uint64_t wait_ticks = 0;
  std::uint64_t longest_wait_ticks = 0;
  std::uint64_t threads = 0;  // slots in use

  std::uint64_t aborts_total() const {
    std::uint64_t sum = 0;
    for (std::uint64_t count : aborts) sum += count;
    return sum;
  }
  /// Critical sections entered, as lock holder or as transaction.
  std::uint64_t sections() const { return acquisitions + commits; }

  /// Adds the counts of another process of the same run. Identity fields do not change.
  void add(const CounterTotals& other) {
    interposed_locks_seen |= other.interposed_locks_seen;
    acquisitions += other.acquisitions;
    uncontended += other.uncontended;
    commits += other.commits;
    for (std::size_t i = 0; i < kAbortCauses; ++i) aborts[i] += other.aborts[i];
    fallbacks += other.fallbacks;
    speculations += other.speculations;
    busy += other.busy;
    bad_unlocks += other.bad_unlocks;
    bad_destroys += other.bad_destroys;
    wait_ticks += other.wait_ticks;
    longest_wait_ticks = std::max(longest_wait_ticks, other.longest_wait_ticks);
    threads += other.threads;
  }

  /// Removes what the same process had counted `before`. Threads are those of the whole run.
  void subtract(const CounterTotals& before) {
    for (const auto count :
         {&CounterTotals::acquisitions, &CounterTotals::uncontended, &CounterTotals::commits,
          &CounterTotals::fallbacks, &CounterTotals::speculations, &CounterTotals::busy,
          &CounterTotals::bad_unlocks, &CounterTotals::bad_destroys, &CounterTotals::wait_ticks})
      this->*count = since(this->*count, before.*count);
    for (std::size_t i = 0; i < kAbortCauses; ++i) aborts[i] = since(aborts[i], before.aborts[i]);
    longest_wait_ticks = longest_since(longest_wait_ticks, before.longest_wait_ticks);
  }
};

namespace detail {

inline std::string text_of(const char* field, std::size_t capacity) {
  return std::string(field, ::strnlen(field, capacity));
}

/// Adds what totals and entries both count, except acquisitions.
template <class Sum>
void add_counts(Sum& sum, const CounterEntry& entry) {
  sum.commits += entry.commits;
  sum.fallbacks += entry.fallbacks;
  sum.speculations += entry.speculations;
  sum.busy += entry.busy;
  sum.wait_ticks += entry.wait_ticks;
  sum.longest_wait_ticks = std::max(sum.longest_wait_ticks, entry.longest_wait_ticks);
  for (std::size_t i = 0; i < kAbortCauses; ++i) sum.aborts[i] += entry.aborts[i];
}

inline void add_slot(CounterTotals& totals, const CounterSlot& slot) {
  if (slot.thread_id != 0) ++totals.threads;
  const std::uint64_t by_position = ThreadActivity::taken(slot.activity.position);
  // A signal handler between the load and the store of `position` loses its locks there, and not elsewhere.
  const std::uint64_t taken =
      by_position - std::min(by_position, slot.activity.taken_elsewhere) + slot.shared_taken;
  std::uint64_t contended = 0;
  totals.bad_unlocks += slot.bad_unlocks.count;
  totals.bad_destroys += slot.bad_destroys.count;
  for (const CounterEntry& entry : slot.entries) {
    contended += entry.acquisitions;
    add_counts(totals, entry);
  }
  // A thread that runs may have counted the wait and not yet the lock.
  totals.acquisitions += std::max(taken, contended);
  totals.uncontended += std::max(taken, contended) - contended;
}

}  // namespace detail

/// The bytes of a counter file that are in use, by its first kCountersHeaderBytes. The rest are holes.
inline std::size_t counter_bytes_in_use(const void* start) {
  const auto& header = *static_cast<const CountersHeader*>(start);
  const std::uint32_t slots = std::min({header.next_slot, header.slot_count, kCounterSlots});
  return kCountersHeaderBytes + slots * kCounterSlotBytes;
}

/// Sums the counter file at `data`. Nothing if it is not a complete file of this version.
inline std::optional<CounterTotals> sum_counters(const void* data, std::size_t size) {
  if (size < kCountersHeaderBytes) return std::nullopt;
  const auto& header = *static_cast<const CountersHeader*>(data);
  if (header.magic != kCountersMagic || header.version != kCountersVersion) return std::nullopt;
  const std::uint32_t used = std::min(header.next_slot, header.slot_count);
  if (used > (size - kCountersHeaderBytes) / kCounterSlotBytes) return std::nullopt;

  CounterTotals totals;
  totals.asked_design = detail::text_of(header.asked_design, sizeof header.asked_design);
  totals.design = detail::text_of(header.design, sizeof header.design);
  totals.program = detail::text_of(header.program, sizeof header.program);
  totals.process_id = header.process_id;
  totals.parent_id = header.parent_id;
  totals.unknown_design = header.unknown_design != 0;
  totals.has_rtm = header.has_rtm != 0;
  totals.rtm_always_aborts = header.rtm_always_aborts != 0;
  totals.used_fallback = header.used_fallback != 0;
  totals.wait_spins = header.wait_spins != 0;
  totals.always_abort = header.always_abort;
  totals.tsc_khz = header.tsc_khz;
  totals.start_tsc = header.start_tsc;
  totals.start_monotonic_ns = header.start_monotonic_ns;

  const auto* slots =
      reinterpret_cast<const CounterSlot*>(static_cast<const char*>(data) + kCountersHeaderBytes);
  for (std::uint32_t i = 0; i < used; ++i) detail::add_slot(totals, slots[i]);
  totals.interposed_locks_seen = header.locks_seen != 0 || totals.sections() != 0;
  return totals;
}

/// Removes from the sums of a lock what it had counted `before`.
inline void subtract(CounterEntry& sum, const CounterEntry& before) {
  for (const auto count : {&CounterEntry::acquisitions, &CounterEntry::commits, &CounterEntry::fallbacks,
                           &CounterEntry::speculations, &CounterEntry::busy, &CounterEntry::wait_ticks})
    sum.*count = since(sum.*count, before.*count);
  for (std::size_t i = 0; i < kAbortCauses; ++i) sum.aborts[i] = since(sum.aborts[i], before.aborts[i]);
  sum.longest_wait_ticks = longest_since(sum.longest_wait_ticks, before.longest_wait_ticks);
}

/// Calls `visit(slot, entry)` for each entry of a counter file. False if `data` is not a complete file.
template <class Visitor>
bool for_each_entry(const void* data, std::size_t size, Visitor visit) {
  if (!sum_counters(data, size)) return false;
  const auto& header = *static_cast<const CountersHeader*>(data);
  const auto* slots =
      reinterpret_cast<const CounterSlot*>(static_cast<const char*>(data) + kCountersHeaderBytes);
  for (std::uint32_t i = 0; i < std::min(header.next_slot, header.slot_count); ++i)
    for (const CounterEntry& entry : slots[i].entries) visit(slots[i], entry);
  return true;
}

/// The sums over threads and call sites for each lock, by its address; 0 stands for all locks that found no
/// place in a thread's table. Empty if `data` is not a complete file.
inline std::map<std::uint64_t, CounterEntry> sums_by_lock(const void* data, std::size_t size) {
  std::map<std::uint64_t, CounterEntry> sums;
  for_each_entry(data, size, [&sums](const CounterSlot&, const CounterEntry& entry) {
    sums[entry.lock].acquisitions += entry.acquisitions;
    detail::add_counts(sums[entry.lock], entry);
  });
  return sums;
}

/// The sums over locks for each thread, by its id. A slot that several threads used one after the other
/// counts for the last one.
inline std::map<std::uint32_t, CounterEntry> sums_by_thread(const void* data, std::size_t size) {
  std::map<std::uint32_t, CounterEntry> sums;
  for_each_entry(data, size, [&sums](const CounterSlot& slot, const CounterEntry& entry) {
    detail::add_counts(sums[slot.thread_id], entry);
  });
  return sums;
}

}  // namespace elision::abi
