// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <map>
#include <mutex>
#include <tuple>

#include "cli/experiment/metric.h"
#include "cli/experiment/remaining_time.h"
#include "cli/experiment/time_limit.h"
#include "cli/experiment/workers.h"
#include "cli/host/usage_error.h"

namespace elision::cli::experiment {
namespace {

constexpr double kAddedSeconds = 120;  // on a real CPU, for all rounds that are added

bool left_out(const Plan& plan, const std::string& design) { return plan.not_run.count(design) != 0; }

// The designs in the order of that round.
std::vector<std::string> in_turn(std::vector<std::string> designs, unsigned round) {
  const unsigned pair = round / 2;
  if (pair > 0) {
    boost::random::mt19937 random(pair);
    for (std::size_t last = designs.size(); last-- > 1;)
      std::swap(designs[last],
                designs[boost::random::uniform_int_distribution<std::size_t>(0, last)(random)]);
  }
  if (round % 2 == 1) std::reverse(designs.begin(), designs.end());
  return designs;
}

void add_rounds(const Plan& plan, std::optional<unsigned> threads, const std::vector<std::string>& designs,
                unsigned first, unsigned end, std::vector<Cell>& cells) {
  for (unsigned round = first; round < end; ++round) {
    const unsigned process = round - (round - first) % plan.part.together;
    for (const std::string& design : in_turn(designs, round))
      if (!left_out(plan, design)) cells.push_back(plan.cell_of(threads, design, round, process));
  }
}

// So that there are few passes, which all workers wait for: 3, 5, 7, 10, 14, 20, 28. Windows come in full
// processes.
unsigned rounds_after(const Plan& plan, unsigned rounds) {
  const unsigned after = (7 * rounds + 4) / 5;
  const unsigned processes = (after - rounds + plan.part.together - 1) / plan.part.together;
  return rounds + processes * plan.part.together;
}

// A missing loader shows only when the program is run, and so does a part that does not exist.
void require_start(const Plan& plan, const Sample& sample) {
  if (!sample.start_error.empty()) throw UsageError(sample.start_error);
  if (!sample.missed_part.empty() && !plan.starts_at_second_thread()) throw UsageError(sample.missed_part);
}

void require_metric(const Plan& plan, const Sample& sample) {
  if (!plan.uses_metric() || (plan.judges_designs ? !plan.accepts(sample) : !sample.ended())) return;
  const Metric metric(plan.metric);
  if (!metric.read(sample)) throw UsageError(metric.complaint(sample, plan.program()));
}

/// Hands out cells to workers, those of a process at once, and collects their samples, pass by pass.
class Queue {
 public:
  using Process = std::vector<std::size_t>;

  Queue(const Plan& plan, Runner& runner, Observer& observer, std::vector<Result> tried)
      : plan_(plan),
        cells_(cells_of(plan)),
        processes_(processes_of(cells_)),
        runner_(runner),
        observer_(observer),
        tried_(std::move(tried)) {
    for (const auto& threads : plan.thread_counts) blocks_.push_back({threads, plan.runs});
    for (const Cell& cell : cells_) remaining_.add(cell);
  }

  void run_first() {
    const std::vector<Cell> first = cells_in(processes_.front());
    begun(first.front());
    std::vector<Sample> samples = run(first, timeout_seconds_ > 0 ? timeout_seconds_ : kNoLimit);
    if (runner_.cancelled()) return;
    require_start(plan_, samples.front());
    require_metric(plan_, samples.front());
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (timeout_seconds_ <= 0) seconds_of_first_ += samples[i].host_seconds;
      ended(first[i], samples[i]);
      pass_.emplace_back(processes_.front()[i], Result{first[i], std::move(samples[i])});
    }
    next_ = 1;
    const bool all_over = plan_.thread_counts.size() == 1 && is_over(cells_.front().threads);
    if (!all_over && processes_.size() > 1) observer_.estimate(outlook(), runner_.workers());
  }

  /// Runs the cells that are left.
  void run_pass() {
    share_work(runner_.workers(), [this] { return run_one(); });
    end_pass();
    if (first_seconds_ == 0) first_seconds_ = host_seconds_;
  }

  /// Adds the rounds of the next pass. False: nothing is undecided, or the most rounds or the time are used
  /// up.
  bool add_pass(const Undecided& undecided) {
    std::vector<Cell> added;
    for (Block& block : blocks_) {
      if (block.rounds >= plan_.most_runs || is_over(block.threads)) continue;
      const std::vector<std::string> designs = undecided(results_, block.threads);
      const unsigned end = std::min(rounds_after(plan_, block.rounds), plan_.most_runs);
      add_rounds(plan_, block.threads, designs, block.rounds, end, added);
      block.rounds = designs.empty() ? plan_.most_runs : end;
    }
    if (added.empty() || !in_time(added)) return false;
    for (const Cell& cell : added) remaining_.add(cell);
    for (Process process : processes_of(added)) {
      for (std::size_t& number : process) number += cells_.size();
      processes_.push_back(std::move(process));
    }
    cells_.insert(cells_.end(), added.begin(), added.end());
    return true;
  }

