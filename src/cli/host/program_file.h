// SPDX-License-Identifier: Apache-2.0
// Finds the program that the user named, knows what its start asks for, and says in one line why it cannot
// run, before anything (a temporary directory, a child process, a statistics file) exists that would have to
// be undone.
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

/// The program that `words` ask for, looked for along PATH. Throws UsageError as find_program and
/// check_program do.
Program program_of(const std::vector<std::string>& words);

/// The file that `name` stands for: itself if it has a slash, else the first executable of that name
/// in `path` (colon-separated, as PATH). Throws UsageError if there is none.
std::string find_program(const std::string& name, std::string_view path);

/// Throws UsageError unless `file` is a complete 64-bit x86-64 ELF program or a script whose
/// interpreter exists.
void check_program(const std::string& file);

/// The interpreter that the first line of a script names; empty if `file` is no script.
std::string interpreter_of_script(const std::string& file);

/// The AddressSanitizer that `file` was linked with, as its dynamic section names it ("libasan.so.8"), or an
/// empty string: linked into the program itself, as clang does unless told otherwise, it needs no care. A
/// program without section headers is not looked into.
std::string address_sanitizer_of(const std::string& file);

}  // namespace elision::cli
