// SPDX-License-Identifier: Apache-2.0
#include "cli/show/why_json.h"

#include <fmt/format.h>

#include "cli/host/json_text.h"
#include "cli/judge/explanation.h"
#include "profile/conflicts.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;

const char* name_of(LockNaming naming) {
  switch (naming) {
    case LockNaming::kSymbol:
      return "symbol";
    case LockNaming::kCalledFrom:
      return "called-from";
    case LockNaming::kAddress:
      return "address";
  }
  return "unknown";
}

json place_json(const SourcePlace& place) {
  json result = {{"name", place.name}};
  if (!place.file.empty()) result["file"] = place.file;
  if (place.line != 0) result["line"] = place.line;
  return result;
}

json time_json(const TimeShares& shares) {
  json result = json::object();
  for (std::size_t part = 0; part < shares.size(); ++part) result[profile::kStateNames[part]] = shares[part];
  return result;
}

const char* word_for(profile::Sharing sharing) {
  switch (sharing) {
    case profile::Sharing::kUnknown:
      return "unknown";
    case profile::Sharing::kSameData:
      return "same-data";
    case profile::Sharing::kSameLine:
      return "false-sharing";
    case profile::Sharing::kPrefetch:
      return "prefetch";
  }
  return "unknown";
}

json conflict_json(const LockConflict& conflict) {
  json result = {{"address", fmt::format("{:#x}", conflict.address)},
                 {"count", conflict.counts.count},
                 {"sharing", word_for(profile::sharing_of(conflict.counts))},
                 {"sites", {place_json(conflict.sites[0]), place_json(conflict.sites[1])}}};
  if (!conflict.name.empty()) result["name"] = conflict.name;
  if (conflict.places > 1) result["places"] = conflict.places;
  return result;
}

json lock_json(const LockReport& lock) {
  json result = place_json(lock.place);
  result["kind"] = name_of(lock.naming);
  result["title"] = lock.title;
  result["other_sites"] = json::array();
  for (const SourcePlace& site : lock.other_sites) result["other_sites"].push_back(place_json(site));
  result["sections"] = lock.sections;
  result["sections_estimated"] = lock.sections_estimated;
  result["contended_share"] = or_null(lock.contended_share);
  result["wait_seconds"] = {{"total", lock.wait_seconds},
                            {"mean", or_null(lock.mean_wait_seconds)},
                            {"longest", or_null(lock.longest_wait_seconds)}};
  result["hold_seconds"] = {{"total", lock.hold_seconds}, {"mean", lock.mean_hold_seconds}};
  result["line_wait_seconds"] = or_null(lock.line_wait_seconds);
  result["attempts"] = lock.attempts;
  result["commits"] = lock.commits;
  result["fallbacks"] = lock.fallbacks;
  result["lost_seconds"] = lock.lost_seconds;
  result["waiting_seconds"] = lock.waiting_seconds;
  result["aborted_seconds"] = lock.aborted_seconds;
  result["overhead_seconds"] = or_null(lock.overhead_seconds);
  result["aborts"] = lock.aborts;
  result["conflicts"] = json::array();
  for (const LockConflict& conflict : lock.conflicts) result["conflicts"].push_back(conflict_json(conflict));
  return result;
}

}  // namespace

json why_json(const Why& why) {
  json result = {{"basis", why.samples ? "sampled" : "exact"},
                 {"parallel_share", why.parallel_share},
                 {"time", time_json(why.time)},
                 {"lock_count", why.lock_count},
                 {"locks", json::array()}};
  if (why.samples) result["samples"] = *why.samples;
  for (const LockReport& lock : why.locks) result["locks"].push_back(lock_json(lock));
  return result;
}

json diagnosis_json(const profile::Diagnosis& diagnosis) {
  json findings = json::array();
  for (const profile::Finding& finding : diagnosis.findings) {
    findings.push_back(
        {{"code", profile::code_of(finding.cause)}, {"lock", finding.lock}, {"sentence", finding.sentence}});
    if (!finding.change.empty()) findings.back()["change"] = finding.change;
  }
  return {{"locks_matter", diagnosis.locks_matter}, {"sentence", diagnosis.sentence}, {"findings", findings}};
}

json unexplained_json(const Unexplained& run) {
  return {{"samples", run.samples}, {"one_thread", run.one_thread}, {"sentence", why_none(run)}};
}

json next_steps_json(const std::vector<NextStep>& steps) {
  json result = json::array();
  for (const NextStep& step : steps) {
    json one = {{"sentence", step.sentence}};
    if (!step.command.empty()) one["command"] = step.command;
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace elision::cli::experiment
