// SPDX-License-Identifier: Apache-2.0
// Call paths for scripts: a row each. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profile/export_labels.h"

namespace elision::profile {

/// Objects with state, lock, thread, ns, samples and stack, the outermost function first; of aborts with
/// cause, cycles or aborts, samples and stack. What is not known is null.
nlohmann::ordered_json rows_json(const PathTable& table);

/// The names of the columns, and the cells of each row: the stack is one, with ";" between functions.
struct ExportTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
ExportTable rows_table(const PathTable& table);

}  // namespace elision::profile
