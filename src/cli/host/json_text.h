// SPDX-License-Identifier: Apache-2.0
// JSON as every verb writes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace elision::cli {

/// Indented, with a line feed at the end. Names and environments may hold bytes that are no UTF-8: they are
/// replaced.
inline std::string json_text(const nlohmann::json& value) {
  constexpr int kIndent = 2;
  return value.dump(kIndent, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace elision::cli
