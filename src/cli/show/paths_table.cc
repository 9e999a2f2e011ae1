// SPDX-License-Identifier: Apache-2.0
#include "cli/show/paths_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/printable.h"
#include "profile/analysis.h"

namespace elision::cli::experiment {
namespace {

using profile::Path;
using profile::Profile;
using profile::State;

bool is_at_lock(State state) { return state != State::kOutside && state != State::kBlocked; }

std::string word_of(State state) {
  switch (state) {
    case State::kSection:
    case State::kFallback:
      return "holding";
    case State::kAttempt:
      return "in a transaction";
    case State::kAborted:
      return "in a transaction that aborts";
    case State::kWaiting:
    case State::kSpeculating:
      return "waiting for";
    default:
      return "trying to take";
  }
}

std::string base_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

/// "push() at queue.cc:12, called by handle(), run()".
std::string calls_text(const Profile& profile, const std::vector<std::uint32_t>& frames) {
  constexpr std::size_t kMostCallers = 6;
  if (frames.empty()) return kNoValue;
  const profile::Place& innermost = profile.frames[frames.back()];
  std::string text = innermost.name.empty() ? fmt::format("{:#x}", innermost.address) : innermost.name;
  if (!innermost.file.empty()) text += fmt::format(" at {}:{}", base_name(innermost.file), innermost.line);
  const std::size_t callers = std::min(frames.size() - 1, kMostCallers);
  for (std::size_t i = 0; i < callers; ++i) {
    const profile::Place& caller = profile.frames[frames[frames.size() - 2 - i]];
    text += i == 0 ? ", called by " : ", ";
    text += caller.name.empty() ? fmt::format("{:#x}", caller.address) : caller.name;
  }
  if (callers < frames.size() - 1) text += ", ...";
  return printable(text);
}

}  // namespace

Table paths_table(const Profile& profile, std::size_t most_rows) {
  std::map<std::tuple<std::string, std::uint32_t, std::vector<std::uint32_t>>, double> sums;
  double all = 0;
  for (const Path& path : profile.paths) {
    all += path.ns;
    if (is_at_lock(path.state)) sums[{word_of(path.state), path.lock, path.frames}] += path.ns;
  }
  std::vector<std::pair<double, const decltype(sums)::key_type*>> most;
  for (const auto& [key, ns] : sums) most.emplace_back(ns, &key);
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (most.size() > most_rows) most.resize(most_rows);

  Table table{{{"time"}, {"call paths at locks", true}, {"lock", true}, {"functions", true}}, {}};
  for (const auto& [ns, key] : most) {
    const auto& [word, lock, frames] = *key;
    TableRow row;
    row.cells = {profile::percent(all > 0 ? ns / all : 0), word,
                 lock == Path::kNoLock ? kNoValue : printable(name_of(profile.locks[lock])),
                 calls_text(profile, frames)};
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace elision::cli::experiment
