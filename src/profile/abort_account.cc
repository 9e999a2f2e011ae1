// SPDX-License-Identifier: Apache-2.0
#include "profile/abort_account.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>

#include "profile/transaction_paths.h"

namespace elision::profile {
namespace {

constexpr std::size_t kMostCalls = 32;   // that are followed
constexpr std::size_t kMostCallers = 8;  // that are kept

/// Return addresses of the calls that led into the lock library; if the transaction began outside of it, the
/// place where it did, and the calls that led there.
std::vector<std::uint64_t> callers_of_library(const std::vector<CallStep>& chain, const Names& names) {
  std::vector<std::uint64_t> callers;
  for (const CallStep& step : chain) {
    if (names.is_in_lock_library(step.place()))
      callers.clear();
    else
      callers.push_back(step.pc);
  }
  if (callers.size() > kMostCallers) callers.resize(kMostCallers);
  return callers;
}

/// Call instructions of the transaction's own code, innermost first.
std::vector<std::uint64_t> calls_outside_library(const std::vector<std::uint64_t>& calls,
                                                 const Names& names) {
  std::vector<std::uint64_t> kept;
  for (const std::uint64_t call : calls)
    if (kept.size() < kMostCallers && !names.is_in_lock_library(call)) kept.push_back(call);
  return kept;
}

}  // namespace

std::string cause_of(std::uint64_t transaction) {
  if ((transaction & (PERF_TXN_TRANSACTION | PERF_TXN_ELISION)) == 0) return "unknown";
  const std::uint64_t code = (transaction & PERF_TXN_ABORT_MASK) >> PERF_TXN_ABORT_SHIFT;
  if (code == kLockBusyCodes[0] || code == kLockBusyCodes[1]) return "lock-busy";
  if (code != 0) return "explicit";
  if ((transaction & PERF_TXN_CONFLICT) != 0) return "conflict";
  if ((transaction & (PERF_TXN_CAPACITY_READ | PERF_TXN_CAPACITY_WRITE)) != 0) return "capacity";
  return (transaction & PERF_TXN_SYNC) != 0 ? "instruction" : "interrupt";
}

void keep_most_cycles(std::vector<AbortRow>& rows) {
  const auto has_more = [](const AbortRow& a, const AbortRow& b) {
    return std::pair(a.cycles, a.samples) > std::pair(b.cycles, b.samples);
  };
  std::stable_sort(rows.begin(), rows.end(), has_more);
  std::vector<AbortRow> kept;
  std::map<std::string, AbortRow> rests;  // by cause
  for (AbortRow& row : rows) {
    if (kept.size() < AbortAccount::kMostWritten && !is_many(row.place)) {
      kept.push_back(std::move(row));
      continue;
    }
    AbortRow& rest = rests[row.cause];
    rest.cause = row.cause;
    rest.samples += row.samples;
    rest.aborts += row.aborts;
    rest.cycles += row.cycles;
  }
  for (auto& [cause, rest] : rests) kept.push_back(std::move(rest));
  std::stable_sort(kept.begin(), kept.end(), has_more);
  rows = std::move(kept);
}

void AbortAccount::add(const PerfSample& sample, ProcessImages& images, std::size_t image) {
  const double period = static_cast<double>(std::max<std::uint64_t>(sample.period, 1));
  const std::string cause = cause_of(sample.transaction);
  ProcessImage& code = images[image];
  Key key{image, cause, sample.ip, callers_of_library(code.calls_of(sample, kMostCalls), code.names())};
  const auto path =
      sample.has_calls_and_returns ? path_in_transaction(sample.branches, sample.ip) : std::nullopt;
  if (path) {
    key.inside = calls_outside_library(path->calls, code.names());
    ++with_branches_;
    whole_paths_ += path->is_whole ? 1 : 0;
  }
  if (rows_.size() >= kMostRows && !rows_.contains(key)) {
    key.callers.clear();
    key.inside.clear();
  }
  if (rows_.size() >= 2 * kMostRows && !rows_.contains(key)) key = {.cause = cause};
  Sums& row = rows_[key];
  ++row.samples;
  row.aborts += period;
  const double cycles = period * static_cast<double>(sample.weight);
  row.cycles += cycles;
  cycles_ += cycles;
  cycles_squared_ += cycles * cycles;
  ++samples_;
  aborts_ += period;
}

AbortEvents AbortAccount::events(ProcessImages& images, const AbortCounts* counts) const {
  AbortEvents events;
  events.samples = samples_;
  events.lost = lost_;
  events.with_branches = with_branches_;
  events.whole_paths = whole_paths_;
  events.sampled_aborts = aborts_;
  events.counted = counts != nullptr;
  events.aborts = counts != nullptr ? counts->aborts : aborts_;
  events.commits = counts != nullptr ? counts->commits : 0;
  events.counted_cycles = counts != nullptr ? counts->aborted_cycles : 0;
  events.running = counts != nullptr ? counts->running : 1;
  const double scale = aborts_ > 0 ? events.aborts / aborts_ : 1;
  // Kish, Survey Sampling, 1965, section 11.7.
  events.equal_samples = cycles_squared_ > 0 ? cycles_ * cycles_ / cycles_squared_ : 0;
  std::vector<const decltype(rows_)::value_type*> order;
  for (const auto& row : rows_) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.cycles, a->second.samples) > std::pair(b->second.cycles, b->second.samples);
  });
  std::size_t named = 0;
  for (const auto* row : order) {
    const Key& key = row->first;
    const Sums& sums = row->second;
    events.cycles += scale * sums.cycles;
    events.by_cause[key.cause] += scale * sums.aborts;
    AbortRow& written = events.rows.emplace_back();
    written.cause = key.cause;
    written.samples = sums.samples;
    written.aborts = scale * sums.aborts;
    written.cycles = scale * sums.cycles;
    if (key.place == 0 || named == kMostWritten) continue;  // one of many places
    ++named;
    const Names& names = images[key.image].names_by_servers();
    written.place = names.code(key.place);
    for (const std::uint64_t caller : key.callers) written.callers.push_back(names.lock_call(caller));
    for (const std::uint64_t call : key.inside) written.inside.push_back(names.code(call));
  }
  keep_most_cycles(events.rows);
  return events;
}

}  // namespace elision::profile
