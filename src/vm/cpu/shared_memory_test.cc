// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/shared_memory.h"

#include <gtest/gtest.h>

#include <ostream>

#include "base/property_for_test.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kPages = 64;

struct Change {
  std::uint64_t begin, end;
  bool shared;
};

Change draw(Random& random) {
  const std::uint64_t begin = random.below(kPages);
  return {begin, begin + random.below(kPages - begin + 1), random.below(2) != 0};
}

void showValue(const Change& change, std::ostream& out) {
  out << (change.shared ? "share" : "take back") << ' ' << change.begin << " to " << change.end;
}

TEST(SharedMemoryProperty, AgreesWithOneBitAPage) {
  check_property(20, [] {
    SharedMemory memory;
    bool expected[kPages] = {};
    for (const Change& change : *steps(100, draw)) {
      memory.set(change.begin, change.end, change.shared);
      for (std::uint64_t page = change.begin; page < change.end; ++page) expected[page] = change.shared;
      for (std::uint64_t page = 0; page < kPages; ++page)
        RC_ASSERT(memory.ranges().contains(page) == expected[page]);
    }
  });
}

}  // namespace
}  // namespace elision::vm
