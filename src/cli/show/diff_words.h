// SPDX-License-Identifier: Apache-2.0
// A number in two runs, as JSON, and the words for which runs have something. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "profile/change.h"

namespace elision::cli::experiment {

/// "a", "b", "difference" and, if it has bounds, "low" and "high".
inline nlohmann::json change_json(const profile::Change& change) {
  nlohmann::json result = {{"a", change.a}, {"b", change.b}, {"difference", change.difference()}};
  if (change.bounds) result["low"] = change.bounds->low, result["high"] = change.bounds->high;
  return result;
}

/// "both", "a" or "b".
inline const char* json_name(profile::Presence presence) {
  switch (presence) {
    case profile::Presence::kBoth:
      return "both";
    case profile::Presence::kOnlyA:
      return "a";
    case profile::Presence::kOnlyB:
      return "b";
  }
  return "";
}

/// The same in a table.
inline const char* word_for(profile::Presence presence) {
  switch (presence) {
    case profile::Presence::kBoth:
      return "both";
    case profile::Presence::kOnlyA:
      return "only A";
    case profile::Presence::kOnlyB:
      return "only B";
  }
  return "";
}

}  // namespace elision::cli::experiment
