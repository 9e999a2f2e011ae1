// SPDX-License-Identifier: Apache-2.0
// Updates that are arranged so that they cannot conflict (TSX paper, section 5.4.2): shares of work, groups
// of items without common places, and private copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "team.h"

namespace workloads {

/// Puts each item into the first group after all groups with its places. `places_of` returns the places of
/// an item, each less than `places`.
template <class Item, class PlacesOf>
std::vector<std::vector<Item>> form_groups(std::span<const Item> items, std::size_t places,
                                           PlacesOf places_of) {
  std::vector<std::vector<Item>> groups;
  std::vector<std::size_t> next(places);  // for each place: the first group after those with it
  for (const Item& item : items) {
    std::size_t group = 0;
    for (const std::uint32_t place : places_of(item)) group = std::max(group, next[place]);
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(item);
    for (const std::uint32_t place : places_of(item)) next[place] = group + 1;
  }
  return groups;
}

/// Adds up the copies of the places in `share`, and calls `add(place, sum)` for each.
template <class Value, class Add>
void add_up_copies(const std::vector<std::vector<Value>>& copies, Share share, Add add) {
  for (std::size_t place = share.begin; place < share.end; ++place) {
    Value sum{};
    for (const std::vector<Value>& copy : copies) sum += copy[place];
    add(place, sum);
  }
}

}  // namespace workloads
