// SPDX-License-Identifier: Apache-2.0
// Loading the machine of `--machine`.
#pragma once

#include <string>

#include "machine/variation.h"

namespace elision::cli {

inline constexpr const char* kDefaultMachine = "xeon-gold-5520plus";

/// The machine of that name or file. Throws UsageError with the loader's message.
machine::Machine load_machine_or_throw(const std::string& name);

/// The variation with that number. Throws UsageError if there is none.
machine::Variation variation_or_throw(const machine::Machine& machine, std::uint32_t number);

/// The values drawn for variations 0 to `count` - 1.
std::vector<std::vector<machine::DrawnValue>> drawn_values(const machine::Machine& machine,
                                                           std::uint32_t count);

}  // namespace elision::cli
