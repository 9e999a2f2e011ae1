// SPDX-License-Identifier: Apache-2.0
// The CPUs that the calling thread may use; std::thread::hardware_concurrency() counts all.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace elision {

class UsableCpus {
 public:
  UsableCpus() { (void)syscall(SYS_sched_getaffinity, 0, sizeof set_, set_); }
  bool contains(unsigned cpu) const { return cpu < kMost && (set_[cpu / 64] >> cpu % 64 & 1) != 0; }
  unsigned count() const {
    unsigned cpus = 0;
    for (std::uint64_t bits : set_) {
      for (; bits != 0; bits &= bits - 1) ++cpus;
    }
    return cpus;
  }

 private:
  static constexpr unsigned kMost = 8192;  // a kernel with more refuses, and the set is empty
  std::uint64_t set_[kMost / 64] = {};
};

/// At least 1, even if the kernel does not say.
inline unsigned usable_cpus() {
  const unsigned cpus = UsableCpus().count();
  return cpus == 0 ? 1 : cpus;
}

}  // namespace elision
