// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "cli/experiment/metric.h"
#include "cli/judge/output_filter.h"
#include "cli/judge/verdict.h"
#include "cli/judge/warm_up.h"

namespace elision::cli::experiment {
namespace {

using Results = std::vector<const Result*>;

constexpr const char* kNothingYet = "Nothing is decided yet: no other design has a result.";
constexpr const char* kStoppedEarly = "Stopped early. ";

Results results_of(const std::vector<Result>& results, const std::optional<unsigned>& threads,
                   const std::string& design) {
  Results found;
  for (const Result& result : results) {
    if (result.cell.threads == threads && result.cell.design == design) found.push_back(&result);
  }
  return found;
}

// A crash report of the virtual machine (vm/report/crash_report.h) in a few words: "SIGSEGV (address not
// mapped) at 0x10 in prog, update at prog.c:12". The place is the innermost one in the program itself.
std::string summary(const std::vector<std::string>& report) {
  if (report.empty()) return "";
  std::string_view first = report.front();
  first = first.substr(0, first.find(", thread "));
  const std::size_t in = first.rfind(" in ");
  if (in == std::string_view::npos) return report.front();
  const std::string_view path = first.substr(in + 4);
  const std::string file = fmt::format("({}", path.substr(path.rfind('/') + 1));
  for (const std::string& line : report) {
    const std::size_t address = line.find("0x"), begin = line.find(' ', address), end = line.find(file);
    if (!line.starts_with("  #") || begin == std::string::npos || end == std::string::npos) continue;
    const std::size_t behind = end + file.size();
    if (line[behind] == ')' && begin + 1 < end)
      return fmt::format("{}, {}", first, line.substr(begin + 1, end - begin - 2));
    if (line[behind] == '+')
      return fmt::format("{}, {}", first, line.substr(end + 1, line.find(')') - end - 1));
  }
  return std::string(first);
}

// The program's last line on standard error, usually the reason. Without one, the virtual machine's crash
// report.
std::string last_words(const Sample& sample) {
  const std::string prefix = "elision vm: ";
  std::string own;
  std::vector<std::string> report;
  std::istringstream lines(sample.error_output);
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.starts_with(prefix)) {
      report.push_back(line.substr(prefix.size()));
    } else if (!line.empty()) {
      own = line;
    }
  }
  if (sample.deadlocked) return "";
  if (!sample.missed_part.empty()) return sample.missed_part;
  return own.empty() ? summary(report) : own;
}

std::string limit_text(double seconds) {
  return seconds < 100 ? fmt::format("{:.3g}", seconds) : fmt::format("{:.0f}", seconds);
}

/// Makes rows of the samples with one number of threads.
class BlockAnalysis {
 public:
  BlockAnalysis(const Plan& plan, const std::vector<Result>& results, std::optional<unsigned> threads)
      : plan_(plan), results_(results), threads_(threads) {
    if (plan.uses_metric()) metric_.emplace(plan.metric);
    reference_ = results_of(results, threads, plan.reference());
    for (const Result& result : results) {
      if (result.cell.threads == threads) rounds_ = std::max(rounds_, std::size_t{result.cell.run} + 1);
    }
    std::vector<std::string> outputs;
    for (const Result* result : reference_) outputs.push_back(comparable_output(result->sample));
    if (!outputs.empty() && plan.compare_output) filter_.emplace(outputs, plan.uses_metric());
  }

  /// Values come from the rounds from `first_round` on.
  Row row(const std::string& design, std::size_t first_round) const {
    Row row;
    row.design = design;
    const auto left_out = plan_.not_run.find(design);
    const Results results = results_of(results_, threads_, design);
    if (left_out != plan_.not_run.end() || results.empty()) {
      row.remark = left_out != plan_.not_run.end() ? left_out->second : "not run";
      return row;
    }
    row.state = RowState::kGood;
    for (const Result* result : results) {
      if (row.state != RowState::kGood) break;
      check(*result, row);
      if (row.state != RowState::kGood && plan_.varies())
        row.remark += fmt::format(", in variation {}", result->cell.variation);
    }
    collect(results, first_round, row);
    return row;
  }

 private:
  std::string comparable_output(const Sample& sample) const {
    return metric_ ? metric_->without(sample.output) : sample.output;
  }

  std::optional<double> value_of(const Sample& sample) const {
    if (sample.has_no_section) return std::nullopt;
    return metric_ ? metric_->read(sample) : sample.seconds;
  }

