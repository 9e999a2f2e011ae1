// SPDX-License-Identifier: Apache-2.0
// The virtual machine as /proc/cpuinfo and AT_HWCAP show it. cpuid.h has CPUID.
#pragma once

#include <cstdint>
#include <string>

#include "machine/topology.h"

namespace elision::vm {

struct MachineIdentity {
  std::string brand = "Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz";
  unsigned family = 6;
  unsigned model = 79;
  unsigned stepping = 1;
  double megahertz = 2300.0;
  machine::Topology topology{1, 128, 1};
  unsigned cache_kilobytes = 46080;  // last level
  std::string flags =
      "fpu tsc cx8 cmov mmx fxsr sse sse2 ht syscall nx rdtscp lm constant_tsc nonstop_tsc pni ssse3 fma "
      "cx16 "
      "sse4_1 sse4_2 movbe popcnt xsave avx f16c rdrand lahf_lm abm avx2 bmi1 bmi2 rtm";
  std::uint64_t hardware_capabilities = 0xbfebfbff;  // CPUID.1:EDX
};

}  // namespace elision::vm
