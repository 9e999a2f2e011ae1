// SPDX-License-Identifier: Apache-2.0
// Whether an ELF header describes a program for this CPU. The command line asks before it starts anything,
// the virtual machine before it loads a program.
#pragma once

#include <elf.h>

#include <cstddef>
#include <string>

namespace elision {

/// Why a file with this header does not run, as the end of a sentence about the file ("is a 32-bit program;
/// ..."); empty if it may. `bytes`: how much of the header the file has. The caller has checked the magic.
std::string elf_header_problem(const Elf64_Ehdr& header, std::size_t bytes);

}  // namespace elision
