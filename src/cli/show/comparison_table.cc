// SPDX-License-Identifier: Apache-2.0
#include "cli/show/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/judge/scaling.h"
#include "cli/options/designs.h"
#include "cli/show/format.h"
#include "cli/show/known_counts.h"
#include "cli/show/report_json.h"

namespace elision::cli::experiment {
namespace {

std::string format_aborts(const LockCounts& locks) {
  std::vector<std::pair<std::string, std::uint64_t>> causes(locks.aborts.begin(), locks.aborts.end());
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [cause, count] : causes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, format_count(static_cast<double>(count)));
  }
  return text.empty() ? kNoValue : text;
}

std::string count_or_dash(const std::optional<std::uint64_t>& count) {
  return count ? format_count(static_cast<double>(*count)) : kNoValue;
}

std::vector<TableColumn> columns(const Plan& plan) {
  const char* value = plan.uses_metric() ? "result"
                      : plan.samples()   ? "a section"
                      : plan.model       ? "virtual time"
                                         : "time";
  std::vector<TableColumn> list = {{"design", true}, {value}};
  if (plan.varies()) {
    list.insert(list.end(), {{fmt::format("to {}", plan.reference())}, {"best in"}});
  } else {
    list.insert(list.end(), {{"speedup"}, {fmt::format("{:.0f} % interval", 100 * kConfidence)}});
  }
  list.insert(list.end(), {{"CPU time"}, {"commits"}, {"fallbacks"}});
  if (plan.compares_locks()) {
    list.insert(list.end(), {{"speculations"}, {"longest wait"}});
  } else {
    list.insert(list.end(), {{"accesses a segment"}, {"segments aborted"}, {"write-backs"}});
  }
  list.push_back({"aborts by cause", true});
  return list;
}

std::string format_value(const Plan& plan, const Range& value) {
  if (plan.varies()) return plan.uses_metric() ? format_count(value) : format_seconds(value);
  return plan.uses_metric() ? format_count(value.median) : format_seconds(value.median);
}

std::string format_ratio(const Range& ratio) {
  return fmt::format("{}x [{} - {}]", ratio_text(ratio.median), ratio_text(ratio.low),
                     ratio_text(ratio.high));
}

// The reference design has no interval to itself.
std::string format_interval(const Plan& plan, const Row& row) {
  if (!row.interval || row.design == plan.reference()) return kNoValue;
  return fmt::format("[{} - {}]", ratio_text(row.interval->low), ratio_text(row.interval->high));
}

