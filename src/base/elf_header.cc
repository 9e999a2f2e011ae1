// SPDX-License-Identifier: Apache-2.0
#include "base/elf_header.h"

namespace elision {

std::string elf_header_problem(const Elf64_Ehdr& header, std::size_t bytes) {
  // First, since the header of a 32-bit ELF is shorter.
  if (bytes > EI_CLASS && header.e_ident[EI_CLASS] == ELFCLASS32)
    return "is a 32-bit program; only 64-bit x86-64 programs run";
  if (bytes < sizeof header) return "is a truncated ELF: the header is incomplete";
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "is a malformed ELF: neither 32-bit nor 64-bit";
  if (header.e_ident[EI_DATA] == ELFDATA2MSB)
    return "is a program for another CPU (big-endian); only 64-bit x86-64 programs run";
  if (header.e_ident[EI_DATA] != ELFDATA2LSB)
    return "is a malformed ELF: neither little-endian nor big-endian";
  if (header.e_machine != EM_X86_64)
    return "is a program for another CPU (e_machine " + std::to_string(header.e_machine) +
           "); only 64-bit x86-64 programs run";
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return "is an ELF but not a program (e_type " + std::to_string(header.e_type) + ")";
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0)
    return "is a malformed ELF: no usable program headers";
  return {};
}

}  // namespace elision
