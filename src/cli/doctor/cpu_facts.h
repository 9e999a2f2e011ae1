// SPDX-License-Identifier: Apache-2.0
// Facts from CPUID. The function that answers CPUID is a parameter, so that tests can imitate CPUs.
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

/// The CPU of this process; zeros without CPUID.
CpuidRegisters native_cpuid(std::uint32_t leaf, std::uint32_t subleaf);

/// Reads only leaves that exist: a CPU answers an unknown leaf with the data of another one.
CpuFacts read_cpu(const Cpuid& cpuid);

}  // namespace elision::cli::doctor