  void set_timeout(double seconds) { timeout_seconds_ = seconds; }

  const RemainingTime& remaining() const { return remaining_; }

  std::vector<Result> take_results() {
    end_pass();
    drop_beside_lockless();
    std::stable_sort(results_.begin(), results_.end(), [this](const Result& a, const Result& b) {
      return place_of(a.cell) < place_of(b.cell);
    });
    return std::move(results_);
  }

 private:
  /// The rounds with one number of threads.
  struct Block {
    std::optional<unsigned> threads;
    unsigned rounds = 0;
  };

  void end_pass() {
    std::stable_sort(pass_.begin(), pass_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [order, result] : pass_) results_.push_back(std::move(result));
    pass_.clear();
  }

  std::vector<Cell> cells_in(const Process& process) const {
    std::vector<Cell> cells;
    for (const std::size_t number : process) cells.push_back(cells_[number]);
    return cells;
  }

  std::vector<Sample> run(const std::vector<Cell>& cells, double timeout_seconds) {
    std::vector<Sample> known;
    for (const Cell& cell : cells)
      for (const Result& result : tried_)
        if (result.cell.threads == cell.threads && result.cell.run == cell.run &&
            result.cell.design == cell.design)
          known.push_back(result.sample);
    if (known.size() == cells.size()) return known;
    return runner_.run(cells, timeout_seconds);
  }

  // The later the last window begins, the more runs in front of it.
  double limit_of(const std::vector<Cell>& cells) const {
    if (timeout_seconds_ > 0) return timeout_seconds_;
    if (!plan_.samples()) return time_limit(seconds_of_first_);
    const auto last = [this](const std::vector<Cell>& windows) {
      std::uint64_t begin = 0;
      for (const Cell& window : windows)
        begin = std::max(begin, plan_.windows.at(window.threads).at(window.run).start.value);
      return static_cast<double>(begin);
    };
    return time_limit(seconds_of_first_ * std::max(1.0, last(cells) / last(cells_in(processes_.front()))));
  }

  // False: no cell is left, or the comparison was stopped.
  bool run_one() {
    const Process* const process = next();
    if (process == nullptr) return false;
    const std::vector<Cell> cells = cells_in(*process);
    std::vector<Sample> samples = run(cells, limit_of(cells));
    if (runner_.cancelled()) return false;
    const std::lock_guard guard(mutex_);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      ended(cells[i], samples[i]);
      pass_.emplace_back((*process)[i], Result{cells[i], std::move(samples[i])});
    }
    observer_.progress(outlook());
    return true;
  }

  const Process* next() {
    const std::lock_guard guard(mutex_);
    while (next_ < processes_.size() && !runner_.cancelled()) {
      const Process& process = processes_[next_++];
      if (!is_pointless(cells_[process.front()])) {
        begun(cells_[process.front()]);
        return &process;
      }
      for (const std::size_t number : process) remaining_.leave_out(cells_[number]);
      settled_ += process.size();
    }
    return nullptr;
  }

  void begun(const Cell& cell) {
    running_ = words_of(cell);
    observer_.progress(outlook());
  }

  void ended(const Cell& cell, const Sample& sample) {
    host_seconds_ += sample.host_seconds;
    remaining_.end(cell, sample.host_seconds);
    ++settled_;
  }

  Outlook outlook() const {
    const bool may_grow = plan_.cells.empty() &&
                          std::any_of(blocks_.begin(), blocks_.end(),
                                      [&](const Block& block) { return block.rounds < plan_.most_runs; });
    Outlook outlook{settled_, cells_.size(), may_grow, std::nullopt, running_};
    if (settled_ > 0) outlook.seconds_left = remaining_.seconds_left() / runner_.workers();
    return outlook;
  }

  // Calls `use` with each result so far.
  template <class Use>
  void for_each_result(Use use) const {
    for (const Result& result : results_) use(result);
    for (const auto& [order, result] : pass_) use(result);
  }

  // With this number of threads, the program fails under the reference design, or took no lock in the first
  // run.
  bool is_over(std::optional<unsigned> threads) const {
    bool over = false;
    for_each_result([&](const Result& result) {
      if (result.cell.threads != threads || result.cell.design != plan_.reference()) return;
      over |= !plan_.accepts(result.sample) || takes_no_lock(result);
    });
    return plan_.judges_designs && over;
  }

  bool is_first(const Cell& cell) const {
    return cell.design == plan_.reference() && cell.first_of_process() == 0;
  }
  bool takes_no_lock(const Result& result) const {
    return is_first(result.cell) && plan_.accepts(result.sample) && !result.sample.locks.locks_seen;
  }

