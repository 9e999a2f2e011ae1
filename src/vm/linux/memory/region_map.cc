// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/memory/region_map.h"

#include <algorithm>
#include <iterator>

namespace elision::vm {

void RegionMap::split(std::uint64_t address) {
  auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) return;
  const auto holder = std::prev(next);
  if (holder->first == address || holder->second.end <= address) return;
  regions_.emplace_hint(next, address, holder->second);
  holder->second.end = address;
}

void RegionMap::merge(std::uint64_t begin, std::uint64_t end) {
  auto region = regions_.upper_bound(begin);
  if (region != regions_.begin()) --region;
  if (region != regions_.begin()) --region;
  while (region != regions_.end() && region->first <= end) {
    const auto next = std::next(region);
    if (next == regions_.end()) return;
    if (region->second.end == next->first && region->second.properties == next->second.properties) {
      region->second.end = next->second.end;
      regions_.erase(next);
    } else {
      region = next;
    }
  }
}

void RegionMap::remove(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  ++changes_;
  split(begin);
  split(end);
  regions_.erase(regions_.lower_bound(begin), regions_.lower_bound(end));
}

void RegionMap::add(std::uint64_t begin, std::uint64_t end, RegionProperties properties) {
  if (begin >= end) return;
  remove(begin, end);
  regions_.emplace(begin, Region{end, properties});
  merge(begin, end);
}

void RegionMap::set_permissions(std::uint64_t begin, std::uint64_t end, bool executable, bool writable) {
  ++changes_;
  split(begin);
  split(end);
  for (auto region = regions_.lower_bound(begin); region != regions_.end() && region->first < end; ++region) {
    region->second.properties.executable = executable;
    region->second.properties.writable = writable;
  }
  merge(begin, end);
}

std::optional<std::pair<std::uint64_t, Region>> RegionMap::find(std::uint64_t address) const {
  auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) return std::nullopt;
  const auto holder = std::prev(next);
  if (holder->second.end <= address) return std::nullopt;
  return std::pair(holder->first, holder->second);
}

bool RegionMap::covers(std::uint64_t begin, std::uint64_t end) const {
  while (begin < end) {
    const auto region = find(begin);
    if (!region || region->second.properties.use == RegionUse::kForeign) return false;
    begin = region->second.end;
  }
  return true;
}

std::uint64_t RegionMap::next_start(std::uint64_t address, std::uint64_t limit) const {
  const auto next = regions_.lower_bound(address);
  return next == regions_.end() ? limit : std::min(limit, next->first);
}

bool RegionMap::is_free(std::uint64_t begin, std::uint64_t end) const {
  return !find(begin) && next_start(begin, end) >= end;
}

bool RegionMap::any_executable(std::uint64_t begin, std::uint64_t end) const {
  auto region = regions_.upper_bound(begin);
  if (region != regions_.begin()) --region;
  for (; region != regions_.end() && region->first < end; ++region)
    if (region->second.end > begin && region->second.properties.executable) return true;
  return false;
}

std::uint64_t RegionMap::find_free(std::uint64_t low, std::uint64_t high, std::uint64_t size,
                                   std::uint64_t alignment) const {
  const auto align = [&](std::uint64_t x) { return (x + alignment - 1) & ~(alignment - 1); };
  std::uint64_t candidate = align(low);
  auto next = regions_.upper_bound(low);
  if (next != regions_.begin() && std::prev(next)->second.end > candidate)
    candidate = align(std::prev(next)->second.end);
  for (; next != regions_.end() && next->first < high; ++next) {
    if (next->first >= candidate && next->first - candidate >= size) return candidate;
    candidate = std::max(candidate, align(next->second.end));
  }
  return candidate < high && high - candidate >= size ? candidate : 0;
}

std::uint64_t RegionMap::mapped_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [begin, region] : regions_)
    if (region.properties.use != RegionUse::kForeign) bytes += region.end - begin;
  return bytes;
}

}  // namespace elision::vm
