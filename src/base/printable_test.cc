// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <gtest/gtest.h>

namespace elision {
namespace {

TEST(Printable, TextOfAnyLanguageStays) {
  for (const char* text : {"", "a b~\\'", "Gr\xc3\xb6\xc3\x9f-", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("a\nb\tc\rd\x1b[2Je\x7f"), "a\\nb\\tc\\rd\\x1b[2Je\\x7f");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m"),
            "\\xc2\\x9b1m");  // CSI in one character
}

TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond the last character
  EXPECT_EQ(printable("\xe6\xbc"
                      "a"),
            "\\xe6\\xbca");
}

TEST(ValidUtf8, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(valid_utf8("a\n\xc3\xb6"), "a\n\xc3\xb6");
  EXPECT_EQ(valid_utf8("a\xff\xc3"), "a\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace elision
