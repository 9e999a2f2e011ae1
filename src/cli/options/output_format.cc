// SPDX-License-Identifier: Apache-2.0
#include "cli/options/output_format.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/options/suggest.h"

namespace elision::cli {
namespace {

// By number of the format.
const std::vector<std::string> kNames = {"table", "json", "csv", "markdown"};

OutputFormat format_of(const std::string& name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) throw unknown_name("format", name, kNames);
  return static_cast<OutputFormat>(found - kNames.begin());
}

}  // namespace

CLI::Option* add_format(CLI::App& app, OutputFormat& format) {
  const auto store = [&format](const std::string& name) {
    if (!name.empty()) format = format_of(name);  // an empty value is refused for every option
  };
  return app.add_option_function<std::string>("--format", store, "how to write the result (default: table)")
      ->type_name("table|json|csv|markdown");
}

}  // namespace elision::cli
