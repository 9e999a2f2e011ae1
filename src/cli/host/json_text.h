// SPDX-License-Identifier: Apache-2.0
// The JSON format of every verb.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace elision::cli {

/// Indented, with a line feed at the end. Names and environments may contain invalid UTF-8, which is
/// replaced.
inline std::string json_text(const nlohmann::json& value) {
  constexpr int kIndent = 2;
  return value.dump(kIndent, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace elision::cli
