// SPDX-License-Identifier: Apache-2.0
#include "profile/export_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace elision::profile {

std::vector<std::string> remarks_of(const PathTable& table, const Origin& origin) {
  std::vector<std::string> remarks = {origin.command, origin.conditions, origin.writer};
  remarks.insert(remarks.end(), table.remarks.begin(), table.remarks.end());
  return remarks;
}

std::string label_of(const Thread& thread) {
  if (thread.name.empty()) return fmt::format("thread {}", thread.id);
  return thread.id == 0 ? thread.name : fmt::format("{} ({})", thread.name, thread.id);
}

std::string label_of(const Place& frame) {
  return frame.name.empty() ? fmt::format("{:#x}", frame.address) : frame.name;
}

std::int64_t whole(double value) { return std::llround(std::clamp(value, 0.0, std::ldexp(1.0, 62))); }

}  // namespace elision::profile
