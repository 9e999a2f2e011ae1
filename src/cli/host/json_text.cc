// SPDX-License-Identifier: Apache-2.0
#include "cli/host/json_text.h"

namespace elision::cli {
namespace {

std::string text_of(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string json_text(const nlohmann::json& value) {
  constexpr int kIndent = 2;
  return text_of(value, kIndent) + "\n";
}

std::string json_line(const nlohmann::json& value) { return text_of(value, -1); }

nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text, nullptr, false); }

}  // namespace elision::cli
