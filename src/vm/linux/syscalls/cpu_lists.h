// SPDX-License-Identifier: Apache-2.0
// Lists of CPUs as the files of /proc and /sys hold them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace elision::vm {

/// "0-3,8-11", as Linux writes lists of CPUs, which are in order. Without a newline.
inline std::string cpu_list(const std::vector<unsigned>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace elision::vm
