// SPDX-License-Identifier: Apache-2.0
// CPUID into facts. Whoever answers CPUID is a parameter, so that tests can be CPUs.
#pragma once

#include <cstdint>
#include <functional>

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// Answers a leaf and a subleaf.
using Cpuid = std::function<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)>;

/// The CPU under this process; zeros where there is no CPUID.
CpuidRegisters native_cpuid(std::uint32_t leaf, std::uint32_t subleaf);

/// Asks only leaves that exist: a CPU answers an unknown one with the data of another.
CpuFacts read_cpu(const Cpuid& cpuid);

}  // namespace elision::cli::doctor
