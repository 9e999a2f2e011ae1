// SPDX-License-Identifier: Apache-2.0
#include "cli/show/aborts_json.h"

#include <fmt/format.h>

namespace elision::cli {
namespace {

using nlohmann::json;

json place_json(const profile::Place& place) {
  json result = {{"name", place.name.empty() ? fmt::format("{:#x}", place.address) : place.name}};
  if (!place.file.empty()) result["file"] = place.file;
  if (place.line != 0) result["line"] = place.line;
  return result;
}

}  // namespace

json abort_events_json(const profile::Profile& profile) {
  if (!profile.abort_events) return nullptr;
  const profile::AbortEvents& events = *profile.abort_events;
  if (!events.missing.empty()) return {{"missing", events.missing}};
  json result = {{"aborts", events.aborts},     {"commits", events.commits},
                 {"cycles", events.cycles},     {"counted_cycles", events.counted_cycles},
                 {"by_cause", events.by_cause}, {"samples", events.samples},
                 {"period", events.period},     {"sampled_aborts", events.sampled_aborts},
                 {"lost", events.lost},         {"running_share", events.running},
                 {"rows", json::array()}};
  for (const profile::AbortRow& row : events.rows) {
    json callers = json::array();
    for (const profile::Place& caller : row.callers) callers.push_back(place_json(caller));
    result["rows"].push_back({{"place", place_json(row.place)},
                              {"cause", row.cause},
                              {"callers", callers},
                              {"samples", row.samples},
                              {"aborts", row.aborts},
                              {"cycles", row.cycles}});
  }
  return result;
}

}  // namespace elision::cli
