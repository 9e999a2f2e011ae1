// SPDX-License-Identifier: Apache-2.0
// The values of a machine in reports.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "machine/description_toml.h"

namespace elision::cli {

/// A list of objects with "field", "value", "others" (low and high of a number, or alternatives of a word;
/// empty if the value is certain) and "source". All values are text, as the machine's file has them.
nlohmann::json machine_values_json(const std::vector<machine::ValueRecord>& values);

}  // namespace elision::cli
