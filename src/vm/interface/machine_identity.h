// SPDX-License-Identifier: Apache-2.0
// What the guest is told about the virtual machine outside CPUID: /proc/cpuinfo, AT_HWCAP.
#pragma once

#include <cstdint>
#include <string>

namespace elision::vm {

struct MachineIdentity {
  std::string brand = "Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz";
  unsigned family = 6;
  unsigned model = 79;
  unsigned stepping = 1;
  double megahertz = 2300.0;
  unsigned threads_per_core = 1;  // in use
  unsigned thread_bits = 0;       // of an APIC number
  unsigned sockets = 1;
  unsigned cores_per_socket = 128;
  unsigned cache_kilobytes = 46080;  // last level
  std::string flags =
      "fpu tsc cx8 cmov mmx fxsr sse sse2 ht syscall nx rdtscp lm constant_tsc nonstop_tsc pni ssse3 fma "
      "cx16 "
      "sse4_1 sse4_2 movbe popcnt xsave avx f16c rdrand lahf_lm abm avx2 bmi1 bmi2 rtm";
  std::uint64_t hardware_capabilities = 0xbfebfbff;  // CPUID.1:EDX

  /// CPUs are numbered as Linux numbers them: first one thread of every core, then their siblings.
  unsigned core_of(unsigned cpu) const { return cpu % (sockets * cores_per_socket); }
  unsigned socket_of(unsigned cpu) const { return core_of(cpu) / cores_per_socket; }
  unsigned thread_of(unsigned cpu) const { return cpu / (sockets * cores_per_socket); }
};

}  // namespace elision::vm
