// SPDX-License-Identifier: Apache-2.0
#include "cli/show/abort_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cli/show/format.h"
#include "profile/analysis.h"
#include "profile/names.h"
#include "profile/share_interval.h"

namespace elision::cli::experiment {
namespace {

using profile::AbortEvents;
using profile::AbortRow;
using profile::Place;

/// The innermost call outside of functions that take locks for others.
std::optional<Place> section_of(const AbortRow& row) {
  if (row.callers.empty()) return std::nullopt;
  const auto user = std::find_if(row.callers.begin(), row.callers.end(), [](const Place& caller) {
    return !caller.name.empty() && !profile::is_lock_wrapper(caller.name);
  });
  return user != row.callers.end() ? *user : row.callers.front();
}

double share_of(const AbortSource& source, const AbortEvents& events) {
  if (events.cycles > 0) return source.cycles / events.cycles;
  return events.samples > 0 ? source.samples / events.samples : 0;
}

std::vector<AbortSource> sources_of(const AbortEvents& events) {
  std::map<std::tuple<std::string, std::string, std::string>, AbortSource> sums;
  for (const AbortRow& row : events.rows) {
    const std::optional<Place> section = section_of(row);
    const std::string section_text = section ? text_of(*section) : "";
    const AbortSource source{row.cause, row.place, row.inside, section};
    AbortSource& sum = sums.try_emplace({row.cause, path_of(source), section_text}, source).first->second;
    sum.samples += row.samples;
    sum.aborts += row.aborts;
    sum.cycles += row.cycles;
  }
  std::vector<AbortSource> sources;
  for (auto& [key, source] : sums) {
    source.share = share_of(source, events);
    sources.push_back(std::move(source));
  }
  std::stable_sort(sources.begin(), sources.end(), [](const AbortSource& a, const AbortSource& b) {
    return std::pair(a.cycles, a.samples) > std::pair(b.cycles, b.samples);
  });
  return sources;
}

std::string heading(const AbortEvents& events) {
  std::string text = fmt::format("{} {} aborts", events.counted ? "The CPU counted" : "The samples stand for",
                                 format_count(events.aborts));
  if (events.counted || events.commits > 0)
    text += fmt::format(" and {} commits", format_count(events.commits));
  if (events.aborts > 0 && events.cycles > 0)
    text += fmt::format("; an aborted transaction took {} cycles on average",
                        format_count(events.cycles / events.aborts));
  return text + ".";
}

/// Returns how many percentage points a share may be off, at most: a share of one half is the least certain.
/// Shares of cycles weight the samples, so fewer of them would do with equal weights.
double points_of_half(const AbortEvents& events) {
  const double samples = events.equal_samples > 0 ? std::max(1.0, events.equal_samples) : events.samples;
  const profile::Bounds interval = profile::interval_of_share(0.5, samples);
  return 100 * (interval.high - 0.5);
}

std::string trust(const AbortEvents& events, double other_samples) {
  if (events.samples == 0) return "No abort was sampled.";
  const std::string period =
      events.period > 0 ? fmt::format(", one in {} of a thread", format_count(events.period)) : "";
  std::string text = fmt::format(
      "How far to trust these shares: they are from {} samples that the CPU took at aborts{}, so each is "
      "known "
      "to {:.0f} points or better",
      format_count(events.samples), period, std::max(1.0, points_of_half(events)));
  if (events.counted_cycles > 0 && events.cycles > 0)
    text += fmt::format("; the CPU counted {:.2f} times the cycles that the samples stand for",
                        events.counted_cycles / events.cycles);
  if (events.lost > 0) text += fmt::format("; {} more were lost", format_count(events.lost));
  if (events.with_branches > 0)
    text += fmt::format(
        "; calls in transactions are from the CPU's branch records, which reach back to the begin in {} of "
        "the samples",
        profile::percent(events.whole_paths / events.with_branches));
  if (events.running < 1)
    text += fmt::format("; aborts were counted {} of the time, and the rest is extrapolated",
                        profile::percent(events.running));
  text += fmt::format(
      "; a sample interrupts the program, which may abort one more transaction: at most {} of "
      "the aborts",
      profile::percent(
          std::min(1.0, (events.samples + events.lost + other_samples) / std::max(1.0, events.aborts))));
  return text + ".";
}

}  // namespace

std::string name_of(const Place& place) {
  if (profile::is_many(place)) return "many places";
  return place.name.empty() ? fmt::format("{:#x}", place.address) : place.name;
}

std::string text_of(const Place& place) {
  const std::string name = name_of(place);
  return place.file.empty() ? name : fmt::format("{} ({}:{})", name, place.file, place.line);
}

std::string path_of(const AbortSource& source) {
  constexpr std::size_t kMostShown = 3;
  std::string text = text_of(source.place);
  for (std::size_t i = 0; i < source.inside.size() && i < kMostShown; ++i)
    text += ", called by " + text_of(source.inside[i]);
  return text + (source.inside.size() > kMostShown ? ", ..." : "");
}

double samples_of_accesses(const profile::Profile& profile) {
  if (!profile.access_events) return 0;
  return profile.access_events->loads + profile.access_events->stores + profile.access_events->lost;
}

AbortSummary summary_of(const AbortEvents& events, double other_samples) {
  return {heading(events), events.cycles > 0 ? "the cycles that aborted transactions took" : "the aborts",
          sources_of(events), trust(events, other_samples)};
}

}  // namespace elision::cli::experiment
