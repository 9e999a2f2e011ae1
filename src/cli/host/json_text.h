// SPDX-License-Identifier: Apache-2.0
// The JSON format of every verb.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace elision::cli {

/// Indented, with a line feed at the end. Names and environments may contain invalid UTF-8, which is
/// replaced.
inline std::string json_text(const nlohmann::json& value) {
  constexpr int kIndent = 2;
  return value.dump(kIndent, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// null: not known.
template <class Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace elision::cli
