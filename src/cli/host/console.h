// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error of the command line. All that a verb prints goes through here, so that
// lost output is an error, a missing standard error is not.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace elision::cli {

/// Must come before any file is opened. Puts a placeholder where standard input, output or error is closed:
/// no file that is opened later can take its number, and its use fails. The placeholders close on exec.
void hold_standard_descriptors();

/// Closes the placeholders: for a process that goes on as somebody else's program.
void release_standard_descriptors();

/// Prints to standard output. Throws UsageError if that is closed or full. If nobody reads it, ends the
/// process by SIGPIPE, also where that is ignored.
void print(std::string_view text);

/// Prints text as it is to standard error, if that is open.
void print_error(std::string_view text);

/// "elision VERB: MESSAGE" as one line on standard error; whatever is in `message`, it stays one line.
void tell(std::string_view verb, std::string_view message);

/// Does every step, also behind one that throws UsageError; then throws the first such error: what one output
/// cannot take, another may.
void do_all(std::initializer_list<std::function<void()>> steps);

/// Writes all of `content`, whatever kind of file it is. Returns 0 or an errno; neither a reader that has
/// gone nor a limit on file sizes ends the process.
int write_all(int descriptor, std::string_view content);

}  // namespace elision::cli
