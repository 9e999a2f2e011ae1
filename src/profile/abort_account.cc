// SPDX-License-Identifier: Apache-2.0
#include "profile/abort_account.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>

namespace elision::profile {
namespace {

constexpr std::size_t kMostCalls = 32;   // that are followed
constexpr std::size_t kMostCallers = 8;  // that are kept

/// The calls that led to the sample, innermost first: by the copy of the stack, or by frame pointers.
std::vector<CallStep> calls_of(const PerfSample& sample, ProcessImage& image) {
  if (sample.state && !sample.stack.empty()) {
    const StackBytes stack{sample.stack.data(), sample.stack.size()};
    return image.unwinder().backtrace(*sample.state, &stack, kMostCalls);
  }
  std::vector<CallStep> chain;
  for (const std::uint64_t call : sample.calls)
    if (chain.size() < kMostCalls) chain.push_back({call, !chain.empty()});
  return chain;
}

/// Return addresses of the calls that led into the lock library; if the transaction began outside of it, the
/// place where it did, and the calls that led there.
std::vector<std::uint64_t> callers_of_library(const std::vector<CallStep>& chain, const Names& names) {
  std::vector<std::uint64_t> callers;
  for (const CallStep& step : chain) {
    const Mapping* const mapping = names.mapping_of(step.place());
    if (mapping != nullptr && is_lock_library(*mapping))
      callers.clear();
    else
      callers.push_back(step.pc);
  }
  if (callers.size() > kMostCallers) callers.resize(kMostCallers);
  return callers;
}

}  // namespace

std::string cause_of(std::uint64_t transaction) {
  const std::uint64_t code = (transaction & PERF_TXN_ABORT_MASK) >> PERF_TXN_ABORT_SHIFT;
  if (code == kLockBusyCodes[0] || code == kLockBusyCodes[1]) return "lock-busy";
  if (code != 0) return "explicit";
  if ((transaction & PERF_TXN_CONFLICT) != 0) return "conflict";
  if ((transaction & (PERF_TXN_CAPACITY_READ | PERF_TXN_CAPACITY_WRITE)) != 0) return "capacity";
  return (transaction & PERF_TXN_SYNC) != 0 ? "instruction" : "interrupt";
}

void AbortAccount::add(const PerfSample& sample, ProcessImages& images, std::size_t image) {
  const double period = static_cast<double>(std::max<std::uint64_t>(sample.period, 1));
  const std::string cause = cause_of(sample.transaction);
  ProcessImage& code = images[image];
  Key key{image, cause, sample.ip, callers_of_library(calls_of(sample, code), code.names())};
  if (rows_.size() >= kMostRows && !rows_.contains(key)) std::get<3>(key).clear();
  if (rows_.size() >= 2 * kMostRows && !rows_.contains(key)) key = {0, cause, 0, {}};
  Sums& row = rows_[key];
  ++row.samples;
  row.aborts += period;
  row.cycles += period * static_cast<double>(sample.weight);
  ++samples_;
  aborts_ += period;
}

AbortEvents AbortAccount::events(ProcessImages& images, const AbortCounts* counts) const {
  AbortEvents events;
  events.samples = samples_;
  events.lost = lost_;
  events.sampled_aborts = aborts_;
  events.aborts = counts != nullptr ? counts->aborts : aborts_;
  events.commits = counts != nullptr ? counts->commits : 0;
  events.counted_cycles = counts != nullptr ? counts->aborted_cycles : 0;
  events.running = counts != nullptr ? counts->running : 1;
  const double scale = aborts_ > 0 ? events.aborts / aborts_ : 1;
  std::vector<const decltype(rows_)::value_type*> order;
  for (const auto& row : rows_) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.cycles, a->second.samples) > std::pair(b->second.cycles, b->second.samples);
  });
  for (const auto* row : order) {
    const auto& [image, cause, address, callers] = row->first;
    const Sums& sums = row->second;
    events.cycles += scale * sums.cycles;
    events.by_cause[cause] += scale * sums.aborts;
    if (events.rows.size() == kMostWritten) continue;
    const Names& names = images[image].names();
    AbortRow& written = events.rows.emplace_back();
    if (address != 0) written.place = names.code(address);
    written.cause = cause;
    for (const std::uint64_t caller : callers) written.callers.push_back(names.lock_call(caller));
    written.samples = sums.samples;
    written.aborts = scale * sums.aborts;
    written.cycles = scale * sums.cycles;
  }
  return events;
}

}  // namespace elision::profile
