// SPDX-License-Identifier: Apache-2.0
// Text in columns: how wide it is on a terminal, and how it is padded, shortened and broken into lines. A
// width is a number of display columns, not of bytes, whatever the locale. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elision::cli {

/// The columns that `text`, one line, takes. Characters of East Asian scripts take two, combining marks none.
std::size_t display_width(std::string_view text);

/// `text` with spaces behind it, or in front of it, up to `width`.
std::string padded_right(std::string_view text, std::size_t width);
std::string padded_left(std::string_view text, std::size_t width);

/// `text` in at most `width` columns, which are at least four: ".." stands for what is missing in the middle.
std::string shortened(std::string_view text, std::size_t width);

/// `text` in lines of at most `width` columns, broken at spaces; nothing: no limit. A line feed begins a new
/// line. A longer word gets a line of its own.
std::vector<std::string> wrapped(std::string_view text, std::optional<std::size_t> width);

/// `text` as such lines, the first behind `first`, the others behind as many spaces; with line feeds.
std::string paragraph(std::string_view first, std::string_view text, std::optional<std::size_t> width);

}  // namespace elision::cli
