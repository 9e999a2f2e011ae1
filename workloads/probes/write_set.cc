// SPDX-License-Identifier: Apache-2.0
// The largest write set that commits (the probe "write-set"): write_set [TRIES]. A transaction stores to
// each line of an array once, in order; the array grows from 1 to 64 KB. A size counts if one of its tries
// commits. A written line that leaves L1 aborts, so the limit is L1 less its other lines.
#include <sys/mman.h>

#include "probe.h"

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kMostKilobytes = 64;

/// Stores to every line. Not inlined, so that nothing else accesses memory between begin and commit.
[[gnu::noinline]] bool commits(volatile unsigned char* bytes, std::size_t size) {
  if (!elision::htm::Rtm::begin().started()) return false;
  for (std::size_t i = 0; i < size; i += kLine) bytes[i] = 1;
  elision::htm::Rtm::commit();
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t tries = probe::count_argument(argc, argv, 20);
  probe::require_rtm();
  probe::pin_to(0);
  void* memory =
      mmap(nullptr, kMostKilobytes << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  unsigned char* bytes = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; i < kMostKilobytes << 10; i += kLine) bytes[i] = 1;
  double largest = 0;
  for (std::size_t kilobytes = 1; kilobytes <= kMostKilobytes; ++kilobytes) {
    for (std::uint64_t i = 0; i < tries; ++i) {
      if (commits(bytes, kilobytes << 10)) largest = static_cast<double>(kilobytes);
    }
  }
  probe::print("largest_kilobytes", largest);
  return 0;
}
