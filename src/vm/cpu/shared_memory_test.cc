// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/shared_memory.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace elision::vm {
namespace {

TEST(SharedMemory, AgreesWithOneBitAPage) {
  constexpr std::uint64_t kPages = 64;
  Random random(1);
  SharedMemory memory;
  bool expected[kPages] = {};
  for (int step = 0; step < 2000; ++step) {
    const std::uint64_t begin = random.below(kPages), end = begin + random.below(kPages - begin + 1);
    const bool shared = random.below(2) != 0;
    memory.set(begin, end, shared);
    for (std::uint64_t page = begin; page < end; ++page) expected[page] = shared;
    for (std::uint64_t page = 0; page < kPages; ++page)
      ASSERT_EQ(memory.ranges().contains(page), expected[page]) << "step " << step << ", page " << page;
  }
}

}  // namespace
}  // namespace elision::vm
