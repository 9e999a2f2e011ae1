// SPDX-License-Identifier: Apache-2.0
#include "cli/show/why_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/printable.h"
#include "cli/host/text_layout.h"
#include "cli/judge/explanation.h"
#include "cli/show/format.h"
#include "profile/conflicts.h"

namespace elision::cli::experiment {
namespace {

using Rows = std::vector<const Row*>;

constexpr std::size_t kMostLocks = 3;
constexpr std::size_t kMostConflicts = 3;
constexpr double kShownConflicts = 0.01;  // conflicts to sections, at least
constexpr std::size_t kLongestBar = 60;
constexpr std::size_t kShortestBar = 20;

/// How a part of the time is drawn: by its character and, where there are colours, on its background.
struct PartStyle {
  char character;
  int background;  // of 256 colours
};

constexpr std::array<PartStyle, profile::kStates> kStyles = {{{'.', 252},
                                                              {'=', 114},
                                                              {'+', 79},
                                                              {'x', 210},
                                                              {'f', 180},
                                                              {'w', 203},
                                                              {'s', 183},
                                                              {'o', 222},
                                                              {'b', 250}}};

Rows explained_rows(const Block& block) {
  Rows rows;
  for (const Row& row : block.rows) {
    if (row.why) rows.push_back(&row);
  }
  return rows;
}

// The parts as numbers of characters whose sum is `length`: rounded down, then one more for the largest
// rests.
std::vector<std::size_t> lengths_of(const TimeShares& shares, std::size_t length) {
  std::vector<std::size_t> lengths, order(shares.size());
  std::vector<double> rests;
  const double whole = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (const double share : shares) {
    const double exact = whole > 0 ? share / whole * static_cast<double>(length) : 0;
    lengths.push_back(static_cast<std::size_t>(exact));
    rests.push_back(exact - static_cast<double>(lengths.back()));
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rests[a] > rests[b]; });
  const std::size_t drawn = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  for (std::size_t i = 0; whole > 0 && i < length - drawn; ++i) ++lengths[order[i]];
  return lengths;
}

std::string on_background(const std::string& text, int background, const Appearance& appearance) {
  if (!appearance.colour || text.empty()) return text;
  return fmt::format("\x1b[30;48;5;{}m{}\x1b[0m", background, text);
}

std::string bar(const TimeShares& shares, std::size_t length, const Appearance& appearance) {
  const std::vector<std::size_t> lengths = lengths_of(shares, length);
  std::string text;
  for (std::size_t part = 0; part < shares.size(); ++part)
    text += on_background(std::string(lengths[part], kStyles[part].character), kStyles[part].background,
                          appearance);
  return text;
}

std::size_t longest_name(const Rows& rows) {
  std::size_t longest = 0;
  for (const Row* row : rows) longest = std::max(longest, display_width(printable(row->design)));
  return longest;
}

std::size_t bar_length(const Rows& rows, const Appearance& appearance) {
  constexpr std::size_t kAround = 2 + 2 + 2 + 13;  // margin, gaps, "100 % waiting"
  const std::size_t room = appearance.width.value_or(SIZE_MAX), names = longest_name(rows);
  return std::clamp(room > names + kAround ? room - names - kAround : 0, kShortestBar, kLongestBar);
}

// Colours are not wrapped, since they have no width.
std::string legend(const Rows& rows, const Appearance& appearance) {
  const std::size_t width = appearance.width.value_or(SIZE_MAX);
  std::string text;
  std::size_t columns = 0;
  for (std::size_t part = 0; part < kStyles.size(); ++part) {
    const auto shown = [&](const Row* row) {
      return lengths_of(row->why->time, bar_length(rows, appearance))[part] > 0;
    };
    if (std::none_of(rows.begin(), rows.end(), shown)) continue;
    const PartStyle& style = kStyles[part];
    const std::string words = fmt::format(" {}", profile::kStateWords[part]);
    if (columns > 0 && columns + 3 + words.size() > width) {
      text += "\n";
      columns = 0;
    }
    text += "  " + on_background(std::string(1, style.character), style.background, appearance) + words;
    columns += 3 + words.size();
  }
  return text + "\n";
}

std::string bars(const Rows& rows, const Appearance& appearance) {
  const std::size_t names = longest_name(rows), length = bar_length(rows, appearance);
  std::string text;
  for (const Row* row : rows) {
    text += fmt::format("  {}  {}  {:.0f} % waiting\n", padded_right(printable(row->design), names),
                        bar(row->why->time, length, appearance),
                        100 * profile::time_in(row->why->time, profile::State::kWaiting));
  }
  return text;
}

std::string basis(const Row& row, const std::string& run) {
  const std::string samples = row.why->samples ? fmt::format("from {} samples", *row.why->samples) : "exact";
  return fmt::format(
      "Time of the threads in {} ({}), while two or more were alive: {:.0f} % of the run under {}.", run,
      samples, 100 * row.why->parallel_share, row.design);
}

std::string in_source(const SourcePlace& place) {
  return place.file.empty() ? "" : fmt::format("{}:{}", place.file, place.line);
}

std::string side(const SourcePlace& place) {
  const std::string source = in_source(place);
  return source.empty() ? place.name : fmt::format("{} ({})", place.name, source);
}

const char* kind_of(const profile::ConflictCounts& counts) {
  switch (profile::sharing_of(counts)) {
    case profile::Sharing::kUnknown:
      return ", one side not known";
    case profile::Sharing::kSameData:
      return "";
    case profile::Sharing::kSameLine:
      return ", by false sharing";
    case profile::Sharing::kPrefetch:
      return ", by prefetches";
  }
  return "";
}

/// A lock without a name of its own is called by two of the places where it is taken: "pop() and push()".
std::string short_name_of(const LockReport& lock) {
  if (lock.naming != LockNaming::kCalledFrom) return lock.place.name;
  const auto other = std::find_if(lock.other_sites.begin(), lock.other_sites.end(),
                                  [&lock](const SourcePlace& site) { return site.name != lock.place.name; });
  return "the lock of " + lock.place.name + (other != lock.other_sites.end() ? " and " + other->name : "");
}

/// Conflicts that a reader cannot tell apart.
struct ShownConflict {
  std::string places;
  profile::ConflictCounts counts{};
};

ShownConflict shown_conflict(const LockReport& lock, const LockConflict& conflict) {
  return {fmt::format("{} under {}: {} and {}",
                      profile::data_text(conflict.name, conflict.address, conflict.places, lock.address),
                      short_name_of(lock), side(conflict.sites[0]), side(conflict.sites[1])),
          conflict.counts};
}

std::string line_of(const ShownConflict& conflict) {
  return fmt::format("{}, {}{}", conflict.places,
                     conflict.counts.count == 1 ? "once" : format_count(conflict.counts.count) + " times",
                     kind_of(conflict.counts));
}

/// The most frequent conflicts of the first design that has more than a few.
struct ShownConflicts {
  std::string heading;
  std::vector<std::string> lines;
};

ShownConflicts shown_conflicts(const Rows& rows) {
  ShownConflicts shown;
  for (const Row* row : rows) {
    std::vector<ShownConflict> conflicts;
    double sections = 0, count = 0;
    for (const LockReport& lock : row->why->locks) {
      sections += lock.sections;
      for (const LockConflict& conflict : lock.conflicts) {
        ShownConflict one = shown_conflict(lock, conflict);
        count += conflict.counts.count;
        const auto known =
            std::find_if(conflicts.begin(), conflicts.end(),
                         [&one](const ShownConflict& each) { return each.places == one.places; });
        if (known == conflicts.end()) {
          conflicts.push_back(std::move(one));
        } else {
          known->counts += one.counts;
        }
      }
    }
    if (count == 0 || count < kShownConflicts * sections) continue;
    std::stable_sort(conflicts.begin(), conflicts.end(), [](const ShownConflict& a, const ShownConflict& b) {
      return a.counts.count > b.counts.count;
    });
    conflicts.resize(std::min(conflicts.size(), kMostConflicts));
    for (const ShownConflict& conflict : conflicts) shown.lines.push_back(line_of(conflict));
    shown.heading = fmt::format("Most frequent conflicts under {} in that run:", row->design);
    return shown;
  }
  return shown;
}

std::string conflicts(const Rows& rows, const Appearance& appearance) {
  const ShownConflicts shown = shown_conflicts(rows);
  if (shown.lines.empty()) return "";
  std::string text = paragraph("", printable(shown.heading), appearance.width);
  for (const std::string& line : shown.lines) text += paragraph("  - ", printable(line), appearance.width);
  return text;
}

std::string conflicts_markdown(const Rows& rows) {
  const ShownConflicts shown = shown_conflicts(rows);
  if (shown.lines.empty()) return "";
  std::string text = fmt::format("\n{}\n\n", markdown_escaped(shown.heading));
  for (const std::string& line : shown.lines) text += "- " + markdown_escaped(line) + "\n";
  return text;
}

/// A sentence for programs of which no line of source is known. Empty: some is.
std::string missing_lines(const Rows& rows) {
  std::size_t locks = 0;
  for (const Row* row : rows) {
    for (const LockReport& lock : row->why->locks) {
      if (!lock.place.file.empty()) return "";
      for (const LockConflict& conflict : lock.conflicts)
        for (const SourcePlace& site : conflict.sites)
          if (!site.file.empty()) return "";
      ++locks;
    }
  }
  return locks == 0 ? ""
                    : "Lines of source are not known: compile with -g, and leave the program unstripped.";
}

Table time_table(const Rows& rows) {
  Table table{{{"design", true}}, {}};
  for (const char* const words : profile::kStateWords) table.columns.push_back({words});
  for (const Row* row : rows) {
    std::vector<std::string> cells = {row->design};
    for (const double share : row->why->time) cells.push_back(fmt::format("{:.1f} %", 100 * share));
    table.rows.push_back({std::move(cells), "", Tone::kPlain});
  }
  return table;
}

}  // namespace

