// SPDX-License-Identifier: Apache-2.0
// The main function of GoogleTest suites that depend on the CPU's transactions. Prints the kind of CPU first,
// except for a list of tests, which CTest parses.
#include <gtest/gtest.h>

#include <cstdio>

#include "htm/cpu_kind.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!testing::GTEST_FLAG(list_tests)) {
    std::puts(elision::htm::kind_of(elision::htm::detect_cpu()));
    std::fflush(stdout);
  }
  return RUN_ALL_TESTS();
}
