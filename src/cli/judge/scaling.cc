// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/scaling.h"

#include <algorithm>

namespace elision::cli::experiment {
namespace {

using Blocks = std::vector<const Block*>;

Blocks by_threads(const std::vector<Block>& blocks) {
  Blocks sorted;
  for (const Block& block : blocks) {
    if (block.threads) sorted.push_back(&block);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Block* a, const Block* b) { return *a->threads < *b->threads; });
  return sorted;
}

const Row* result_of(const Block& block, const std::string& design) {
  for (const Row& row : block.rows) {
    if (row.design == design && row.state == RowState::kGood && row.value.low > 0) return &row;
  }
  return nullptr;
}

bool gains(const ScalingPoint& before, const ScalingPoint& after) {
  std::vector<double> ratios;
  for (std::size_t run = 0; run < std::min(before.by_run.size(), after.by_run.size()); ++run) {
    if (before.by_run[run] && after.by_run[run]) ratios.push_back(*after.by_run[run] / *before.by_run[run]);
  }
  if (const auto interval = interval_of(ratios))
    return interval->ratio > kSmallestScalingGain && interval->low > 1;
  return after.throughput.median > kSmallestScalingGain * before.throughput.median;
}

std::optional<unsigned> stop_of(const std::vector<ScalingPoint>& points) {
  if (points.size() < 2) return std::nullopt;
  for (auto point = points.begin(); point + 1 < points.end(); ++point) {
    const bool any =
        std::any_of(point + 1, points.end(), [&](const ScalingPoint& later) { return gains(*point, later); });
    if (!any) return point->threads;
  }
  return std::nullopt;
}

ScalingCurve curve_of(const Plan& plan, const Blocks& blocks, const std::string& design, double unit) {
  ScalingCurve curve;
  curve.design = design;
  for (const Block* block : blocks) {
    const Row* row = result_of(*block, design);
    if (row == nullptr) continue;
    const Range throughput = throughput_of(plan, row->value);
    ScalingPoint point{*block->threads, throughput, throughput.median / unit, row->values};
    for (auto& value : point.by_run) {
      if (value) value = throughput_of(plan, {*value, *value, *value}).median;
    }
    curve.points.push_back(std::move(point));
  }
  curve.stops_at = stop_of(curve.points);
  return curve;
}

}  // namespace

Range throughput_of(const Plan& plan, const Range& value) {
  if (plan.uses_metric() && !plan.lower_is_better) return value;
  return {1 / value.median, 1 / value.high, 1 / value.low};
}

std::optional<Scaling> scaling_of(const Plan& plan, const std::vector<Block>& blocks) {
  const Blocks sorted = by_threads(blocks);
  const bool locks = std::any_of(sorted.begin(), sorted.end(), [](const Block* block) {
    return block->verdict.kind != VerdictKind::kNoLocks;
  });
  if (sorted.size() < 2 || !locks) return std::nullopt;
  const Row* unit = result_of(*sorted.front(), plan.reference());
  if (unit == nullptr) return std::nullopt;
  Scaling scaling;
  for (const Block* block : sorted) scaling.threads.push_back(*block->threads);
  for (const std::string& design : plan.designs) {
    ScalingCurve curve = curve_of(plan, sorted, design, throughput_of(plan, unit->value).median);
    if (!curve.points.empty()) scaling.curves.push_back(std::move(curve));
  }
  const ScalingPoint fewest =
      std::find_if(scaling.curves.begin(), scaling.curves.end(), [&](const ScalingCurve& curve) {
        return curve.design == plan.reference();
      })->points.front();
  for (const ScalingCurve& curve : scaling.curves) {
    for (const ScalingPoint& point : curve.points)
      scaling.more_threads_gain |= point.threads > fewest.threads && gains(fewest, point);
  }
  return scaling;
}

}  // namespace elision::cli::experiment
