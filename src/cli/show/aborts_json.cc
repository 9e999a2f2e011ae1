// SPDX-License-Identifier: Apache-2.0
#include "cli/show/aborts_json.h"

#include "cli/show/abort_summary.h"
#include "cli/show/paths_json.h"

namespace elision::cli {
namespace {

using nlohmann::json;

json places_json(const std::vector<profile::Place>& places) {
  json result = json::array();
  for (const profile::Place& place : places) result.push_back(place_json(place));
  return result;
}

json source_json(const experiment::AbortSource& source) {
  return {{"cause", source.cause},
          {"place", place_json(source.place)},
          {"inside", places_json(source.inside)},
          {"section", source.section ? place_json(*source.section) : json(nullptr)},
          {"samples", source.samples},
          {"aborts", source.aborts},
          {"cycles", source.cycles},
          {"share", source.share}};
}

json row_json(const profile::AbortRow& row) {
  return {{"place", place_json(row.place)},
          {"cause", row.cause},
          {"callers", places_json(row.callers)},
          {"inside", places_json(row.inside)},
          {"samples", row.samples},
          {"aborts", row.aborts},
          {"cycles", row.cycles}};
}

}  // namespace

json place_json(const profile::Place& place) {
  json result = {{"name", experiment::name_of(place)}};
  if (!place.file.empty()) result["file"] = place.file;
  if (place.line != 0) result["line"] = place.line;
  return result;
}

json abort_events_json(const profile::Profile& profile) {
  if (!profile.abort_events) return nullptr;
  const profile::AbortEvents& events = *profile.abort_events;
  if (!events.missing.empty()) return {{"missing", events.missing}};
  const experiment::AbortSummary summary =
      experiment::summary_of(events, experiment::samples_of_accesses(profile));
  json result = {{"heading", summary.heading},
                 {"shares_of", summary.shares_of},
                 {"trust", summary.trust},
                 {"counted", events.counted},
                 {"aborts", events.aborts},
                 {"commits", events.commits},
                 {"cycles", events.cycles},
                 {"counted_cycles", events.counted_cycles},
                 {"by_cause", events.by_cause},
                 {"samples", events.samples},
                 {"period", events.period},
                 {"sampled_aborts", events.sampled_aborts},
                 {"lost", events.lost},
                 {"with_branches", events.with_branches},
                 {"whole_paths", events.whole_paths},
                 {"running_share", events.running},
                 {"call_paths", abort_paths_json(profile)},
                 {"sources", json::array()},
                 {"rows", json::array()}};
  for (const experiment::AbortSource& source : summary.sources)
    result["sources"].push_back(source_json(source));
  for (const profile::AbortRow& row : events.rows) result["rows"].push_back(row_json(row));
  return result;
}

}  // namespace elision::cli
