// SPDX-License-Identifier: Apache-2.0
#include "cli/show/aborts_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "cli/host/text_layout.h"
#include "cli/show/abort_summary.h"
#include "cli/show/table.h"
#include "profile/analysis.h"

namespace elision::cli::experiment {
namespace {

using profile::AbortEvents;

bool has_aborts(const profile::Profile& profile) {
  return std::any_of(profile.locks.begin(), profile.locks.end(), [](const profile::Lock& lock) {
    return std::any_of(lock.aborts.begin(), lock.aborts.end(),
                       [](const auto& cause) { return cause.second > 0; });
  });
}

std::string not_sampled(const AbortEvents& events) {
  return fmt::format(
      "Aborts are those that the lock library counted, without the instructions at which they "
      "happened: {}.",
      events.missing);
}

/// With the `most` first sources.
AbortSummary shortened(const profile::Profile& profile, std::size_t most) {
  AbortSummary summary = summary_of(*profile.abort_events, samples_of_accesses(profile));
  if (summary.sources.size() > most) summary.sources.resize(most);
  return summary;
}

std::string section_text(const AbortSource& source) {
  return source.section ? printable(text_of(*source.section)) : "unknown";
}

std::string source_text(const AbortSource& source) {
  return fmt::format("{} {} at {}, {}", profile::percent(source.share), source.cause,
                     printable(path_of(source)),
                     source.section ? "in sections of " + section_text(source) : "in unknown sections");
}

}  // namespace

std::string aborts_text(const profile::Profile& profile, std::size_t most, const Appearance& appearance) {
  if (!profile.abort_events) return "";
  const AbortEvents& events = *profile.abort_events;
  if (!events.missing.empty())
    return has_aborts(profile) ? paragraph("", printable(not_sampled(events)), appearance.width) : "";
  if (events.aborts == 0) return "";
  const AbortSummary summary = shortened(profile, most);
  std::string text = paragraph("", summary.heading, appearance.width);
  if (events.samples > 0) text += paragraph("", fmt::format("Of {}:", summary.shares_of), appearance.width);
  for (const AbortSource& source : summary.sources)
    text += paragraph("  ", source_text(source), appearance.width);
  return text + paragraph("", summary.trust, appearance.width);
}

std::string aborts_markdown(const profile::Profile& profile, std::size_t most) {
  if (!profile.abort_events) return "";
  const AbortEvents& events = *profile.abort_events;
  if (!events.missing.empty())
    return has_aborts(profile) ? "\n" + markdown_escaped(printable(not_sampled(events))) + "\n" : "";
  if (events.aborts == 0) return "";
  const AbortSummary summary = shortened(profile, most);
  Table table{{{"share"}, {"cause", true}, {"at", true}, {"sections of", true}}, {}};
  for (const AbortSource& source : summary.sources)
    table.rows.push_back(
        {{profile::percent(source.share), source.cause, printable(path_of(source)), section_text(source)},
         "",
         Tone::kPlain});
  std::string text = "\n" + summary.heading;
  if (!table.rows.empty()) text += fmt::format(" Of {}:\n\n{}", summary.shares_of, table_markdown(table));
  return text + (table.rows.empty() ? "\n\n" : "\n") + summary.trust + "\n";
}

}  // namespace elision::cli::experiment