  // The program's exit code under the reference design, on the same variation of the machine.
  std::optional<int> expected_status(const Cell& cell) const {
    for (const Result* result : reference_) {
      if (result->cell.variation == cell.variation) return result->sample.status;
    }
    return std::nullopt;
  }

  // With ignore_failure any exit code under the reference design is accepted, but never a signal, a deadlock
  // or a timeout.
  void check(const Result& result, Row& row) const {
    const Sample& sample = result.sample;
    const bool is_reference = row.design == plan_.reference();
    if (sample.outcome == Outcome::kTimedOut) {
      fail(row, RowState::kTimedOut, fmt::format("did not end within {} s", limit_text(sample.most_seconds)));
    } else if (!sample.ended() || (is_reference && !plan_.accepts(sample)) ||
               sample.status != expected_status(result.cell).value_or(sample.status)) {
      const std::string words = last_words(sample);
      fail(row, RowState::kFailed, describe_end(sample) + (words.empty() ? "" : ": " + words));
      row.end = describe_end(sample);
      row.has_exit_code = sample.ended();
    } else if (!sample.missed_part.empty()) {
      fail(row, RowState::kFailed, sample.missed_part);
      row.end = "failed: " + sample.missed_part;
    } else if (!value_of(sample) && !sample.has_no_section) {
      fail(row, RowState::kNoMetric, "printed nothing that the metric matches");
    } else if (filter_ && !is_reference) {
      if (const auto difference = filter_->difference(comparable_output(sample))) {
        fail(row, RowState::kDifferentOutput, "printed something else: " + *difference);
      }
    }
  }

  static void fail(Row& row, RowState state, std::string remark) {
    row.state = state;
    row.remark = std::move(remark);
  }

  void collect(const Results& results, std::size_t first_round, Row& row) const {
    std::vector<std::pair<double, const Sample*>> values;
    row.values.resize(rounds_);
    row.sections_an_instruction.resize(rounds_);
    for (const Result* result : results) {
      row.locks.locks_seen |= result->sample.locks.locks_seen;
      if (result->cell.run < first_round) continue;
      const auto value = value_of(result->sample);
      if (value) values.emplace_back(*value, &result->sample);
      row.values[result->cell.run] = value;
      row.sections_an_instruction[result->cell.run] = result->sample.sections_an_instruction;
    }
    if (row.state != RowState::kGood) return;
    if (values.empty() && plan_.samples())
      return fail(row, RowState::kNoMetric,
                  "took no lock in any window, or ended before: try another --sample-length");
    if (values.empty()) return fail(row, RowState::kNotRun, "not run after the cold rounds");
    std::stable_sort(values.begin(), values.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto& [median, middle] = values[(values.size() - 1) / 2];
    row.runs = static_cast<unsigned>(values.size());
    row.value = {median, values.front().first, values.back().first};
    row.cpu_seconds = middle->cpu_seconds;
    const bool seen = row.locks.locks_seen;
    row.locks = middle->locks;
    row.locks.locks_seen = seen;
    for (const auto& [value, sample] : values) {
      row.locks.longest_wait_seconds =
          std::max(row.locks.longest_wait_seconds, sample->locks.longest_wait_seconds);
    }
  }

  const Plan& plan_;
  const std::vector<Result>& results_;
  std::optional<unsigned> threads_;
  std::optional<Metric> metric_;
  std::optional<OutputFilter> filter_;
  Results reference_;
  std::size_t rounds_ = 0;
};

bool higher_is_better(const Plan& plan) { return plan.uses_metric() && !plan.lower_is_better; }

double speedup_of(const Plan& plan, double value, double reference) {
  return higher_is_better(plan) ? value / reference : reference / value;
}

std::size_t cold_rounds_of(const Plan& plan, const std::vector<Row>& rows) {
  std::vector<Costs> designs;
  for (const Row& row : rows) {
    if (row.state != RowState::kGood) continue;
    Costs costs = row.values;
    for (auto& cost : costs) {
      if (cost && higher_is_better(plan)) cost = *cost > 0 ? std::optional(1 / *cost) : std::nullopt;
    }
    designs.push_back(std::move(costs));
  }
  return cold_rounds(designs, plan.runs / 3, smallest_gain(plan));
}

}  // namespace

