// SPDX-License-Identifier: Apache-2.0
// Names from outside (files, options, what programs say) in lines that people read. Hosted.
#pragma once

#include <string>
#include <string_view>

namespace elision {

/// `text` as part of one line: control characters, which could begin a new line or command a terminal, become
/// "\n", "\t", "\x1b"; bytes that are no UTF-8 become "\xff". All else stays.
std::string printable(std::string_view text);

}  // namespace elision
