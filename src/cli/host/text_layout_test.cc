// SPDX-License-Identifier: Apache-2.0
// Widths of text, lines, and what a terminal and its environment allow.
#include "cli/host/text_layout.h"

#include <gtest/gtest.h>

#include "cli/host/console.h"

namespace elision::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kGerman = "Gr\xc3\xb6\xc3\x9f";         // 4 columns in 6 bytes
constexpr const char* kChinese = "\xe6\xbc\xa2\xe5\xad\x97";  // 4 columns in 6 bytes, 2 characters
constexpr const char* kCombined = "e\xcc\x81";                // 1 column, 2 characters

TEST(TextLayout, WidthCountsColumns) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("htm-10"), 6u);
  EXPECT_EQ(display_width(kGerman), 4u);
  EXPECT_EQ(display_width(kChinese), 4u);
  EXPECT_EQ(display_width(kCombined), 1u);
  EXPECT_EQ(display_width("a\xff"), 2u);
}

TEST(TextLayout, PaddingFillsColumns) {
  EXPECT_EQ(padded_right(kGerman, 6), std::string(kGerman) + "  ");
  EXPECT_EQ(padded_left(kChinese, 6), "  " + std::string(kChinese));
  EXPECT_EQ(padded_right("longer", 3), "longer");
}

TEST(TextLayout, LongNamesLoseTheirMiddle) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("0123456789", 7), "012..89");
  EXPECT_EQ(shortened("0123456789", 6), "01..89");
  const std::string text = shortened(std::string(kChinese) + kChinese + kChinese, 7);
  EXPECT_LE(display_width(text), 7u);
  EXPECT_EQ(text, "\xe6\xbc\xa2..\xe5\xad\x97");
}

TEST(TextLayout, LinesBreakAtSpaces) {
  EXPECT_EQ(wrapped("aa bb cc", 5), (Lines{"aa bb", "cc"}));
  EXPECT_EQ(wrapped("aa bb cc", std::nullopt), (Lines{"aa bb cc"}));
  EXPECT_EQ(wrapped("a\nb c", 80), (Lines{"a", "b c"}));
  EXPECT_EQ(wrapped("a longword b", 4), (Lines{"a", "longword", "b"}));
  EXPECT_EQ(wrapped("", 4), (Lines{""}));
  EXPECT_EQ(wrapped(std::string(kGerman) + " x", 6), (Lines{std::string(kGerman) + " x"}));
}

TEST(TextLayout, ParagraphsHang) {
  EXPECT_EQ(paragraph("1. ", "aaaa bbbb cccc", 12), "1. aaaa bbbb\n   cccc\n");
  EXPECT_EQ(paragraph("- ", "aaaa bbbb cccc", std::nullopt), "- aaaa bbbb cccc\n");
}

TEST(Appearance, OnlyATerminalHasAWidth) {
  Surroundings surroundings;
  surroundings.columns = "60";
  surroundings.window_columns = 100;
  EXPECT_FALSE(appearance_in(surroundings).width);
  surroundings.terminal = true;
  EXPECT_EQ(appearance_in(surroundings).width, 60u);
  for (const char* unusable : {"", "0", "x", "-3", "6e1"}) {
    surroundings.columns = unusable;
    EXPECT_EQ(appearance_in(surroundings).width, 100u) << unusable;
  }
  surroundings.window_columns = 0;
  EXPECT_EQ(appearance_in(surroundings).width, 80u);
  surroundings.window_columns = 3;
  EXPECT_EQ(appearance_in(surroundings).width, 20u);
}

TEST(Appearance, ColourNeedsATerminalThatWantsIt) {
  Surroundings surroundings;
  surroundings.term = "xterm";
  EXPECT_FALSE(appearance_in(surroundings).colour);
  EXPECT_FALSE(appearance_in(surroundings).redraws);
  surroundings.terminal = true;
  EXPECT_TRUE(appearance_in(surroundings).colour);
  surroundings.no_color = "1";
  EXPECT_FALSE(appearance_in(surroundings).colour);
  EXPECT_TRUE(appearance_in(surroundings).redraws);
  surroundings.no_color = "";
  surroundings.term = "dumb";
  EXPECT_FALSE(appearance_in(surroundings).colour);
  EXPECT_FALSE(appearance_in(surroundings).redraws);
}

TEST(Appearance, BlocksNeedUtf8Everywhere) {
  Surroundings surroundings;
  EXPECT_FALSE(appearance_in(surroundings).blocks);
  surroundings.utf8 = true;
  EXPECT_TRUE(appearance_in(surroundings).blocks);
}

}  // namespace
}  // namespace elision::cli
