// SPDX-License-Identifier: Apache-2.0
// Makes text from outside (file names, options, output of programs) safe to print. Hosted.
#pragma once

#include <string>
#include <string_view>

namespace elision {

/// `text` as part of one line. Control characters, which could begin a new line or control a terminal, become
/// "\n", "\t", "\x1b"; invalid UTF-8 becomes "\xff". The rest stays.
std::string printable(std::string_view text);

/// `text` with U+FFFD in place of each byte that is not UTF-8.
std::string valid_utf8(std::string_view text);

}  // namespace elision
