// SPDX-License-Identifier: Apache-2.0
// The largest read set that commits (the probe "read-set"): read_set [FIRST LAST STEP [TRIES]], sizes in
// kilobytes, by default 512 KB to 9 MB in steps of 256 KB, five tries each.
//
// A transaction loads every line of an array once, in order. A size counts if one of its tries commits. Pages
// are mapped before, so that no page fault aborts a transaction.
#include <sys/mman.h>

#include "probe.h"

namespace {

constexpr std::size_t kLine = 64;

/// Loads a word of every line. Not inlined, so that nothing else accesses memory between begin and commit.
[[gnu::noinline]] bool commits(const volatile unsigned char* bytes, std::size_t size) {
  if (!elision::htm::Rtm::begin().started()) return false;
  for (std::size_t i = 0; i < size; i += kLine) (void)bytes[i];
  elision::htm::Rtm::commit();
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t first = probe::count_argument(argc, argv, 512, 1);
  const std::uint64_t last = probe::count_argument(argc, argv, 9 << 10, 2);
  const std::uint64_t step = probe::count_argument(argc, argv, 256, 3);
  const std::uint64_t tries = probe::count_argument(argc, argv, 5, 4);
  probe::require_rtm();
  probe::pin_to(0);
  const std::size_t most = last << 10;
  void* memory = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  madvise(memory, most, MADV_HUGEPAGE);
  unsigned char* bytes = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; i < most; i += 4096) bytes[i] = 1;
  double largest = 0;
  for (std::uint64_t kilobytes = first; kilobytes <= last; kilobytes += step) {
    std::uint64_t committed = 0;
    for (std::uint64_t i = 0; i < tries; ++i) committed += commits(bytes, kilobytes << 10);
    const double megabytes = static_cast<double>(kilobytes) / 1024;
    if (committed != 0) largest = megabytes;
    std::printf("commit_percent_at_%.2f_megabytes: %.0f\n", megabytes,
                100.0 * static_cast<double>(committed) / static_cast<double>(tries));
  }
  probe::print("largest_megabytes", largest);
  return 0;
}
