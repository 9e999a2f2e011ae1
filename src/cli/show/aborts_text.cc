// SPDX-License-Identifier: Apache-2.0
#include "cli/show/aborts_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/printable.h"
#include "cli/host/text_layout.h"
#include "cli/show/format.h"
#include "cli/show/table.h"
#include "profile/analysis.h"
#include "profile/names.h"
#include "profile/share_interval.h"

namespace elision::cli::experiment {
namespace {

using profile::AbortEvents;
using profile::AbortRow;
using profile::Place;

std::string text_of(const Place& place) {
  if (place.address == 0 && place.name.empty()) return "many places";
  const std::string name = place.name.empty() ? fmt::format("{:#x}", place.address) : place.name;
  return place.file.empty() ? name : fmt::format("{} ({}:{})", name, place.file, place.line);
}

/// The innermost call outside of functions that take locks for others.
std::string section_of(const AbortRow& row) {
  if (row.callers.empty()) return "sections that are not known";
  const auto user = std::find_if(row.callers.begin(), row.callers.end(), [](const Place& caller) {
    return !caller.name.empty() && !profile::is_lock_wrapper(caller.name);
  });
  return text_of(user != row.callers.end() ? *user : row.callers.front());
}

struct Row {
  std::string cause, place, section;
  double samples = 0, aborts = 0, cycles = 0;
};

/// Rows that read alike are one.
std::vector<Row> rows_of(const AbortEvents& events, std::size_t most) {
  std::map<std::tuple<std::string, std::string, std::string>, Row> sums;
  for (const AbortRow& row : events.rows) {
    Row one{row.cause, printable(text_of(row.place)), printable(section_of(row))};
    Row& sum = sums.try_emplace({one.cause, one.place, one.section}, one).first->second;
    sum.samples += row.samples;
    sum.aborts += row.aborts;
    sum.cycles += row.cycles;
  }
  std::vector<Row> rows;
  for (auto& [key, row] : sums) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(a.cycles, a.samples) > std::pair(b.cycles, b.samples);
  });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

bool has_aborts(const profile::Profile& profile) {
  return std::any_of(profile.locks.begin(), profile.locks.end(), [](const profile::Lock& lock) {
    return std::any_of(lock.aborts.begin(), lock.aborts.end(),
                       [](const auto& cause) { return cause.second > 0; });
  });
}

std::string heading(const AbortEvents& events) {
  std::string text = fmt::format("The CPU counted {} aborts and {} commits", format_count(events.aborts),
                                 format_count(events.commits));
  if (events.aborts > 0 && events.cycles > 0)
    text += fmt::format("; an aborted transaction took {} cycles on average",
                        format_count(events.cycles / events.aborts));
  return text;
}

/// The share that one in two samples has is the least certain.
double points_of_half(double samples) {
  const profile::ShareInterval interval = profile::interval_of_share(0.5, samples);
  return 100 * (interval.high - 0.5);
}

std::string trust(const AbortEvents& events) {
  if (events.samples == 0) return "No abort was sampled.";
  const std::string period =
      events.period > 0 ? fmt::format(", one in {} of a thread", format_count(events.period)) : "";
  std::string text = fmt::format(
      "How far to trust these shares: they are from {} samples that the CPU took at aborts{}, so each is "
      "known "
      "to {:.0f} points or better",
      format_count(events.samples), period, std::max(1.0, points_of_half(events.samples)));
  if (events.counted_cycles > 0 && events.cycles > 0)
    text += fmt::format("; the CPU counted {:.2f} times the cycles that the samples stand for",
                        events.counted_cycles / events.cycles);
  if (events.lost > 0) text += fmt::format("; {} more were lost", format_count(events.lost));
  if (events.running < 1)
    text += fmt::format("; aborts were counted {} of the time, and the rest is extrapolated",
                        profile::percent(events.running));
  text += fmt::format(
      "; a sample interrupts the program, which may abort one more transaction: at most {} of "
      "the aborts",
      profile::percent(std::min(1.0, (events.samples + events.lost) / std::max(1.0, events.aborts))));
  return text + ".";
}

std::string not_sampled(const AbortEvents& events) {
  return fmt::format(
      "Aborts are those that the lock library counted, without the instructions at which they "
      "happened: {}.",
      events.missing);
}

double share_of(const Row& row, const AbortEvents& events) {
  if (events.cycles > 0) return row.cycles / events.cycles;
  return events.samples > 0 ? row.samples / events.samples : 0;
}

const char* what_is_shared(const AbortEvents& events) {
  return events.cycles > 0 ? "Of the cycles that aborted transactions took" : "Of the aborts";
}

}  // namespace

std::string aborts_text(const profile::Profile& profile, std::size_t most, const Appearance& appearance) {
  if (!profile.abort_events) return "";
  const AbortEvents& events = *profile.abort_events;
  if (!events.missing.empty())
    return has_aborts(profile) ? paragraph("", printable(not_sampled(events)), appearance.width) : "";
  if (events.aborts == 0) return "";
  std::string text = paragraph("", heading(events) + ".", appearance.width);
  if (events.samples > 0) text += paragraph("", fmt::format("{}:", what_is_shared(events)), appearance.width);
  for (const Row& row : rows_of(events, most))
    text += paragraph("  ",
                      fmt::format("{} {} at {}, in sections of {}", profile::percent(share_of(row, events)),
                                  row.cause, row.place, row.section),
                      appearance.width);
  return text + paragraph("", trust(events), appearance.width);
}

std::string aborts_markdown(const profile::Profile& profile, std::size_t most) {
  if (!profile.abort_events) return "";
  const AbortEvents& events = *profile.abort_events;
  if (!events.missing.empty())
    return has_aborts(profile) ? "\n" + markdown_escaped(printable(not_sampled(events))) + "\n" : "";
  if (events.aborts == 0) return "";
  Table table{{{"share"}, {"cause", true}, {"at", true}, {"sections of", true}}, {}};
  for (const Row& row : rows_of(events, most))
    table.rows.push_back(
        {{profile::percent(share_of(row, events)), row.cause, row.place, row.section}, "", Tone::kPlain});
  std::string text = "\n" + heading(events) + ". " + what_is_shared(events) + ":\n";
  if (!table.rows.empty()) text += "\n" + table_markdown(table);
  return text + "\n" + trust(events) + "\n";
}

}  // namespace elision::cli::experiment
