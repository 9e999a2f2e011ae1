// SPDX-License-Identifier: Apache-2.0
#include "cli/show/html.h"

#include <stdexcept>

#include "cli/host/json_text.h"

namespace elision::cli {
namespace {

// HTML ends a script element at "</script", and "<!--" changes how it looks for that. JSON has "<" only in
// strings, where \u003c means the same.
std::string json_for_script(const nlohmann::json& value) {
  const std::string text = json_line(value);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  }
  return escaped;
}

}  // namespace

std::string html_page(std::string_view page, const nlohmann::json& report) {
  constexpr std::string_view kElement = R"(<script type="application/json" id="report">)";
  const std::size_t element = page.find(kElement);
  if (element == page.npos) throw std::logic_error("the page of --html has no place for a report");
  const std::size_t place = element + kElement.size();
  std::string result(page.substr(0, place));
  result += json_for_script(report);
  result += page.substr(place);
  return result;
}

}  // namespace elision::cli
