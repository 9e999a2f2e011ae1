// SPDX-License-Identifier: Apache-2.0
#include "cli/show/paths_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "cli/host/text_layout.h"
#include "cli/show/table.h"
#include "profile/analysis.h"
#include "profile/names.h"

namespace elision::cli::experiment {
namespace {

using profile::Path;
using profile::Profile;
using profile::State;

bool is_at_lock(State state) { return state != State::kOutside && state != State::kBlocked; }

/// What a thread does, in front of the lock's name.
std::string words_of(State state) {
  switch (state) {
    case State::kSection:
    case State::kFallback:
      return "holding ";
    case State::kAttempt:
      return "in transactions for ";
    case State::kAborted:
      return "in transactions that abort for ";
    case State::kWaiting:
    case State::kSpeculating:
      return "waiting for ";
    default:
      return "trying to take ";
  }
}

/// Whether a function is one of the program's own: not of the C++ library or a lock's wrapper.
bool is_programs_own(const profile::Place& function) {
  const std::string& name = function.name;
  return !name.empty() && !name.starts_with("std::") && !name.starts_with("_") && name != "start_thread" &&
         name.find("+0x") == std::string::npos && !profile::is_lock_wrapper(name);
}

/// As of lambdas, and of what the C++ library makes of a thread's function.
bool is_call_operator(const profile::Place& function) {
  return function.name.find("operator()") != std::string::npos;
}

/// Names of the program's own functions, the innermost first.
std::vector<std::string> own_functions(const Profile& profile, const std::vector<std::uint32_t>& frames,
                                       bool with_call_operators) {
  std::vector<std::string> names;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const profile::Place& function = profile.frames[*frame];
    if (!is_programs_own(function) || (!with_call_operators && is_call_operator(function))) continue;
    if (names.empty() || names.back() != function.name) names.push_back(function.name);
  }
  return names;
}

/// "push(), called by handle(), run()". Call operators are left out unless there is nothing else.
std::string calls_text(const Profile& profile, const std::vector<std::uint32_t>& frames) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> names = own_functions(profile, frames, false);
  if (names.empty()) names = own_functions(profile, frames, true);
  if (names.empty()) return "in functions without a name of the program's own";
  std::string text = names.front();
  for (std::size_t i = 1; i < std::min(names.size(), kMost); ++i)
    text += (i == 1 ? ", called by " : ", ") + names[i];
  return text + (names.size() > kMost ? ", ..." : "");
}

struct Row {
  double share = 0;
  std::string at;     // what the threads do, and the lock
  std::string calls;  // functions
};

std::vector<Row> rows_of(const Profile& profile, std::size_t most) {
  std::map<std::pair<std::string, std::string>, double> sums;
  double all = 0;
  for (const Path& path : profile.paths) {
    all += path.ns;
    if (!is_at_lock(path.state)) continue;
    const std::string lock =
        path.lock == Path::kNoLock ? "a lock that is not known" : name_of(profile.locks[path.lock]);
    sums[{words_of(path.state) + lock, calls_text(profile, path.frames)}] += path.ns;
  }
  std::vector<Row> rows;
  for (const auto& [words, ns] : sums)
    rows.push_back({all > 0 ? ns / all : 0, printable(words.first), printable(words.second)});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.share > b.share; });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

/// "7 of them aborted a transaction, less than 1 % of all aborts": a signal does that, on a real CPU.
std::string aborts_caused(const Profile& profile) {
  double caused = 0, aborts = 0;
  for (const Path& path : profile.paths)
    if (path.state == State::kAttempt) caused += path.samples;
  for (const profile::Thread& thread : profile.threads) aborts += thread.aborts;
  if (profile.exact || caused == 0) return "";
  return fmt::format(", of which {:.0f} aborted a transaction, {} of all aborts", caused,
                     profile::percent(std::min(1.0, caused / std::max(aborts, caused))));
}

std::string heading(const Profile& profile) {
  double samples = 0;
  for (const Path& path : profile.paths) samples += path.samples;
  std::string text =
      fmt::format("Call paths at locks, from {:.0f} samples", samples) + aborts_caused(profile);
  if (profile.paths_lost > 0)
    text += fmt::format(" ({:.0f} more were lost, since they came too fast)", profile.paths_lost);
  if (!profile.paths_missing.empty()) text += " (" + printable(profile.paths_missing) + ")";
  return text;
}

}  // namespace

std::string paths_text(const Profile& profile, std::size_t most, const Appearance& appearance) {
  const std::vector<Row> rows = rows_of(profile, most);
  if (rows.empty()) return "";
  std::string text = paragraph("", heading(profile) + ":", appearance.width);
  for (const Row& row : rows)
    text += paragraph("  ", fmt::format("{} {}: {}", profile::percent(row.share), row.at, row.calls),
                      appearance.width);
  return text;
}

std::string paths_markdown(const Profile& profile, std::size_t most) {
  Table table{{{"time"}, {"at", true}, {"functions", true}}, {}};
  for (const Row& row : rows_of(profile, most)) {
    TableRow& cells = table.rows.emplace_back();
    cells.cells = {profile::percent(row.share), row.at, row.calls};
  }
  return table.rows.empty() ? "" : "\n" + heading(profile) + ":\n\n" + table_markdown(table);
}

}  // namespace elision::cli::experiment
