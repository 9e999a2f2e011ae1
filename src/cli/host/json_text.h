// SPDX-License-Identifier: Apache-2.0
// The JSON format of every verb.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace elision::cli {

/// Indented, with a line feed at the end. Names and environments may contain invalid UTF-8, which is
/// replaced.
std::string json_text(const nlohmann::json& value);

/// The same on one line, without a line feed.
std::string json_line(const nlohmann::json& value);

/// Discarded (is_discarded()) if `text` is no JSON.
nlohmann::json parse_json(std::string_view text);

/// null: not known.
template <class Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace elision::cli
