// SPDX-License-Identifier: Apache-2.0
// The program headers of an ELF file, checked before anything is mapped, and the mapping of the file.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "vm/interface/fallible.h"
#include "vm/linux/memory/address_space.h"

namespace elision::vm {

/// An open file that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int descriptor = -1) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct ElfImage {
  std::string path;
  OpenFile file;
  std::uint64_t file_bytes = 0;
  std::uint64_t entry = 0;  // as in the file
  bool position_independent = false;
  std::vector<Elf64_Phdr> headers;
  std::uint64_t headers_offset = 0;
  std::string interpreter;  // PT_INTERP, or empty
  std::uint64_t low = 0;    // page-aligned span of all PT_LOAD segments, as in the file
  std::uint64_t high = 0;
  std::uint64_t alignment = kPageBytes;
};

/// Where an image was mapped.
struct MappedImage {
  std::uint64_t bias = 0;  // added to every address in the file
  std::uint64_t entry = 0;
  std::uint64_t headers = 0;  // address of the program headers, 0 if no segment holds them
  std::uint64_t end = 0;      // first page behind the image
};

/// Opens a program for execution. Fails with the errors of execve: missing, a directory, not executable.
Fallible<OpenFile> open_program(const std::string& path);

/// Parses and checks `file`. Messages name it `path`.
Fallible<ElfImage> parse_elf(const std::string& path, OpenFile file);

/// The shared objects that `image` is linked with (DT_NEEDED). Empty if its dynamic section is malformed.
std::vector<std::string> needed_objects(const ElfImage& image);

/// Maps `image` at `address`. The address counts for position-independent images only; 0 lets the address
/// space choose.
Fallible<MappedImage> map_elf(AddressSpace& memory, const ElfImage& image, std::uint64_t address);

}  // namespace elision::vm
