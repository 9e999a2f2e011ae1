// SPDX-License-Identifier: Apache-2.0
#include "runtime/design_change.h"

#include <unistd.h>

#include <cstring>

#include "runtime/process.h"

namespace elision::runtime {
namespace {

/// The value of a variable among the settings; null if it is not there.
const char* setting(const char* name) {
  const std::size_t length = std::strlen(name);
  for (const char* entry = elision_design_change.settings; *entry != '\0'; entry += std::strlen(entry) + 1)
    if (std::strncmp(entry, name, length) == 0 && entry[length] == '=') return entry + length + 1;
  return nullptr;
}

/// Programs that this one starts get the new settings. Nothing can be allocated here, so only variables that
/// the environment has already change.
void put_into_environment(char* entry) {
  const char* const end = std::strchr(entry, '=');
  if (end == nullptr || environ == nullptr) return;
  const auto length = static_cast<std::size_t>(end - entry) + 1;
  for (char** at = environ; *at != nullptr; ++at)
    if (std::strncmp(*at, entry, length) == 0) *at = entry;
}

}  // namespace

extern "C" [[gnu::visibility("hidden"), gnu::used]] void elision_change_design() {
  for (char* entry = elision_design_change.settings; *entry != '\0'; entry += std::strlen(entry) + 1)
    put_into_environment(entry);
  start_anew(parse_configuration(setting));
}

// The virtual machine enters this like a signal handler. A handler returns to the restorer, which calls
// rt_sigreturn. This function calls it itself, with the stack pointer as the restorer has it.
__asm__(
    ".pushsection .text\n"
    ".type elision_enter_change, @function\n"
    "elision_enter_change:\n"
    "  sub $8, %rsp\n"
    "  call elision_change_design\n"
    "  add $16, %rsp\n"
    "  mov $15, %eax\n"  // SYS_rt_sigreturn
    "  syscall\n"
    "  ud2\n"
    ".size elision_enter_change, . - elision_enter_change\n"
    ".popsection\n");
extern "C" [[gnu::visibility("hidden")]] void elision_enter_change();

}  // namespace elision::runtime

extern "C" {
[[gnu::visibility("default"), gnu::used]] constinit elision::abi::DesignChange elision_design_change{
    .function = elision::runtime::elision_enter_change};
}
