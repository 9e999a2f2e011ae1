// SPDX-License-Identifier: Apache-2.0
// What places are called, so that the same ones are told in several processes and runs. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "profile/profile.h"

namespace elision::profile {

inline bool has_name(const Place& place) { return !place.name.empty() || !place.file.empty(); }

/// What a place is called in every process. An address is its name only if there is no other.
using PlaceKey = std::tuple<std::string, std::string, std::uint32_t, std::uint64_t>;
inline PlaceKey key_of(const Place& place) {
  return {place.name, place.file, place.line, has_name(place) ? 0 : place.address};
}

}  // namespace elision::profile
