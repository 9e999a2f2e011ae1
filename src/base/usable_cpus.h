// SPDX-License-Identifier: Apache-2.0
// The number of CPUs that the calling thread may use; std::thread::hardware_concurrency() counts all.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace elision {

/// At least 1, even if the kernel does not say.
inline unsigned usable_cpus() {
  std::uint64_t set[128] = {};  // 8,192 CPUs; a kernel with more refuses
  const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof set, set);
  unsigned cpus = 0;
  for (long i = 0; i * 8 < bytes; ++i) {
    for (; set[i] != 0; set[i] &= set[i] - 1) ++cpus;
  }
  return cpus == 0 ? 1 : cpus;
}

}  // namespace elision
