// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/engine_layout.h"

#include <gtest/gtest.h>

namespace elision::vm {
namespace {

const std::string kProgram = "55c1b0a4e000-55c1b0a50000 r--p 00000000 08:01 131 /usr/bin/elision\n";
const std::string kHeap = "55c1b25d1000-55c1b25f2000 rw-p 00000000 00:00 0 [heap]\n";
const std::string kLibrary = "7f2c8a400000-7f2c8a5d5000 r-xp 00000000 08:01 132 /usr/lib/libc.so.6\n";
const std::string kStack = "7ffd1f3a1000-7ffd1f3c2000 rw-p 00000000 00:00 0 [stack]\n";
const std::string kVsyscall = "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

TEST(EngineLayout, LayoutWith28RandomBitsIsFree) {
  EXPECT_FALSE(lies_in_the_way(kProgram + kHeap + kLibrary + kStack + kVsyscall));
}

TEST(EngineLayout, LayoutWith32RandomBitsIsTaken) {
  EXPECT_TRUE(
      lies_in_the_way(kProgram + "7b2c8a400000-7b2c8a5d5000 r-xp 00000000 08:01 132 /usr/lib/libc.so.6\n"));
  EXPECT_TRUE(
      lies_in_the_way("5f31b0a4e000-5f31b0a50000 r--p 00000000 08:01 131 /usr/bin/elision\n" + kLibrary));
}

TEST(EngineLayout, MappingReachingIntoLibrariesIsTaken) {
  EXPECT_TRUE(lies_in_the_way(kProgram + "7eefff000000-7ef100000000 rw-p 00000000 00:00 0 \n"));
}

}  // namespace
}  // namespace elision::vm
