// SPDX-License-Identifier: Apache-2.0
#include "profile/abort_diff.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "profile/share_interval.h"

namespace elision::profile {
namespace {

/// Aborts that count as one row.
struct AbortSum {
  Place place{};
  double aborts = 0, samples = 0;
};
using SumsByLine = std::map<std::pair<std::string, std::uint32_t>, AbortSum>;  // "", 0: not known

/// A cause, and a function by its name or, without one, by the address.
using CauseAndFunction = std::tuple<std::string, std::string, std::uint64_t>;
using SumsByFunction = std::map<CauseAndFunction, SumsByLine>;

Place without_line(Place place) {
  place.file.clear();
  place.line = 0;
  return place;
}

SumsByFunction sums_by_function(const AbortEvents& events) {
  SumsByFunction sums;
  for (const AbortRow& row : events.rows) {
    const bool has_line = !row.place.file.empty() && row.place.line != 0;
    const Place place = has_line ? row.place : without_line(row.place);
    SumsByLine& lines = sums[{row.cause, place.name, place.name.empty() ? place.address : 0}];
    AbortSum& sum = lines.try_emplace({place.file, place.line}, AbortSum{place}).first->second;
    sum.aborts += row.aborts;
    sum.samples += row.samples;
  }
  return sums;
}

/// All aborts of a run, and the samples that tell where they were.
struct AllAborts {
  double aborts = 0, samples = 0;
};

/// Samples with different periods tell as much as fewer equal ones.
double samples_of_equal_period(const AbortEvents& events) {
  if (events.period > 0 || events.equal_samples <= 0) return events.samples;
  return std::min(events.samples, std::max(1.0, events.equal_samples));
}

AllAborts all_aborts(const AbortEvents& events) {
  double in_rows = 0;
  for (const AbortRow& row : events.rows) in_rows += row.aborts;
  return {std::max(events.aborts, in_rows), samples_of_equal_period(events)};
}

/// The interval of `aborts`, which are part of `all`. Without samples they may be any part.
Bounds bounds_of_part(double aborts, const AllAborts& all) {
  if (all.aborts <= 0) return {};
  const Bounds share = interval_of_share(aborts / all.aborts, all.samples);
  return {all.aborts * share.low, all.aborts * share.high};
}

/// The interval of estimated cycles, as if their number of samples were by chance, too.
Bounds bounds_of_cycles(const AbortEvents& events) {
  const double samples = events.equal_samples > 0 ? events.equal_samples : events.samples;
  const double half = kShareDeviations * events.cycles / std::sqrt(std::max(1.0, samples));
  return {std::max(0.0, events.cycles - half), events.cycles + half};
}

Change change_of_cycles(const AbortEvents& a, const AbortEvents& b) {
  if (a.counted_cycles > 0 && b.counted_cycles > 0) return {a.counted_cycles, b.counted_cycles};
  return {a.cycles, b.cycles,
          bounds_of_difference(a.cycles, bounds_of_cycles(a), b.cycles, bounds_of_cycles(b))};
}

AbortSum sum_of_lines(const SumsByLine& lines) {
  AbortSum whole{without_line(lines.begin()->second.place)};
  for (const auto& [line, sum] : lines) {
    whole.aborts += sum.aborts;
    whole.samples += sum.samples;
  }
  return whole;
}

/// Makes the rows of two runs.
class AbortRows {
 public:
  AbortRows(const AbortEvents& a, const AbortEvents& b) : all_a_(all_aborts(a)), all_b_(all_aborts(b)) {}

  /// The aborts of one cause and function.
  void add(const std::string& cause, SumsByLine a, SumsByLine b) {
    const std::size_t rows_before = rows_.size();
    for (auto line = a.begin(); line != a.end();) {
      const auto same = b.find(line->first);
      if (same == b.end() || line->first.second == 0) {
        ++line;
        continue;
      }
      add(cause, line->second, same->second, Presence::kBoth);
      b.erase(same);
      line = a.erase(line);
    }
    if (!a.empty() && !b.empty()) {
      add(cause, sum_of_lines(a), sum_of_lines(b), Presence::kBoth);
      rows_.back().other_lines = rows_.size() > rows_before + 1;
      return;
    }
    for (const auto& [line, sum] : a) add(cause, sum, AbortSum{sum.place}, Presence::kOnlyA);
    for (const auto& [line, sum] : b) add(cause, AbortSum{sum.place}, sum, Presence::kOnlyB);
  }

  /// The largest change first. Which run is A does not matter.
  std::vector<AbortChange> take() {
    std::sort(rows_.begin(), rows_.end(), [](const AbortChange& x, const AbortChange& y) {
      const double of_x = std::abs(x.aborts.difference()), of_y = std::abs(y.aborts.difference());
      const auto key = [](const AbortChange& row) {
        return std::tie(row.cause, row.place.name, row.place.file, row.place.line, row.place.address);
      };
      return of_x != of_y ? of_x > of_y : key(x) < key(y);
    });
    return std::move(rows_);
  }

 private:
  void add(const std::string& cause, const AbortSum& a, const AbortSum& b, Presence presence) {
    const Bounds bounds = bounds_of_difference(a.aborts, bounds_of_part(a.aborts, all_a_), b.aborts,
                                               bounds_of_part(b.aborts, all_b_));
    rows_.push_back({cause, a.place, presence, {a.aborts, b.aborts, bounds}, a.samples, b.samples});
  }

  AllAborts all_a_, all_b_;
  std::vector<AbortChange> rows_{};
};

std::vector<AbortChange> abort_changes(const AbortEvents& a, const AbortEvents& b) {
  SumsByFunction in_a = sums_by_function(a), in_b = sums_by_function(b);
  for (const auto& [key, lines] : in_b) in_a.try_emplace(key);
  AbortRows rows(a, b);
  for (auto& [key, lines] : in_a) rows.add(std::get<0>(key), std::move(lines), std::move(in_b[key]));
  return rows.take();
}

KnownAborts known_aborts(const Profile& profile) {
  KnownAborts known;
  known.missing = why_no_abort_events(profile);
  if (!known.missing.empty()) return known;
  const AbortEvents& events = *profile.abort_events;
  known.counted = events.counted;
  known.samples = events.samples;
  known.lost = events.lost;
  known.running = events.running;
  if (events.commits > 0) known.per_commit = events.aborts / events.commits;
  return known;
}

}  // namespace

AbortDiff diff_of_aborts(const Profile& a, const Profile& b) {
  AbortDiff diff{.a = known_aborts(a), .b = known_aborts(b)};
  if (!diff.is_known()) return diff;
  const AbortEvents &in_a = *a.abort_events, &in_b = *b.abort_events;
  diff.aborts = {in_a.aborts, in_b.aborts};
  diff.commits = {in_a.commits, in_b.commits};
  diff.cycles = change_of_cycles(in_a, in_b);
  diff.rows = abort_changes(in_a, in_b);
  return diff;
}

std::string why_no_abort_events(const Profile& profile) {
  return profile.abort_events ? profile.abort_events->missing
                              : "an earlier version recorded it, or a virtual machine, which samples none";
}

}  // namespace elision::profile
