// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/compare/variation_verdict.h"

namespace elision::cli::compare {
namespace {

// The best row first, then the good ones that the spread does not tell apart from it.
std::vector<const Row*> leaders(const std::vector<Row>& rows) {
  std::vector<const Row*> result;
  for (const Row& row : rows) {
    if (row.best) result.push_back(&row);
  }
  const Row* best = result.front();
  for (const Row& row : rows) {
    if (!row.best && row.state == RowState::kGood && row.value.overlaps(best->value)) result.push_back(&row);
  }
  return result;
}

std::string names(const std::vector<const Row*>& rows) {
  std::string text = rows.front()->design;
  for (std::size_t i = 1; i < rows.size(); ++i)
    text += (i + 1 < rows.size() ? ", " : " or ") + rows[i]->design;
  return text;
}

std::string gain(const Plan& plan, double speedup) {
  if (!plan.uses_metric()) return fmt::format("{:.2f} times as fast as {}", speedup, kReference);
  return fmt::format("{:.2f} times the result of {}", speedup, kReference);
}

double widest_spread(const std::vector<Row>& rows) {
  double widest = 0;
  for (const Row& row : rows) {
    if (row.state == RowState::kGood) widest = std::max(widest, row.value.spread());
  }
  return widest;
}

bool any_lock_seen(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.locks.locks_seen; });
}

Verdict no_reference(const Plan& plan, const Row& reference) {
  if (reference.state == RowState::kNotRun) {
    return {VerdictKind::kNoReference, fmt::format("Nothing to compare: no run under {} ended.", kReference)};
  }
  return {VerdictKind::kNoReference,
          fmt::format("Nothing to compare: under {}, {} {}.", kReference, plan.program, reference.remark)};
}

Verdict no_locks(const Plan& plan) {
  return {VerdictKind::kNoLocks,
          fmt::format(
              "{} took no lock that Elision can replace (it is linked statically, or does not lock through "
              "pthread mutexes), so the design of the lock makes no difference to it.",
              plan.program)};
}

Verdict keep(const std::vector<Row>& rows) {
  const Row* next = nullptr;
  for (const Row& row : rows) {
    const bool candidate = row.state == RowState::kGood && row.design != kReference;
    if (candidate && (next == nullptr || row.speedup > next->speedup)) next = &row;
  }
  if (next == nullptr) {
    return {VerdictKind::kKeep,
            fmt::format("Stay with {}: no other design ran to the same end.", kReference)};
  }
  return {VerdictKind::kKeep,
          fmt::format("Stay with {}: the next best design, {}, reaches {:.2f} of its speed.", kReference,
                      next->design, next->speedup)};
}

Verdict within_spread(const std::vector<Row>& rows) {
  return {
      VerdictKind::kWithinSpread,
      fmt::format("Stay with {}: no design is faster by more than the spread of the runs (up to {:.1f} %).",
                  kReference, 100 * widest_spread(rows))};
}

Verdict use(const Plan& plan, const std::vector<Row>& rows) {
  const std::vector<const Row*> best = leaders(rows);
  const double speedup = best.front()->speedup;
  const std::string same = best.size() > 1 ? ", which the spread does not tell apart" : "";
  if (plan.runs == 1) {
    return {VerdictKind::kOneRun,
            fmt::format("Perhaps {}{}: {} in the only run; with --runs 3 the spread would show.", names(best),
                        same, gain(plan, speedup))};
  }
  if (plan.model && speedup < kModelError) {
    return {
        VerdictKind::kWithinModel,
        fmt::format("Perhaps {}{}: {}, more than the spread of the runs but less than the {:.0f} % that a "
                    "virtual machine can be wrong by.",
                    names(best), same, gain(plan, speedup), 100 * (kModelError - 1))};
  }
  return {VerdictKind::kUse, fmt::format("Use {}{}: {} (spread of the runs up to {:.1f} %).", names(best),
                                         same, gain(plan, speedup), 100 * widest_spread(rows))};
}

}  // namespace

Verdict judge(const Plan& plan, const std::vector<Row>& rows) {
  const Row& reference = rows.front();
  if (reference.state != RowState::kGood) return no_reference(plan, reference);
  if (std::none_of(rows.begin(), rows.end(), [](const Row& row) { return row.best; })) {
    return {VerdictKind::kNoReference,
            fmt::format("Nothing to compare: the result under {} is zero.", kReference)};
  }
  if (!any_lock_seen(rows)) return no_locks(plan);
  if (plan.varies()) return judge_variations(plan, rows);
  if (leaders(rows).front()->design == kReference) {
    const bool alone = leaders(rows).size() == 1;
    return alone ? keep(rows) : within_spread(rows);
  }
  const bool clear = !leaders(rows).front()->value.overlaps(reference.value);
  return clear ? use(plan, rows) : within_spread(rows);
}

}  // namespace elision::cli::compare
