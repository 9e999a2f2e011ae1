// SPDX-License-Identifier: Apache-2.0
#include "cli/show/report_json.h"

#include <algorithm>

#include "cli/experiment/execute.h"
#include "cli/experiment/metric.h"
#include "cli/experiment/program_runners.h"
#include "cli/host/json_text.h"
#include "cli/host/shell_words.h"
#include "cli/judge/explanation.h"
#include "cli/judge/scaling.h"
#include "cli/show/format.h"
#include "cli/show/known_counts.h"
#include "cli/show/scaling_table.h"
#include "cli/show/statistics_json.h"
#include "cli/show/why_json.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

const char* name_of(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kUse:
      return "use";
    case VerdictKind::kOneRun:
      return "one-run";
    case VerdictKind::kKeep:
      return "keep";
    case VerdictKind::kNoGain:
      return "no-gain";
    case VerdictKind::kUnsettled:
      return "unsettled";
    case VerdictKind::kNoOther:
      return "no-other";
    case VerdictKind::kNotInEvery:
      return "not-in-every-variation";
    case VerdictKind::kNoLocks:
      return "no-locks";
    case VerdictKind::kNoReference:
      return "no-reference";
  }
  return "unknown";
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kEnded:
      return "ended";
    case Outcome::kKilled:
      return "killed";
    case Outcome::kTimedOut:
      return "timed-out";
  }
  return "unknown";
}

json tm_json(const abi::TmCounters& tm) {
  return {{"plain_commits", tm.plain_commits},
          {"read_only_commits", tm.read_only_commits},
          {"logged_commits", tm.logged_commits},
          {"fallback_commits", tm.fallback_commits},
          {"serial_commits", tm.serial_commits},
          {"cancels", tm.cancels},
          {"validation_aborts", tm.validation_aborts},
          {"segments", tm.segments},
          {"segment_accesses", tm.segment_accesses},
          {"segment_aborts", tm.segment_aborts},
          {"software_segments", tm.software_segments},
          {"write_backs", tm.write_backs},
          {"write_backs_under_lock", tm.write_backs_under_lock}};
}

json counts_json(const std::string& design, const LockCounts& locks) {
  const KnownCounts known = known_counts(design, locks);
  json counts = {{"locks_seen", locks.locks_seen},
                 {"acquisitions", or_null(known.acquisitions)},
                 {"commits", or_null(known.commits)},
                 {"aborts", locks.aborts},
                 {"fallbacks", or_null(known.fallbacks)},
                 {"speculations", or_null(known.speculations)},
                 {"longest_wait_seconds", or_null(known.longest_wait_seconds)}};
  if (locks.tm) counts["transactional_memory"] = tm_json(*locks.tm);
  return counts;
}

json ratios_json(const std::vector<std::optional<double>>& ratios) {
  json list = json::array();
  for (const std::optional<double>& ratio : ratios) list.push_back(or_null(ratio));
  return list;
}

json row_json(const Plan& plan, const Row& row) {
  json result = {{"design", row.design}, {"state", name_of(row.state)}, {"best", row.best}};
  if (!row.remark.empty()) result["remark"] = row.remark;
  if (row.state != RowState::kGood) return result;
  result["value"] = range_json(row.value);
  result["runs"] = row.runs;
  result["speedup"] = row.speedup;
  result["cpu_seconds"] = row.cpu_seconds;
  result["locks"] = counts_json(row.design, row.locks);
  result["ratios"] = ratios_json(row.ratios);
  if (row.interval) {
    result["interval"] = {
        {"low", row.interval->low}, {"high", row.interval->high}, {"confidence", kConfidence}};
  }
  if (plan.varies()) {
    result["ratio"] = range_json(row.ratio);
    result["leads"] = row.leads;
  }
  if (row.why) result["why"] = why_json(*row.why);
  return result;
}

