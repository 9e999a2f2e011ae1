// SPDX-License-Identifier: Apache-2.0
// All facts about the machine under this process.
#pragma once

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

/// Asks CPUID, tries transactions, reads the kernel's files, opens perf events and closes them. Changes
/// nothing.
Facts gather();

/// Of `tunables`, a value of GLIBC_TUNABLES (name=value:name=value), what speaks of elision.
std::string elision_tunables(const std::string& tunables);

}  // namespace elision::cli::doctor
