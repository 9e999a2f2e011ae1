// SPDX-License-Identifier: Apache-2.0
#include "cli/show/scaling_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/experiment/execute.h"
#include "cli/show/statistics_json.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;

constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array kAscii = {".", ":", "-", "=", "+", "*", "%", "#"};

const ScalingPoint* point_at(const ScalingCurve& curve, unsigned threads) {
  for (const ScalingPoint& point : curve.points) {
    if (point.threads == threads) return &point;
  }
  return nullptr;
}

double highest(const Scaling& scaling) {
  double most = 0;
  for (const ScalingCurve& curve : scaling.curves) {
    for (const ScalingPoint& point : curve.points) most = std::max(most, point.relative);
  }
  return most;
}

std::string chart(const Scaling& scaling, const ScalingCurve& curve, double most, bool blocks) {
  std::string text;
  for (const unsigned threads : scaling.threads) {
    const ScalingPoint* point = point_at(curve, threads);
    const double share = point == nullptr ? 0 : point->relative / most;
    const auto level = std::min(static_cast<std::size_t>(share * kBlocks.size()), kBlocks.size() - 1);
    text += point == nullptr ? " " : blocks ? kBlocks[level] : kAscii[level];
  }
  return text;
}

const char* throughput_name(const Plan& plan) {
  if (!plan.uses_metric()) return "1/seconds";
  return plan.lower_is_better ? "1/metric" : "metric";
}

}  // namespace

std::string scaling_heading(const Plan& plan, const Scaling& scaling) {
  return fmt::format("{} over threads, relative to {} with {}{}", plan.uses_metric() ? "Result" : "Speed",
                     plan.reference(), words_of(scaling.threads.front()),
                     plan.compares_rates() ? "" : ", if the work is the same with all numbers of threads");
}

std::string scaling_remark(const Plan& plan, const Scaling& scaling) {
  if (scaling.more_threads_gain) return {};
  return fmt::format("{} design with more threads is shown to be faster than {} with {}.",
                     plan.compares_rates() ? "No" : "If the work is the same with all numbers of threads, no",
                     plan.reference(), words_of(scaling.threads.front()));
}

Table scaling_table(const Scaling& scaling, bool blocks) {
  Table table{{{"threads", true}}, {}};
  for (const unsigned threads : scaling.threads) table.columns.push_back({fmt::format("{}", threads)});
  table.columns.push_back({"stops at"});
  table.columns.push_back({"chart", true});
  const double most = highest(scaling);
  for (const ScalingCurve& curve : scaling.curves) {
    TableRow row;
    row.cells.push_back(curve.design);
    for (const unsigned threads : scaling.threads) {
      const ScalingPoint* point = point_at(curve, threads);
      row.cells.push_back(point == nullptr ? kNoValue : ratio_text(point->relative));
    }
    row.cells.push_back(curve.stops_at ? fmt::format("{}", *curve.stops_at) : kNoValue);
    row.cells.push_back(chart(scaling, curve, most, blocks));
    table.rows.push_back(std::move(row));
  }
  return table;
}

json scaling_json(const Plan& plan, const Scaling& scaling) {
  json curves = json::array();
  for (const ScalingCurve& curve : scaling.curves) {
    json points = json::array();
    for (const ScalingPoint& point : curve.points) {
      points.push_back({{"threads", point.threads},
                        {"throughput", range_json(point.throughput)},
                        {"relative", point.relative}});
    }
    curves.push_back({{"design", curve.design},
                      {"stops_at", curve.stops_at ? json(*curve.stops_at) : json(nullptr)},
                      {"points", points}});
  }
  return {{"throughput", throughput_name(plan)},
          {"threads", scaling.threads},
          {"more_threads_gain", scaling.more_threads_gain},
          {"designs", curves}};
}

}  // namespace elision::cli::experiment
