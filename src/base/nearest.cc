// SPDX-License-Identifier: Apache-2.0
// Edit distance by dynamic programming over one row (Wagner and Fischer, 1974).
#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace elision {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  return best == candidates.end() ? std::string() : *best;
}

std::string near_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::size_t most_edits = std::max<std::size_t>(2, name.size() / 3);
  std::string nearest = nearest_name(name, candidates);
  const std::size_t edits = edit_distance(name, nearest);
  return edits <= most_edits && edits < name.size() ? nearest : std::string();
}

}  // namespace elision
