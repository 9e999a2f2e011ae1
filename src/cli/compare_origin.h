// SPDX-License-Identifier: Apache-2.0
// What repeats a comparison, for its report: the command, the program's version and the machine.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/experiment/sample.h"
#include "cli/verbs.h"

namespace elision::cli {

/// {"elision": version, "command": the command line, "machine": [{"field", "value", "others", "source"}]}.
/// `words` are those after the verb.
nlohmann::json origin_json(const experiment::Plan& plan, const Words& words);

}  // namespace elision::cli
