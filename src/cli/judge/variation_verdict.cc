// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/variation_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/judge/sensitivity.h"

namespace elision::cli::experiment {
namespace {

/// One design against another, variation by variation.
struct Contest {
  const Row& winner;
  const Row& other;
  std::vector<std::optional<double>> ratios;  // above 1: the winner is better
  Range ratio;
  std::size_t wins = 0;
  std::size_t variations = 0;  // in which both have a result

  bool settled() const { return wins == variations; }
};

Contest contest(const Row& winner, const Row& other) {
  Contest result{winner, other, {}, {}, 0, 0};
  std::vector<double> known;
  for (std::size_t i = 0; i < winner.ratios.size(); ++i) {
    auto& ratio = result.ratios.emplace_back();
    if (!winner.ratios[i] || !other.ratios[i]) continue;
    ratio = *winner.ratios[i] / *other.ratios[i];
    known.push_back(*ratio);
    result.wins += *ratio > 1 ? 1 : 0;
  }
  result.ratio = range_of(known);
  result.variations = known.size();
  return result;
}

const Row* best_of(const std::vector<Row>& rows, const std::vector<const Row*>& without) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.state != RowState::kGood || row.speedup <= 0) continue;
    if (std::find(without.begin(), without.end(), &row) != without.end()) continue;
    if (best == nullptr || row.speedup > best->speedup) best = &row;
  }
  return best;
}

// "in 64 of 64, by 1.90x to 2.90x" or "only in 41 of 64, at 0.90x to 1.20x".
std::string score(const Contest& c) {
  return fmt::format("{}in {} of {}, {} {}x to {}x", c.settled() ? "" : "only ", c.wins, c.variations,
                     c.settled() ? "by" : "at", ratio_text(c.ratio.low), ratio_text(c.ratio.high));
}

// ", which turns on transactions.aborted_lines", if the values are clear.
std::string turns_on(const Plan& plan, const Contest& c) {
  std::vector<std::string> names;
  for (const Sensitivity& sensitivity : sensitivities(plan.variations, c.ratios))
    names.push_back(sensitivity.field);
  return names.empty() ? "" : fmt::format(", which turns on {}", fmt::join(names, " and "));
}

// The sentence on the next best design.
std::string ranking(const Plan& plan, const Contest& c) {
  std::string text = fmt::format(" It beats {}, the next best, {}", c.other.design, score(c));
  if (!c.settled()) text += ": the ranking of these two is not settled" + turns_on(plan, c);
  return text + ".";
}

// `c`: of the best design with the reference design.
Verdict no_gain(const Plan& plan, const Contest& c) {
  const double least = 100 * (smallest_gain(plan) - 1);
  return {VerdictKind::kNoGain,
          fmt::format("Stay with {}: no design gains more than {:.0f} % (the best beats it {}).",
                      plan.reference(), least, score(c)),
          plan.reference()};
}

Verdict only_variation(const Plan& plan, const Row& best) {
  return {VerdictKind::kOneRun,
          fmt::format("Perhaps {}: {} times {} in the only variation; --vary 8 would show how sure that is.",
                      best.design, ratio_text(best.speedup), plan.reference()),
          best.design};
}

Verdict keep(const Plan& plan, const Row& reference, const Row& next) {
  const Contest c = contest(reference, next);
  std::string text = fmt::format("Stay with {0}: {0} beats {1}, the next best, {2}", plan.reference(),
                                 next.design, score(c));
  if (!c.settled()) text += ": the ranking of these two is not settled" + turns_on(plan, c);
  return {c.settled() ? VerdictKind::kKeep : VerdictKind::kNotInEvery, text + ".", plan.reference()};
}

}  // namespace

Verdict judge_variations(const Plan& plan, const std::vector<Row>& rows) {
  const Row& reference = rows.front();
  const Row* best = best_of(rows, {});
  if (best == &reference) return keep(plan, reference, *best_of(rows, {&reference}));
  const Contest c = contest(*best, reference);
  if (best->speedup <= smallest_gain(plan)) return no_gain(plan, c);
  if (c.variations == 1) return only_variation(plan, *best);
  std::string text = fmt::format("{0} {1}: {1} beats {2} {3}", c.settled() ? "Use" : "Perhaps", best->design,
                                 plan.reference(), score(c));
  if (!c.settled()) text += ": it does not win in every variation" + turns_on(plan, c);
  text += ".";
  const Row* next = best_of(rows, {best});
  if (next != nullptr && next != &reference) text += ranking(plan, contest(*best, *next));
  return {c.settled() ? VerdictKind::kUse : VerdictKind::kNotInEvery, text, best->design};
}

}  // namespace elision::cli::experiment
