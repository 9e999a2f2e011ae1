// SPDX-License-Identifier: Apache-2.0
// Whether a program that is about to start can have locks that the preload library replaces. Reads files and
// asks the dynamic linker for the program's libraries; runs nothing of the program.
#pragma once

#include <string>
#include <string_view>

namespace elision::cli {

enum class Place { kNative, kVirtual };

/// Why no lock of the program in `file` (of its interpreter, if that is a script) can be replaced, as words
/// in brackets; empty: some may be, or nobody knows (it may load libraries and start programs later).
std::string why_no_lock_is_replaced(const std::string& file, Place place);

/// "PROGRAM VERB no lock that Elision can replace (WHY), so the design of the lock makes no difference to
/// it".
std::string no_lock_sentence(std::string_view program, std::string_view verb, std::string_view why);

}  // namespace elision::cli
