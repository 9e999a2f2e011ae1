// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error of the command line. Verbs print only through these functions: lost
// output is an error, a missing standard error is not.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace elision::cli {

/// Opens a placeholder for each standard descriptor that is closed, so that no other file gets its number.
/// Using a placeholder fails. Placeholders close on exec. Must be called before any file is opened.
void hold_standard_descriptors();

/// Closes the placeholders, in a process that becomes another program.
void release_standard_descriptors();

/// Prints to standard output. Throws UsageError if it is closed or full. If its reader has gone, ends the
/// process by SIGPIPE, even if that is ignored.
void print(std::string_view text);

/// Prints text unchanged to standard error, if it is open.
void print_error(std::string_view text);

/// Prints "elision VERB: MESSAGE" to standard error, as one line whatever `message` contains.
void tell(std::string_view verb, std::string_view message);

/// Does every step even if one throws UsageError, and then throws the first such error. So a failing output
/// does not keep the others from being written.
void do_all(std::initializer_list<std::function<void()>> steps);

/// Writes all of `content` to a file of any kind. Returns 0 or an errno; neither a closed pipe nor a limit on
/// file sizes ends the process.
int write_all(int descriptor, std::string_view content);

}  // namespace elision::cli