// Several locks may be named by one call: then their addresses tell them apart.
std::string name_among(const std::vector<LockReport>& locks, const LockReport& lock) {
  const auto alike = [&lock](const LockReport& other) { return other.place == lock.place; };
  if (std::count_if(locks.begin(), locks.end(), alike) < 2 || lock.address == 0) return lock.place.name;
  return fmt::format("{} at {:#x}", lock.place.name, lock.address);
}

std::string seconds_or_dash(const std::optional<double>& seconds) {
  return seconds ? format_seconds(*seconds) : kNoValue;
}

/// "queue.cc:15 and 2 others", or "3 places" if their lines are not known.
std::string taken_at(const LockReport& lock) {
  const std::string source = in_source(lock.place);
  const std::size_t others = lock.other_sites.size();
  if (others == 0) return source.empty() ? kNoValue : source;
  if (source.empty()) return fmt::format("{} places", 1 + others);
  return others == 1 ? source + " and another" : fmt::format("{} and {} others", source, others);
}

Table locks_table(const Block& block) {
  Table table{{{"lock with most waiting", true},
               {"acquired"},
               {"contended"},
               {"waiting"},
               {"mean"},
               {"longest"},
               {"mean hold"},
               {"at", true}},
              {}};
  for (const Row* row : explained_rows(block)) {
    if (row->why->locks.empty()) continue;
    for (std::size_t i = 0; i < std::min(row->why->locks.size(), kMostLocks); ++i) {
      const LockReport& lock = row->why->locks[i];
      if (lock.wait_seconds == 0) continue;
      table.rows.push_back(
          {{name_among(row->why->locks, lock),
            (lock.sections_estimated ? "~" : "") + format_count(lock.sections),
            lock.contended_share ? profile::percent(*lock.contended_share, "<", ">") : kNoValue,
            format_seconds(lock.wait_seconds), seconds_or_dash(lock.mean_wait_seconds),
            seconds_or_dash(lock.longest_wait_seconds), format_seconds(lock.mean_hold_seconds),
            taken_at(lock)},
           "",
           Tone::kPlain});
    }
    break;
  }
  return table;
}

