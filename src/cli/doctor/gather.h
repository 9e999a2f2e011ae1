// SPDX-License-Identifier: Apache-2.0
// Gathers all facts about this machine.
#pragma once

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

/// Reads CPUID, tries transactions, reads the kernel's files, opens and closes perf events. Changes nothing.
Facts gather();

/// The part of `tunables`, a value of GLIBC_TUNABLES (name=value:name=value), that concerns elision.
std::string elision_tunables(const std::string& tunables);

}  // namespace elision::cli::doctor
