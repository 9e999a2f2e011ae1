// SPDX-License-Identifier: Apache-2.0
// The code of the library or program that this is compiled into.
#pragma once

#include <link.h>

#include <cstddef>

/// Its ELF header, in memory (a symbol of the linker's).
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[];

namespace elision::htm {

/// Reads every page of the code, so that it is mapped and marked as accessed. A page fault inside a
/// transaction only aborts it, so code that runs only inside transactions would never get its pages.
inline void touch_own_code() {
  const char* base = __ehdr_start;
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* segment = reinterpret_cast<const ElfW(Phdr)*>(base + header.e_phoff);
  constexpr std::size_t kSmallestPage = 4096;
  for (std::size_t i = 0; i < header.e_phnum; ++i, ++segment) {
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
    const auto* code = reinterpret_cast<const volatile char*>(base + segment->p_vaddr);
    for (std::size_t at = 0; at < segment->p_memsz; at += kSmallestPage) (void)code[at];
    (void)code[segment->p_memsz - 1];
  }
}

}  // namespace elision::htm
