// SPDX-License-Identifier: Apache-2.0
#include "runtime/start.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/loaded_files.h"

namespace elision::runtime {
namespace {

/// The program's arguments where the kernel put them (System V ABI for x86-64, 3.4.1), followed by a null and
/// the environment. The dynamic linker exports the address. Null: it does not.
char** arguments_on_stack() {
  char*** stack_end = nullptr;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    if (stack_end == nullptr) stack_end = static_cast<char***>(file.find("__libc_stack_end", nullptr));
  });
  return stack_end != nullptr && *stack_end != nullptr ? *stack_end + 1 : nullptr;
}

char** environment_on_stack() {
  char** word = arguments_on_stack();
  if (word == nullptr) return nullptr;
  while (*word != nullptr) ++word;
  return word + 1;
}

}  // namespace

const char* environment_variable(const char* name) {
  if (environ != nullptr) return std::getenv(name);
  const std::size_t length = std::strlen(name);
  for (char** word = environment_on_stack(); word != nullptr && *word != nullptr; ++word) {
    if (std::strncmp(*word, name, length) == 0 && (*word)[length] == '=') return *word + length + 1;
  }
  return nullptr;
}

const char* program_name() {
  if (*program_invocation_short_name != '\0') return program_invocation_short_name;
  char** arguments = arguments_on_stack();
  if (arguments == nullptr || *arguments == nullptr) return "";
  const char* slash = std::strrchr(*arguments, '/');
  return slash != nullptr ? slash + 1 : *arguments;
}

}  // namespace elision::runtime
