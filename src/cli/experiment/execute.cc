// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "cli/experiment/metric.h"
#include "cli/host/usage_error.h"

namespace elision::cli::experiment {
namespace {

constexpr double kTimeoutFactor = 20;
constexpr double kShortestTimeoutSeconds = 60;

bool left_out(const Plan& plan, const std::string& design) { return plan.not_run.count(design) != 0; }

// A missing loader shows only when the program is run.
void require_start(const Sample& sample) {
  if (!sample.start_error.empty()) throw UsageError(sample.start_error);
}

void require_metric(const Plan& plan, const Sample& sample) {
  if (!plan.uses_metric() || (plan.judges_designs ? !plan.accepts(sample) : !sample.ended())) return;
  const Metric metric(plan.metric);
  if (!metric.read(sample)) throw UsageError(metric.complaint(sample, plan.program()));
}

/// Hands out cells to workers and collects their samples.
class Queue {
 public:
  Queue(const Plan& plan, Runner& runner, Observer& observer)
      : plan_(plan), cells_(cells_of(plan)), runner_(runner), observer_(observer) {}

  void run_first() {
    Sample sample = runner_.run(cells_.front(), timeout_seconds_ > 0 ? timeout_seconds_ : 1e9);
    if (runner_.cancelled()) return;
    require_start(sample);
    require_metric(plan_, sample);
    if (timeout_seconds_ <= 0) {
      timeout_seconds_ = std::max(kShortestTimeoutSeconds, kTimeoutFactor * sample.host_seconds);
    }
    host_seconds_ = sample.host_seconds;
    const bool lockless = plan_.accepts(sample) && !sample.locks.locks_seen;
    const bool broken = !plan_.accepts(sample) && plan_.thread_counts.size() == 1;
    const bool pointless = plan_.judges_designs && (lockless || broken);
    keep(cells_.front(), std::move(sample));
    next_ = 1;
    if (pointless) next_ = cells_.size();
    if (!pointless && cells_.size() > 1) observer_.estimate(cells_.size(), runner_.workers(), seconds_left());
  }

  void run_rest() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < runner_.workers(); ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

  void set_timeout(double seconds) { timeout_seconds_ = seconds; }

  std::vector<Result> take_results() {
    std::stable_sort(results_.begin(), results_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Result> sorted;
    for (auto& [order, result] : results_) sorted.push_back(std::move(result));
    return sorted;
  }

 private:
  void work() {
    while (const Cell* cell = next()) {
      try {
        Sample sample = runner_.run(*cell, timeout_seconds_);
        if (runner_.cancelled()) return;
        const std::lock_guard guard(mutex_);
        host_seconds_ += sample.host_seconds;
        keep(*cell, std::move(sample));
        observer_.progress(results_.size() + skipped_, cells_.size(), seconds_left());
      } catch (...) {
        const std::lock_guard guard(mutex_);
        error_ = std::current_exception();
        return;
      }
    }
  }

  const Cell* next() {
    const std::lock_guard guard(mutex_);
    while (next_ < cells_.size() && !error_ && !runner_.cancelled()) {
      const Cell& cell = cells_[next_++];
      if (!is_pointless(cell)) return &cell;
      ++skipped_;
    }
    return nullptr;
  }

  // With this number of threads, the design timed out before, or the program fails under the reference
  // design.
  bool is_pointless(const Cell& cell) const {
    return std::any_of(results_.begin(), results_.end(), [&](const auto& entry) {
      const auto& [run, sample] = entry.second;
      const bool timed_out = sample.outcome == Outcome::kTimedOut && run.design == cell.design;
      const bool broken = plan_.judges_designs && run.design == kReference && !plan_.accepts(sample);
      return run.threads == cell.threads && (timed_out || broken);
    });
  }

  void keep(const Cell& cell, Sample sample) {
    const auto order = static_cast<std::size_t>(&cell - cells_.data());
    results_.emplace_back(order, Result{cell, std::move(sample)});
  }

  // Estimates that each cell takes the average time of the finished ones.
  double seconds_left() const {
    const double each = host_seconds_ / static_cast<double>(results_.size());
    const std::size_t left = cells_.size() - results_.size() - skipped_;
    return each * static_cast<double>(left) / runner_.workers();
  }

  const Plan& plan_;
  const std::vector<Cell> cells_;
  Runner& runner_;
  Observer& observer_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t skipped_ = 0;
  double host_seconds_ = 0;
  double timeout_seconds_ = 0;
  std::vector<std::pair<std::size_t, Result>> results_;
  std::exception_ptr error_;
};

}  // namespace

std::vector<Cell> cells_of(const Plan& plan) {
  std::vector<Cell> cells;
  for (const std::optional<unsigned>& threads : plan.thread_counts) {
    for (unsigned run = 0; run < plan.runs; ++run) {
      for (const std::string& design : plan.designs) {
        if (left_out(plan, design)) continue;
        cells.push_back({threads, design, run, plan.first_seed + run, plan.varies() ? run : 0});
      }
    }
  }
  return cells;
}

Execution execute(const Plan& plan, Runner& runner, Observer& observer, double timeout_seconds) {
  Queue queue(plan, runner, observer);
  queue.set_timeout(timeout_seconds);
  queue.run_first();
  if (!runner.cancelled()) queue.run_rest();
  return {queue.take_results(), !runner.cancelled()};
}

}  // namespace elision::cli::experiment
