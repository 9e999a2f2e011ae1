// SPDX-License-Identifier: Apache-2.0
#include "cli/show/statistics_json.h"

#include "cli/experiment/process_statistics.h"
#include "cli/host/json_text.h"
#include "cli/judge/variation_summary.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

json drawn_json(const std::vector<machine::DrawnValue>& drawn) {
  json values = json::object();
  for (const machine::DrawnValue& value : drawn) {
    const json parsed = parse_json(value.value);
    values[value.field] = parsed.is_number() || parsed.is_boolean() ? parsed : json(value.value);
  }
  return values;
}

json process_statistics(const std::vector<json>& processes) {
  return {{"processes", processes}, {"totals", total_statistics(processes)}};
}

}  // namespace

json range_json(const Range& range) {
  return {{"median", range.median}, {"low", range.low}, {"high", range.high}};
}

json variations_json(const Plan& plan) {
  json list = json::array();
  for (std::size_t i = 0; i < plan.variations.size(); ++i) {
    list.push_back(
        {{"variation", i}, {"seed", plan.first_seed + i}, {"drawn", drawn_json(plan.variations[i])}});
  }
  return list;
}

json run_statistics(const std::string& machine, std::uint32_t variation,
                    const std::vector<machine::DrawnValue>& drawn, const std::vector<json>& processes) {
  json merged = {
      {"version", kVersion}, {"machine", machine}, {"variation", variation}, {"drawn", drawn_json(drawn)}};
  merged.update(process_statistics(processes));
  return merged;
}

json variation_statistics(const Plan& plan, const std::vector<Result>& results) {
  const json drawn = variations_json(plan);
  json variations = json::array();
  for (const Result& result : results) {
    json one = drawn[result.cell.variation];
    one.update(process_statistics(result.sample.processes));
    variations.push_back(std::move(one));
  }
  json ranges = json::object();
  for (const VariedQuantity& quantity : varied_quantities(plan, results))
    ranges[quantity.name] = range_json(quantity.range);
  return {{"version", kVersion}, {"machine", plan.where}, {"variations", variations}, {"ranges", ranges}};
}

}  // namespace elision::cli::experiment
