// SPDX-License-Identifier: Apache-2.0
#include "profile/conflicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/units.h"

namespace elision::profile {
namespace {

/// A line of source, or a function, or an address.
using Line = std::tuple<std::string, std::string, std::uint32_t, std::uint64_t>;
/// Data, the lines on both sides in any order, and Conflict::at_lock.
using Key = std::tuple<std::string, std::uint64_t, Line, Line, bool>;

Line line_of(const Place& place) {
  return {place.name, place.file, place.line, place.name.empty() ? place.address : 0};
}

Key key_of(const Conflict& conflict, const std::string& data, std::uint64_t address) {
  Line one = line_of(conflict.victim), other = line_of(conflict.other);
  if (other < one) std::swap(one, other);
  return {data, address, std::move(one), std::move(other), conflict.at_lock};
}

/// Places that have become one before are apart from single ones.
Key place_key(const Conflict& conflict) {
  if (conflict.places > 1) return key_of(conflict, conflict.data.name, 1);
  return key_of(conflict, conflict.data.name, conflict.data.name.empty() ? conflict.data.address : 0);
}

/// "accounts" of "accounts+0x6c0". Empty: heap, stack, or a place in a file without symbols.
std::string variable_of(const Conflict& conflict) {
  return conflict.data.is_in_file ? "" : conflict.data.name.substr(0, conflict.data.name.find("+0x"));
}

Key variable_key(const Conflict& conflict) { return key_of(conflict, variable_of(conflict), 0); }

}  // namespace

Sharing sharing_of(const ConflictCounts& counts) {
  const double known = counts.count - counts.unknown;
  if (2 * known < counts.count || known <= 0) return Sharing::kUnknown;
  if (2 * (counts.apart + counts.prefetched) <= known) return Sharing::kSameData;
  return counts.prefetched > counts.apart ? Sharing::kPrefetch : Sharing::kSameLine;
}

std::string data_text(const std::string& name, std::uint64_t address, std::size_t places,
                      std::uint64_t lock) {
  constexpr std::uint64_t kNearBehind = 4096, kNearInFront = 64;
  if (name.empty() && places == 1 && lock != 0) {
    // Where only the line of an access is known, its address is that of the line.
    if (address % kLineBytes == 0 && address / kLineBytes == lock / kLineBytes)
      return "the cache line of the lock";
    const std::uint64_t behind = address - lock, in_front = lock - address;
    if (behind < kNearBehind) return fmt::format("the data {} bytes behind the lock", behind);
    if (in_front <= kNearInFront) return fmt::format("the data {} bytes in front of the lock", in_front);
  }
  if (places > 1) return fmt::format("{} ({} places)", name.empty() ? "memory without a name" : name, places);
  return name.empty() ? fmt::format("{:#x}", address) : name;
}

std::vector<Conflict> by_place(std::vector<Conflict> conflicts, double all) {
  const auto is_rare = [all](const Conflict& conflict) {
    return conflict.counts.count < kSmallestPlaceShare * all;
  };
  std::map<Key, Conflict> places;
  for (Conflict& conflict : conflicts) {
    const auto [known, is_new] = places.try_emplace(place_key(conflict), conflict);
    if (is_new) continue;
    known->second.counts += conflict.counts;
    if (conflict.places > 1) known->second.places += conflict.places;
  }
  std::map<Key, Conflict> variables;
  std::vector<Conflict> result;
  for (const auto& [key, place] : places) {
    if (!is_rare(place)) {
      result.push_back(place);
      continue;
    }
    const auto [known, is_new] = variables.try_emplace(variable_key(place), place);
    if (is_new) continue;
    Conflict& sum = known->second;
    sum.counts += place.counts;
    sum.places += place.places;
    sum.data = {std::min(sum.data.address, place.data.address), variable_of(sum)};
  }
  for (const auto& [key, variable] : variables)
    if (!is_rare(variable)) result.push_back(variable);
  std::stable_sort(result.begin(), result.end(),
                   [](const Conflict& a, const Conflict& b) { return a.counts.count > b.counts.count; });
  if (result.size() > kMostPlaces) result.resize(kMostPlaces);
  return result;
}

}  // namespace elision::profile
