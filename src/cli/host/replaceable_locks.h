// SPDX-License-Identifier: Apache-2.0
// Whether our libraries can replace the locks or the transactions of a program. Reads files and asks the
// dynamic linker for the program's libraries; runs no code of the program.
#pragma once

#include <string>
#include <string_view>

namespace elision::cli {

enum class Place { kNative, kVirtual };

/// Why no lock of the program in `file` (or of a script's interpreter) can be replaced, as text for brackets.
/// Empty: some can, or it is not known, since the program may load libraries or start programs.
std::string why_no_lock_is_replaced(const std::string& file, Place place);

/// The same of a program that took no lock in a run, where another reason is likely enough to be named.
std::string why_no_lock_was_taken(const std::string& file, Place place);

/// "PROGRAM VERB no lock that Elision can replace (WHY), so the design of the lock makes no difference to
/// it". `why` empty: no reason is known, and the sentence is about one run.
std::string no_lock_sentence(std::string_view program, std::string_view verb, std::string_view why);

/// Throws UsageError, naming `option`, if no transaction of the program in `file` can run by libelision-tm:
/// it has none, or it uses another libitm than libitm.so.1. Does not if that is not known, since the program
/// may load libraries or start programs.
void require_transactions(const std::string& file, Place place, std::string_view option);

}  // namespace elision::cli
