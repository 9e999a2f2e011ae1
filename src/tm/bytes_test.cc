// SPDX-License-Identifier: Apache-2.0
// Against the C library's memmove and memset.
#include "tm/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace elision::tm {
namespace {

using Memory = std::array<char, 160>;

Memory numbered() {
  Memory memory;
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(i * 7 + 1);
  return memory;
}

TEST(Bytes, MoveAsMemmoveDoes) {
  for (std::size_t bytes = 0; bytes <= 50; ++bytes) {
    for (std::size_t from = 40; from <= 100; ++from) {
      Memory expected = numbered(), found = numbered();
      std::memmove(&expected[70], &expected[from], bytes);
      move_bytes(&found[70], &found[from], bytes);
      ASSERT_EQ(found, expected) << bytes << " bytes from " << from;
    }
  }
}

TEST(Bytes, SetAsMemsetDoes) {
  for (std::size_t bytes = 0; bytes <= 70; ++bytes) {
    for (const int value : {0, 1, 0x80, 0xff, 0x1ff}) {
      Memory expected = numbered(), found = numbered();
      std::memset(&expected[33], value, bytes);
      set_bytes(&found[33], value, bytes);
      ASSERT_EQ(found, expected) << bytes << " bytes of " << value;
    }
  }
}

}  // namespace
}  // namespace elision::tm
