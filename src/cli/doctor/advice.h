// SPDX-License-Identifier: Apache-2.0
// What to change. Pure.
#pragma once

#include <vector>

#include "cli/doctor/diagnosis.h"

namespace elision::cli::doctor {

/// The changes that apply to a diagnosis, the most effective first.
std::vector<Remark> advise(const Facts& facts, const Diagnosis& diagnosis);

}  // namespace elision::cli::doctor