std::string share_or_dash(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? kNoValue
                    : fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

/// Of ALE's fallback: accesses in a segment, aborts of its attempts, and write-backs that committed in
/// hardware.
void add_tm_cells(const std::optional<abi::TmCounters>& tm, std::vector<std::string>& line) {
  if (!tm) {
    line.insert(line.end(), 3, kNoValue);
    return;
  }
  line.push_back(tm->segments == 0 ? kNoValue
                                   : fmt::format("{:.1f}", static_cast<double>(tm->segment_accesses) /
                                                               static_cast<double>(tm->segments)));
  line.push_back(share_or_dash(tm->segment_aborts, tm->segments + tm->segment_aborts));
  line.push_back(share_or_dash(tm->write_backs - std::min(tm->write_backs, tm->write_backs_under_lock),
                               tm->write_backs));
}

std::vector<std::string> cells(const Plan& plan, const Row& row) {
  const KnownCounts known = known_counts(row.design, row.locks);
  std::vector<std::string> line = {row.design, format_value(plan, row.value)};
  if (plan.varies()) {
    line.push_back(row.speedup > 0 ? format_ratio(row.ratio) : kNoValue);
    line.push_back(fmt::format("{}/{}", row.leads, plan.variations.size()));
  } else {
    line.push_back(row.speedup > 0 ? ratio_text(row.speedup) + "x" : kNoValue);
    line.push_back(format_interval(plan, row));
  }
  line.insert(line.end(), {format_seconds(row.cpu_seconds), count_or_dash(known.commits),
                           count_or_dash(known.fallbacks)});
  if (!plan.compares_locks()) {
    add_tm_cells(row.locks.tm, line);
  } else {
    line.insert(line.end(),
                {count_or_dash(known.speculations),
                 known.longest_wait_seconds ? format_seconds(*known.longest_wait_seconds) : kNoValue});
  }
  line.push_back(format_aborts(row.locks));
  return line;
}

// A number as programs read it: all its digits.
std::string exact(double value) { return fmt::format("{}", value); }
std::string exact(std::uint64_t value) { return fmt::format("{}", value); }
template <class Number>
std::string exact(const std::optional<Number>& value) {
  return value ? exact(*value) : "";
}

/// The columns of the values and how each is read off a row.
class Values {
 public:
  Values(const Plan& plan, const std::vector<Block>& blocks) : scaling_(scaling_of(plan, blocks)) {
    for (const Block& block : blocks) {
      for (const Row& row : block.rows) {
        for (const auto& [cause, count] : row.locks.aborts) causes_.insert(cause);
        timed_ |= row.why.has_value();
      }
    }
  }

  std::vector<TableColumn> columns() const {
    std::vector<TableColumn> list;
    for (const char* name : {"threads", "design", "state", "best", "remark", "runs", "result", "result_low",
                             "result_high", "speedup", "speedup_low", "speedup_high", "cpu_seconds",
                             "acquisitions", "commits", "fallbacks", "speculations", "longest_wait_seconds"})
      list.push_back({name});
    for (const std::string& cause : causes_) list.push_back({"aborts_" + cause});
    if (scaling_) list.insert(list.end(), {{"relative_throughput"}, {"stops_scaling_at"}});
    if (!timed_) return list;
    for (const char* part : profile::kStateNames) list.push_back({std::string("time_") + part});
    return list;
  }

  std::vector<std::string> cells(const Block& block, const Row& row) const {
    std::vector<std::string> line = {block.threads ? fmt::format("{}", *block.threads) : "", row.design,
                                     name_of(row.state), row.best ? "true" : "false", row.remark};
    if (row.state != RowState::kGood) return line;
    const KnownCounts counts = known_counts(row.design, row.locks);
    line.insert(line.end(),
                {exact(std::uint64_t{row.runs}), exact(row.value.median), exact(row.value.low),
                 exact(row.value.high), row.speedup > 0 ? exact(row.speedup) : "",
                 row.interval ? exact(row.interval->low) : "", row.interval ? exact(row.interval->high) : "",
                 exact(row.cpu_seconds), exact(counts.acquisitions), exact(counts.commits),
                 exact(counts.fallbacks), exact(counts.speculations), exact(counts.longest_wait_seconds)});
    for (const std::string& cause : causes_) {
      const auto found = row.locks.aborts.find(cause);
      const std::uint64_t count = found == row.locks.aborts.end() ? 0 : found->second;
      line.push_back(counts.has_aborts ? exact(count) : "");
    }
    if (scaling_) add_scaling(block, row, line);
    if (row.why) {
      for (const double share : row.why->time) line.push_back(exact(share));
    }
    return line;
  }

 private:
  void add_scaling(const Block& block, const Row& row, std::vector<std::string>& line) const {
    std::string relative, stops;
    for (const ScalingCurve& curve : scaling_->curves) {
      if (curve.design != row.design) continue;
      stops = curve.stops_at ? fmt::format("{}", *curve.stops_at) : "";
      for (const ScalingPoint& point : curve.points) {
        if (point.threads == block.threads) relative = exact(point.relative);
      }
    }
    line.insert(line.end(), {relative, stops});
  }

  std::optional<Scaling> scaling_;
  std::set<std::string> causes_;
  bool timed_ = false;
};

/// Whether a design was not run because nothing could be compared with it, which the verdict says.
bool is_without_reference(const Plan& plan, const Block& block, const Row& row) {
  return row.state == RowState::kNotRun && block.verdict.kind == VerdictKind::kNoReference &&
         row.design != plan.reference() && !plan.not_run.contains(row.design);
}

}  // namespace

Table comparison_table(const Plan& plan, const Block& block) {
  Table table{columns(plan), {}};
  for (const Row& row : block.rows) {
    if (row.state == RowState::kGood) {
      table.rows.push_back({cells(plan, row), "", row.best ? Tone::kGood : Tone::kPlain});
    } else if (!is_without_reference(plan, block, row)) {
      table.rows.push_back(
          {{row.design}, row.remark, row.state == RowState::kNotRun ? Tone::kPlain : Tone::kBad});
    }
  }
  return table;
}

Table comparison_values(const Plan& plan, const std::vector<Block>& blocks) {
  const Values values(plan, blocks);
  Table table{values.columns(), {}};
  for (const Block& block : blocks) {
    for (const Row& row : block.rows) table.rows.push_back({values.cells(block, row), "", Tone::kPlain});
  }
  return table;
}

}  // namespace elision::cli::experiment