std::optional<Interval> interval_of_windows(const Row& row, const Row& reference) {
  std::vector<TimesOfWindow> windows;
  for (std::size_t i = 0; i < std::min(row.values.size(), reference.values.size()); ++i) {
    const double weight = row.sections_an_instruction[i];
    const double first = weight * reference.values[i].value_or(0),
                 second = weight * row.values[i].value_or(0);
    if (first > 0 && second > 0) windows.push_back({first, second});
  }
  std::optional<Interval> interval = interval_of_sums(windows);
  if (interval)
    *interval = {interval->ratio, interval->low / kWindowsLeaveOut, interval->high * kWindowsLeaveOut};
  return interval;
}

namespace {

// Compares each run with the reference's run in the same round, since a change of both is no difference.
void fill_ratios(const Plan& plan, const Row& reference, Row& row) {
  std::vector<double> known;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    auto& ratio = row.ratios.emplace_back();
    if (row.values[i].value_or(0) <= 0 || reference.values[i].value_or(0) <= 0) continue;
    ratio = speedup_of(plan, *row.values[i], *reference.values[i]);
    known.push_back(*ratio);
  }
  row.ratio = range_of(known);
  row.speedup = row.ratio.median;
  if (!plan.varies())
    row.interval = plan.samples() ? interval_of_windows(row, reference) : interval_of(known);
  if (row.interval) row.speedup = row.interval->ratio;
}

// Runs of other designs that began before the reference design failed.
void withdraw(const Plan& plan, std::vector<Row>& rows) {
  for (Row& row : rows) {
    if (row.state != RowState::kGood) continue;
    Row other;
    other.design = row.design;
    other.locks.locks_seen = row.locks.locks_seen;
    row = std::move(other);
    row.remark = fmt::format("not compared, since {} has no result", plan.reference());
  }
}

void fill_speedups(const Plan& plan, std::vector<Row>& rows) {
  const Row& reference = rows.front();
  if (reference.state != RowState::kGood) return withdraw(plan, rows);
  for (Row& row : rows) {
    if (row.state != RowState::kGood) continue;
    row.sections_an_instruction = reference.sections_an_instruction;
    fill_ratios(plan, reference, row);
  }
}

void fill_leads(const Plan& plan, std::vector<Row>& rows) {
  for (std::size_t i = 0; i < plan.variations.size(); ++i) {
    double most = 0;
    const auto ratio = [i](const Row& row) {
      return i < row.ratios.size() ? row.ratios[i].value_or(0) : 0.0;
    };
    for (const Row& row : rows) most = std::max(most, ratio(row));
    for (Row& row : rows) {
      if (most > 0 && ratio(row) == most) ++row.leads;
    }
  }
}

}  // namespace

std::string describe_end(const Sample& sample) {
  if (sample.deadlocked) return "deadlocked: every thread waited for another";
  if (sample.outcome == Outcome::kTimedOut) return "did not end in time";
  if (sample.outcome == Outcome::kKilled) return fmt::format("was killed by {}", strsignal(sample.status));
  return fmt::format("ended with exit code {}", sample.status);
}

Block block_of(const Plan& plan, const std::vector<Result>& results, std::optional<unsigned> threads) {
  const BlockAnalysis analysis(plan, results, threads);
  const auto rows_from = [&](std::size_t first_round) {
    std::vector<Row> rows;
    for (const std::string& design : plan.designs) rows.push_back(analysis.row(design, first_round));
    return rows;
  };
  Block block;
  block.threads = threads;
  block.rows = rows_from(0);
  if (!plan.model) block.cold_rounds = static_cast<unsigned>(cold_rounds_of(plan, block.rows));
  if (block.cold_rounds > 0) block.rows = rows_from(block.cold_rounds);
  fill_speedups(plan, block.rows);
  fill_leads(plan, block.rows);
  return block;
}

std::vector<Block> analyse(const Plan& plan, const std::vector<Result>& results, bool complete) {
  std::vector<Block> blocks;
  for (const std::optional<unsigned>& threads : plan.thread_counts)
    blocks.push_back(block_of(plan, results, threads));
  const bool ever_locks = std::any_of(blocks.begin(), blocks.end(),
                                      [&](const Block& block) { return any_lock_seen(plan, block); });
  for (Block& block : blocks) {
    block.verdict = judge(plan, block, ever_locks);
    if (!complete && block.verdict.kind == VerdictKind::kNoOther) {
      block.verdict.sentence = kNothingYet;
      block.verdict.design.clear();
    }
    for (Row& row : block.rows) row.best = row.design == block.verdict.design;
    if (!complete) block.verdict.sentence = kStoppedEarly + block.verdict.sentence;
  }
  return blocks;
}

}  // namespace elision::cli::experiment
