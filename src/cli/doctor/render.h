// SPDX-License-Identifier: Apache-2.0
// The one screen. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/doctor/diagnosis.h"

namespace elision::cli::doctor {

/// "Hardware transactions: yes, ...".
std::string verdict(const Diagnosis& diagnosis);

/// What stands above the advice.
const char* heading_of_advice(const Diagnosis& diagnosis);

/// Verdict first, then what was found in columns, then notes and what to change. `width`: of the terminal, in
/// columns; nothing: no limit.
std::string render(const Facts& facts, const Diagnosis& diagnosis,
                   std::optional<std::size_t> width = std::nullopt);

}  // namespace elision::cli::doctor
