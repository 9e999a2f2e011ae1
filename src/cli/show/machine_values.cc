// SPDX-License-Identifier: Apache-2.0
#include "cli/show/machine_values.h"

namespace elision::cli {

nlohmann::json machine_values_json(const std::vector<machine::ValueRecord>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const machine::ValueRecord& value : values) {
    list.push_back(
        {{"field", value.field}, {"value", value.best}, {"others", value.others}, {"source", value.source}});
  }
  return list;
}

}  // namespace elision::cli
