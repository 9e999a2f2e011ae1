// SPDX-License-Identifier: Apache-2.0
// The one screen. Pure.
#pragma once

#include <string>

#include "cli/doctor/diagnosis.h"

namespace elision::cli::doctor {

/// Verdict first, then what was found in columns, then notes and what to change.
std::string render(const Facts& facts, const Diagnosis& diagnosis);

}  // namespace elision::cli::doctor