json block_json(const Plan& plan, const Block& block) {
  json rows = json::array();
  for (const Row& row : block.rows) rows.push_back(row_json(plan, row));
  json result = {{"threads", or_null(block.threads)},
                 {"cold_rounds", block.cold_rounds},
                 {"rows", rows},
                 {"verdict", {{"kind", name_of(block.verdict.kind)}, {"sentence", block.verdict.sentence}}}};
  if (block.unexplained) result["unexplained"] = unexplained_json(*block.unexplained);
  if (block.diagnosis) result["diagnosis"] = diagnosis_json(*block.diagnosis);
  return result;
}

unsigned rounds_in(const std::vector<Result>& results) {
  unsigned rounds = 0;
  for (const Result& result : results) rounds = std::max(rounds, result.cell.run + 1);
  return rounds;
}

/// The command of each result's process. It runs the other windows of the process, too.
std::vector<std::string> commands_of(const Plan& plan, const std::vector<Result>& results) {
  std::vector<Cell> cells;
  for (const Result& result : results) cells.push_back(result.cell);
  std::vector<std::string> commands(results.size());
  for (const std::vector<std::size_t>& process : processes_of(cells)) {
    std::vector<Cell> own;
    for (const std::size_t i : process) own.push_back(cells[i]);
    const std::string command = quoted_for_shell(command_of(plan, own));
    for (const std::size_t i : process) commands[i] = command;
  }
  return commands;
}

json result_json(const Plan& plan, const Result& result, const std::string& command) {
  const Sample& sample = result.sample;
  json run = {{"threads", or_null(result.cell.threads)},
              {"design", result.cell.design},
              {"run", result.cell.run},
              {"seed", result.cell.seed},
              {"variation", result.cell.variation},
              {"command", command},
              {"outcome", name_of(sample.outcome)},
              {"status", sample.status},
              {"deadlocked", sample.deadlocked},
              {"seconds", sample.seconds},
              {"cpu_seconds", sample.cpu_seconds},
              {"host_seconds", sample.host_seconds},
              {"locks", counts_json(result.cell.design, sample.locks)}};
  if (sample.is_copy) run["from_snapshot"] = true;
  if (plan.uses_metric()) {
    if (const auto found = Metric(plan.metric).read(sample)) run["metric"] = *found;
  }
  return run;
}

}  // namespace

const char* name_of(RowState state) {
  switch (state) {
    case RowState::kGood:
      return "good";
    case RowState::kFailed:
      return "failed";
    case RowState::kTimedOut:
      return "timed-out";
    case RowState::kDifferentOutput:
      return "different-output";
    case RowState::kNoMetric:
      return "no-metric";
    case RowState::kNotRun:
      return "not-run";
  }
  return "unknown";
}

json report_json(const Plan& plan, const std::vector<Result>& results, const std::vector<Block>& blocks,
                 const std::vector<NextStep>& next_steps) {
  json report = {
      {"version", kVersion},          {"program", plan.program()},
      {"where", plan.where},          {"virtual", plan.model},
      {"metric", plan.metric},        {"lower_is_better", !plan.uses_metric() || plan.lower_is_better},
      {"blocks", json::array()},      {"runs", json::array()},
      {"reference", plan.reference()}};
  if (const std::string part = part_text(plan, plan.thread_counts.front()); !part.empty())
    report["part"] = {{"options", plan.launch.vm_words}, {"text", part}};
  if (plan.samples())
    report["windows"] = {{"count", rounds_in(results)},
                         {"length_seconds", 1e-9 * static_cast<double>(plan.part.length_ns)}};
  if (plan.varies()) report["variations"] = variations_json(plan);
  for (const Block& block : blocks) report["blocks"].push_back(block_json(plan, block));
  const std::vector<std::string> commands = commands_of(plan, results);
  for (std::size_t i = 0; i < results.size(); ++i)
    report["runs"].push_back(result_json(plan, results[i], commands[i]));
  if (const auto scaling = scaling_of(plan, blocks)) report["scaling"] = scaling_json(plan, *scaling);
  if (!next_steps.empty()) report["next_steps"] = next_steps_json(next_steps);
  return report;
}

}  // namespace elision::cli::experiment