  // How many others ran beside a first run without locks depends on the host.
  void drop_beside_lockless() {
    if (!plan_.judges_designs) return;
    std::vector<std::optional<unsigned>> lockless;
    for (const Result& result : results_)
      if (takes_no_lock(result)) lockless.push_back(result.cell.threads);
    std::erase_if(results_, [&](const Result& result) {
      return !is_first(result.cell) &&
             std::find(lockless.begin(), lockless.end(), result.cell.threads) != lockless.end();
    });
  }

  // By number of threads, then by round. Within a round, results have its order already.
  std::pair<std::ptrdiff_t, unsigned> place_of(const Cell& cell) const {
    const auto& counts = plan_.thread_counts;
    return {std::find(counts.begin(), counts.end(), cell.threads) - counts.begin(), cell.run};
  }

  bool has_budget() const { return plan_.rounds_seconds > 0 && plan_.cells.empty(); }

  // Rounds end with the budget, but for the first ones, without which there is no interval.
  bool is_beyond_budget(const Cell& cell) const {
    return has_budget() && cell.run >= plan_.default_rounds().first &&
           host_seconds_ > plan_.rounds_seconds * runner_.workers();
  }

  // Or the design timed out before with this number of threads.
  bool is_pointless(const Cell& cell) const {
    if (is_beyond_budget(cell)) return true;
    bool timed_out = false;
    for_each_result([&](const Result& result) {
      timed_out |= result.sample.outcome == Outcome::kTimedOut && result.cell.threads == cell.threads &&
                   result.cell.design == cell.design;
    });
    return timed_out || is_over(cell.threads);
  }

  // Without a budget, virtual results must not depend on the speed of the host.
  bool in_time(const std::vector<Cell>& added) const {
    double expected = 0;
    for (const Cell& cell : added) expected += remaining_.expected_seconds(cell);
    if (has_budget()) return host_seconds_ + expected <= plan_.rounds_seconds * runner_.workers();
    if (plan_.model) return true;
    return host_seconds_ - first_seconds_ + expected <= std::max(kAddedSeconds, first_seconds_);
  }

  const Plan& plan_;
  std::vector<Cell> cells_;         // these two change only between passes
  std::vector<Process> processes_;  // that run them
  std::vector<Block> blocks_;
  Runner& runner_;
  Observer& observer_;
  const std::vector<Result> tried_;
  std::mutex mutex_;
  std::size_t next_ = 0;     // of the processes
  std::size_t settled_ = 0;  // cells that have ended or are left out
  std::string running_;
  RemainingTime remaining_;
  double host_seconds_ = 0;
  double first_seconds_ = 0;                          // host_seconds_ after the first pass
  double timeout_seconds_ = 0;                        // of each run, from the user; 0: by the first run
  double seconds_of_first_ = 0;                       // that the first process took
  std::vector<Result> results_;                       // of finished passes, in the order of their cells
  std::vector<std::pair<std::size_t, Result>> pass_;  // of the current pass, by the number of the cell
};

}  // namespace

std::string words_of(unsigned threads) {
  return fmt::format("{} {}", threads, threads == 1 ? "thread" : "threads");
}

std::string words_of(const Cell& cell) {
  return cell.threads ? fmt::format("{} with {}", cell.design, words_of(*cell.threads)) : cell.design;
}

std::vector<Cell> cells_of(const Plan& plan) {
  if (!plan.cells.empty()) return plan.cells;
  std::vector<Cell> cells;
  for (const auto& threads : plan.thread_counts) add_rounds(plan, threads, plan.designs, 0, plan.runs, cells);
  return cells;
}

std::vector<std::vector<std::size_t>> processes_of(const std::vector<Cell>& cells) {
  std::vector<std::vector<std::size_t>> processes;
  std::map<std::tuple<std::optional<unsigned>, std::string, unsigned>, std::size_t> known;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const auto [process, is_new] =
        known.emplace(std::tuple(cell.threads, cell.design, cell.first_of_process()), processes.size());
    if (is_new) processes.emplace_back();
    processes[process->second].push_back(i);
  }
  return processes;
}

Execution execute(const Plan& plan, Runner& runner, Observer& observer, double timeout_seconds,
                  const Undecided& undecided, std::vector<Result> tried) {
  Queue queue(plan, runner, observer, std::move(tried));
  queue.set_timeout(timeout_seconds);
  queue.run_first();
  if (!runner.cancelled()) queue.run_pass();
  const bool adds = undecided && plan.cells.empty();
  while (adds && !runner.cancelled() && queue.add_pass(undecided)) queue.run_pass();
  return {queue.take_results(), !runner.cancelled(), queue.remaining()};
}

}  // namespace elision::cli::experiment
