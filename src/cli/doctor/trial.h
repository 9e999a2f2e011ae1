// SPDX-License-Identifier: Apache-2.0
// Tries real transactions on the CPU of this thread.
#pragma once

#include <functional>

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

/// Begins `attempts` transactions if CPUID shows RTM, and measures how deeply they nest if any commits.
TrialFacts try_transactions(const CpuFacts& cpu, unsigned attempts);

/// Calls `work`. False if an instruction in it was illegal: microcode that was loaded at run time made XBEGIN
/// illegal although CPUID had shown RTM. For one thread only, since the SIGILL handler is the process's.
bool runs_legally(const std::function<void()>& work);

}  // namespace elision::cli::doctor
