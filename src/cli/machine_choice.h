// SPDX-License-Identifier: Apache-2.0
// The machine that `--machine` names.
#pragma once

#include <string>

#include "machine/description_toml.h"

namespace elision::cli {

inline constexpr const char* kDefaultMachine = "xeon-e5-2697v4";

/// The machine of that name or file; throws UsageError with the loader's line.
machine::Machine load_machine_or_throw(const std::string& name);

}  // namespace elision::cli