std::string why_text(const Block& block, const Appearance& appearance, const std::string& run) {
  const Rows rows = explained_rows(block);
  std::string text;
  if (block.diagnosis) text += paragraph("", printable(block.diagnosis->sentence), appearance.width);
  if (block.unexplained) text += paragraph("", why_none(*block.unexplained), appearance.width);
  if (!rows.empty()) {
    text += paragraph("", basis(*rows.front(), run), appearance.width) + bars(rows, appearance) +
            legend(rows, appearance);
    const Table locks = locks_table(block);
    if (!locks.rows.empty()) text += table_text(locks, appearance);
    text += conflicts(rows, appearance);
    if (const std::string missing = missing_lines(rows); !missing.empty())
      text += paragraph("", missing, appearance.width);
  }
  if (!block.diagnosis) return text;
  for (const profile::Finding& finding : block.diagnosis->findings)
    text += paragraph("- ", printable(finding.sentence), appearance.width);
  return text;
}

std::string next_steps_text(const std::vector<NextStep>& steps, const Appearance& appearance) {
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string number = fmt::format("  {}. ", i + 1);
    text += paragraph(number, printable(steps[i].sentence), appearance.width);
    if (!steps[i].command.empty())
      text += std::string(number.size(), ' ') + printable(steps[i].command) + "\n";
  }
  return text.empty() ? text : "Next:\n" + text;
}

std::string why_markdown(const Block& block, const std::string& run) {
  const Rows rows = explained_rows(block);
  std::string text;
  if (block.diagnosis) text += "\n" + markdown_escaped(block.diagnosis->sentence) + "\n";
  if (block.unexplained) text += "\n" + markdown_escaped(why_none(*block.unexplained)) + "\n";
  if (!rows.empty()) {
    text += fmt::format("\n{}\n\n{}", markdown_escaped(basis(*rows.front(), run)),
                        table_markdown(time_table(rows)));
    const Table locks = locks_table(block);
    if (!locks.rows.empty()) text += "\n" + table_markdown(locks);
    text += conflicts_markdown(rows);
    if (const std::string missing = missing_lines(rows); !missing.empty()) text += "\n" + missing + "\n";
  }
  if (!block.diagnosis || block.diagnosis->findings.empty()) return text;
  text += "\n";
  for (const profile::Finding& finding : block.diagnosis->findings)
    text += "- " + markdown_escaped(finding.sentence) + "\n";
  return text;
}

std::string next_steps_markdown(const std::vector<NextStep>& steps) {
  std::string text = steps.empty() ? "" : "\n### Next\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    text += fmt::format("\n{}. {}\n", i + 1, markdown_escaped(steps[i].sentence));
    if (!steps[i].command.empty())
      text += "\n       " + printable(steps[i].command) + "\n";  // indented: code
  }
  return text;
}

}  // namespace elision::cli::experiment
