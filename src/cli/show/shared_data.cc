// SPDX-License-Identifier: Apache-2.0
#include "cli/show/shared_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/host/text_layout.h"
#include "cli/show/abort_summary.h"
#include "cli/show/aborts_json.h"
#include "cli/show/format.h"
#include "cli/show/table.h"
#include "profile/analysis.h"
#include "profile/share_interval.h"
#include "profile/shared_data.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;
using profile::AccessEvents;
using profile::SharedData;

bool is_false_sharing(const SharedData& row) { return 2 * row.apart > row.samples; }

/// Of the samples that met another thread.
double share_of(const SharedData& row, const AccessEvents& events) {
  return events.shared > 0 ? row.samples / events.shared : 0;
}

/// "counter", "2 cache lines without names", or the line's address.
std::string data_text(const SharedData& row) {
  if (profile::is_many(row.data)) return name_of(row.data);
  if (row.data.name.empty() && row.lines > 1) return fmt::format("{} cache lines without names", row.lines);
  return printable(text_of(row.data));
}

std::string kind_text(const SharedData& row) {
  if (profile::is_many(row.data)) return "";
  return is_false_sharing(row) ? "different data in one cache line" : "the same data";
}

std::string accesses_text(const SharedData& row) {
  if (profile::is_many(row.data)) return "";
  return fmt::format("{} at {}, after a {} at {}", row.later_stores ? "stored" : "loaded",
                     printable(text_of(row.later)), row.earlier_stores ? "store" : "load",
                     printable(text_of(row.earlier)));
}

std::string row_text(const SharedData& row, const AccessEvents& events) {
  const std::string share = profile::percent(share_of(row, events));
  if (profile::is_many(row.data)) return share + " " + data_text(row);
  return fmt::format("{} {}: {}, {}", share, kind_text(row), data_text(row), accesses_text(row));
}

std::string heading(const AccessEvents& events) {
  const double samples = events.loads + events.stores;
  const std::string sampled = fmt::format(
      "The CPU sampled {} loads and {} stores{}", format_count(events.loads), format_count(events.stores),
      events.period > 0 ? fmt::format(", one in {} of a thread", format_count(events.period)) : "");
  if (events.shared == 0) return sampled + "; none met another thread's access to its cache line.";
  return fmt::format(
      "{}. {} of them met data that threads share: another thread was at their cache line less than {} ms "
      "before, and one of the two stored. Of these:",
      sampled, profile::percent(events.shared / std::max(1.0, samples)),
      profile::SharedDataAccount::kMostApartNs / 1'000'000);
}

std::string trust(const AccessEvents& events) {
  std::string text;
  if (events.shared > 0) {
    const double points = 100 * (profile::interval_of_share(0.5, events.shared).high - 0.5);
    text = fmt::format("Each of these shares is known to {:.0f} points or better. ", std::max(1.0, points));
  }
  if (events.unknown > 0)
    text += fmt::format("Of {} samples the CPU did not record the address. ", format_count(events.unknown));
  if (events.lost > 0) text += fmt::format("Some {} more were lost. ", format_count(events.lost));
  if (events.throttled > 0)
    text += fmt::format("The kernel paused sampling {} times, since samples came too often. ",
                        format_count(events.throttled));
  return text + "A sample interrupts the program, and aborts the transaction that it finds.";
}

std::vector<SharedData> first_rows(const AccessEvents& events, std::size_t most) {
  return {events.rows.begin(),
          events.rows.begin() + static_cast<std::ptrdiff_t>(std::min(most, events.rows.size()))};
}

json data_json(const profile::Place& data) {
  json result = place_json(data);
  result["address"] = data.address;
  return result;
}

}  // namespace

std::string shared_data_text(const profile::Profile& profile, std::size_t most,
                             const Appearance& appearance) {
  if (!profile.access_events) return "";
  const AccessEvents& events = *profile.access_events;
  std::string text = paragraph("", heading(events), appearance.width);
  for (const SharedData& row : first_rows(events, most))
    text += paragraph("  ", row_text(row, events), appearance.width);
  return text + paragraph("", trust(events), appearance.width);
}

std::string shared_data_markdown(const profile::Profile& profile, std::size_t most) {
  if (!profile.access_events) return "";
  const AccessEvents& events = *profile.access_events;
  Table table{{{"share"}, {"threads share", true}, {"data", true}, {"accesses", true}}, {}};
  for (const SharedData& row : first_rows(events, most))
    table.rows.push_back(
        {{profile::percent(share_of(row, events)), kind_text(row), data_text(row), accesses_text(row)},
         "",
         Tone::kPlain});
  const std::string rows = table.rows.empty() ? "\n" : "\n" + table_markdown(table) + "\n";
  return "\n" + heading(events) + "\n" + rows + trust(events) + "\n";
}

json shared_data_json(const profile::Profile& profile) {
  if (!profile.access_events) return nullptr;
  const AccessEvents& events = *profile.access_events;
  json result = {{"heading", heading(events)}, {"trust", trust(events)},        {"period", events.period},
                 {"loads", events.loads},      {"stores", events.stores},       {"unknown", events.unknown},
                 {"lost", events.lost},        {"throttled", events.throttled}, {"shared", events.shared},
                 {"apart", events.apart},      {"rows", json::array()}};
  for (const SharedData& row : events.rows)
    result["rows"].push_back(
        {{"title", data_text(row)},
         {"data", data_json(row.data)},
         {"lines", row.lines},
         {"false_sharing", profile::is_many(row.data) ? json(nullptr) : json(is_false_sharing(row))},
         {"earlier", place_json(row.earlier)},
         {"earlier_stores", row.earlier_stores},
         {"later", place_json(row.later)},
         {"later_stores", row.later_stores},
         {"samples", row.samples},
         {"apart", row.apart},
         {"share", share_of(row, events)}});
  return result;
}

}  // namespace elision::cli::experiment
