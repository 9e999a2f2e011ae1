// SPDX-License-Identifier: Apache-2.0
// Begins real transactions, on the CPU that this thread runs on.
#pragma once

#include <functional>

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

/// Begins `attempts` transactions if CPUID shows RTM, and measures how deeply they nest if any commits.
TrialFacts try_transactions(const CpuFacts& cpu, unsigned attempts);

/// Calls `work`; false if an instruction in it was illegal. Microcode loaded into a running kernel has made
/// XBEGIN illegal under programs that had asked CPUID before. For one thread only: SIGILL is the process's.
bool runs_legally(const std::function<void()>& work);

}  // namespace elision::cli::doctor
