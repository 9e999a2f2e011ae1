// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/shared_memory.h"

#include <algorithm>

namespace elision::vm {

void SharedMemory::set(std::uint64_t begin, std::uint64_t end, bool shared) {
  if (begin >= end || (ranges_.empty() && !shared)) return;
  std::vector<SharedRanges::Range> next;
  for (const SharedRanges::Range& range : ranges_) {
    if (range.begin < begin) next.push_back({range.begin, std::min(range.end, begin)});
    if (range.end > end) next.push_back({std::max(range.begin, end), range.end});
  }
  const auto behind = [&](const SharedRanges::Range& range) { return range.begin >= end; };
  if (shared) next.insert(std::find_if(next.begin(), next.end(), behind), {begin, end});
  ranges_ = std::move(next);
  view_ = {ranges_.data(), ranges_.size()};
}

}  // namespace elision::vm
