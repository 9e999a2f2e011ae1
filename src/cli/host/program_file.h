// SPDX-License-Identifier: Apache-2.0
// Finds the program that the user named and checks that it can run. If it cannot, says why in one line,
// before there is a temporary directory, child process or statistics file to clean up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace elision::cli {

/// A program that can be started.
struct Program {
  std::string file;                // found and checked
  std::vector<std::string> words;  // its name, as the user wrote it, and its arguments
};

/// Finds the program of `words` along PATH. Throws UsageError as find_program and check_program do.
Program program_of(const std::vector<std::string>& words);

/// The file of the program `name`: `name` itself if it has a slash, else the first executable of that name in
/// `path` (colon-separated, like PATH). Throws UsageError if there is none.
std::string find_program(const std::string& name, std::string_view path);

/// Throws UsageError unless `file` is a complete 64-bit x86-64 ELF program or a script whose
/// interpreter exists.
void check_program(const std::string& file);

/// The interpreter in the first line of a script; empty if `file` is not a script.
std::string interpreter_of_script(const std::string& file);

/// The AddressSanitizer library in the dynamic section of `file` ("libasan.so.8"), or an empty string. A
/// sanitizer in the program itself, clang's default, needs no care. Programs without section headers are not
/// examined.
std::string address_sanitizer_of(const std::string& file);

}  // namespace elision::cli
