// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/host/replaceable_locks.h"
#include "cli/judge/variation_verdict.h"

namespace elision::cli::experiment {
namespace {

using Rows = std::vector<const Row*>;

// The good rows of other designs than the reference for which `wanted` holds, the best first.
template <typename Wanted>
Rows others(const std::vector<Row>& rows, Wanted wanted) {
  Rows result;
  for (const Row& row : rows) {
    const bool candidate = row.state == RowState::kGood && row.speedup > 0 && row.design != kReference;
    if (candidate && wanted(row)) result.push_back(&row);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Row* a, const Row* b) { return a->speedup > b->speedup; });
  return result;
}

std::string names(const Rows& rows) {
  std::string text = rows.front()->design;
  for (std::size_t i = 1; i < rows.size(); ++i)
    text += (i + 1 < rows.size() ? ", " : " or ") + rows[i]->design;
  return text;
}

// If less of a metric is better, people know its value and not the inverse.
bool shows_inverse(const Plan& plan) { return plan.uses_metric() && plan.lower_is_better; }

std::string gain(const Plan& plan, double speedup) {
  if (!plan.uses_metric()) return fmt::format("{:.2f} times as fast as {}", speedup, kReference);
  if (shows_inverse(plan))
    return fmt::format("{:.2f} times the result of {}, of which less is better", 1 / speedup, kReference);
  return fmt::format("{:.2f} times the result of {}", speedup, kReference);
}

double widest_spread(const Row& reference, const Rows& rows) {
  double widest = reference.value.spread();
  for (const Row* row : rows) widest = std::max(widest, row->value.spread());
  return widest;
}

bool any_lock_seen(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.locks.locks_seen; });
}

Verdict no_reference(const Plan& plan, const Row& reference) {
  if (reference.state == RowState::kNotRun) {
    return {
        VerdictKind::kNoReference, fmt::format("Nothing to compare: no run under {} ended.", kReference), {}};
  }
  const bool ends_by_itself = reference.state == RowState::kFailed && reference.has_exit_code;
  return {VerdictKind::kNoReference,
          fmt::format("Nothing to compare: under {}, {} {}{}.", kReference, plan.program(), reference.remark,
                      ends_by_itself ? "; --ignore-failure compares programs that end so" : ""),
          {}};
}

Verdict no_result(const Row& reference) {
  return {VerdictKind::kNoReference,
          fmt::format("Nothing to compare: the result under {} is {}.", kReference,
                      reference.value.median < 0 ? "below zero" : "zero"),
          {}};
}

Verdict no_locks(const Plan& plan) {
  return {VerdictKind::kNoLocks, no_lock_sentence(plan.program(), "took", plan.why_no_locks) + ".", {}};
}

Verdict keep(const Plan& plan, const Row& next) {
  std::string standing =
      fmt::format("reaches {:.2f} of its {}", next.speedup, plan.uses_metric() ? "result" : "speed");
  if (shows_inverse(plan))
    standing = fmt::format("has {:.2f} times its result, of which less is better", 1 / next.speedup);
  return {VerdictKind::kKeep,
          fmt::format("Stay with {}: the next best design, {}, {}.", kReference, next.design, standing),
          kReference};
}

Verdict within_spread(const Plan& plan, const Row& reference, const Rows& overlapping) {
  return {VerdictKind::kWithinSpread,
          fmt::format("Stay with {}: no design is {} by more than the spread of the runs (up to {:.1f} %).",
                      kReference, plan.uses_metric() ? "better" : "faster",
                      100 * widest_spread(reference, overlapping)),
          kReference};
}

// `why`: why the gain of `best` does not count.
Verdict no_difference(const Plan& plan, const Row& best, const std::string& runs, const std::string& why) {
  return {VerdictKind::kWithinSpread,
          fmt::format("Stay with {}: no difference that {} can show ({}, the best, reaches {}; {}).",
                      kReference, runs, best.design, gain(plan, best.speedup), why),
          kReference};
}

Verdict one_run(const Plan& plan, const Row& best) {
  const std::string advice =
      plan.runs == 1 ? "with --runs 3 the spread would show" : "the spread is not known";
  if (best.speedup < kSmallestGain) return no_difference(plan, best, "one run", advice);
  return {VerdictKind::kOneRun,
          fmt::format("Perhaps {}: {} in the only run; {}.", best.design, gain(plan, best.speedup), advice),
          best.design};
}

// `winners`: designs better than the reference without overlap, the best first.
Verdict use(const Plan& plan, const Row& reference, const Rows& winners) {
  const Row& best = *winners.front();
  if (best.runs == 1 || reference.runs == 1) return one_run(plan, best);
  Rows leaders = {&best};
  std::copy_if(winners.begin() + 1, winners.end(), std::back_inserter(leaders),
               [&best](const Row* row) { return row->value.overlaps(best.value); });
  const std::string same = leaders.size() > 1 ? ", which the spread does not tell apart" : "";
  const double spread = widest_spread(reference, leaders);
  const double model_error = 100 * (kModelError - 1);
  if (best.speedup - 1 <= widest_spread(reference, {&best}))
    return no_difference(plan, best, "these runs",
                         fmt::format("the spread of the runs is up to {:.1f} %", 100 * spread));
  if (plan.model && best.speedup < kSmallestGain)
    return no_difference(plan, best, "these runs",
                         fmt::format("a virtual machine can be wrong by {:.0f} %", model_error));
  if (plan.model && best.speedup < kModelError) {
    return {
        VerdictKind::kWithinModel,
        fmt::format(
            "Perhaps {}{}: {}, more than the spread of the runs (up to {:.1f} %) but less than the {:.0f} % "
            "that a virtual machine can be wrong by.",
            names(leaders), same, gain(plan, best.speedup), 100 * spread, model_error),
        best.design};
  }
  return {VerdictKind::kUse,
          fmt::format("Use {}{}: {} (spread of the runs up to {:.1f} %).", names(leaders), same,
                      gain(plan, best.speedup), 100 * spread),
          best.design};
}

Verdict judge_runs(const Plan& plan, const std::vector<Row>& rows) {
  const Row& reference = rows.front();
  const auto overlaps = [&reference](const Row& row) { return row.value.overlaps(reference.value); };
  const Rows winners = others(rows, [&](const Row& row) { return row.speedup > 1 && !overlaps(row); });
  if (!winners.empty()) return use(plan, reference, winners);
  const Rows overlapping = others(rows, overlaps);
  if (!overlapping.empty()) return within_spread(plan, reference, overlapping);
  return keep(plan, *others(rows, [](const Row&) { return true; }).front());
}

}  // namespace

Verdict judge(const Plan& plan, const std::vector<Row>& rows) {
  const Row& reference = rows.front();
  if (reference.state != RowState::kGood) return no_reference(plan, reference);
  if (reference.speedup <= 0) return no_result(reference);
  if (!any_lock_seen(rows)) return no_locks(plan);
  if (others(rows, [](const Row&) { return true; }).empty()) {
    return {VerdictKind::kNoOther,
            fmt::format("Stay with {}: no other design ran to the same end.", kReference), kReference};
  }
  return plan.varies() ? judge_variations(plan, rows) : judge_runs(plan, rows);
}

}  // namespace elision::cli::experiment
