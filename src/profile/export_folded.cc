// SPDX-License-Identifier: Apache-2.0
#include "profile/export_folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/printable.h"

namespace elision::profile {
namespace {

constexpr double kNsPerUs = 1000;

std::string line_of(const Profile& profile, const Path& path) {
  std::string line = folded_name(label_of(profile.threads[path.thread]));
  for (const Place* frame : stack_of(profile, path)) line += ";" + folded_name(label_of(*frame));
  if (const std::string label = state_label(profile, path); !label.empty()) line += ";" + folded_name(label);
  return line;
}

}  // namespace

std::string folded_name(const std::string& name) {
  std::string safe = printable(name);
  std::replace(safe.begin(), safe.end(), ';', ':');
  return safe;
}

std::string folded_text(const Profile& profile) {
  std::map<std::string, double> ns;
  for (const Path& path : profile.paths) ns[line_of(profile, path)] += path.ns;
  std::string text;
  for (const auto& [line, time] : ns)
    if (const std::int64_t us = whole(time / kNsPerUs); us > 0) text += fmt::format("{} {}\n", line, us);
  return text;
}

}  // namespace elision::profile
