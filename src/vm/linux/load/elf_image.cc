// SPDX-License-Identifier: Apache-2.0
// Sources: System V gABI chapter 5 and its x86-64 supplement; Linux fs/binfmt_elf.c for accepted files and
// the layout of bss. Unlike Linux, refuses segments beyond the end of the file, with which the program would
// crash later.
#include "vm/linux/load/elf_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/elf_header.h"

namespace elision::vm {
namespace {

Failure failure(int error, const std::string& path, const std::string& what) {
  return Failure{error, path + ": " + what};
}

bool read_exactly(int file, void* to, std::size_t size, std::uint64_t offset) {
  return pread(file, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

bool inside(std::uint64_t offset, std::uint64_t size, std::uint64_t total) {
  return offset <= total && size <= total - offset;
}

std::string segment_problem(const Elf64_Phdr& segment, const ElfImage& image) {
  if (segment.p_filesz > segment.p_memsz)
    return "is a malformed ELF: a segment is larger in the file than in memory";
  if (!inside(segment.p_offset, segment.p_filesz, image.file_bytes))
    return "is a truncated ELF: a segment lies beyond the end of the file";
  if (segment.p_vaddr > kAddressLimit || segment.p_memsz > kAddressLimit - segment.p_vaddr)
    return "is a malformed ELF: a segment's address is out of range";
  if ((segment.p_vaddr - segment.p_offset) % kPageBytes != 0)
    return "is a malformed ELF: a segment's address and file offset do not agree";
  if (segment.p_vaddr < image.high && segment.p_vaddr + segment.p_memsz > page_down(segment.p_vaddr) &&
      page_down(segment.p_vaddr) < page_down(image.high - 1))
    return "is a malformed ELF: segments overlap or are not in ascending order";
  return {};
}

std::string take_segments(ElfImage& image) {
  bool first = true;
  for (const Elf64_Phdr& segment : image.headers) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (std::string problem = segment_problem(segment, image); !problem.empty()) return problem;
    if (first) image.low = page_down(segment.p_vaddr);
    first = false;
    image.high = page_up(segment.p_vaddr + segment.p_memsz);
    // Like Linux's maximum_alignment: ignores alignments that are not a power of two.
    if (std::has_single_bit(segment.p_align))
      image.alignment = std::max<std::uint64_t>(image.alignment, segment.p_align);
  }
  return first ? "is a malformed ELF: nothing to load" : "";
}

std::string take_interpreter(ElfImage& image) {
  for (const Elf64_Phdr& header : image.headers) {
    if (header.p_type != PT_INTERP) continue;
    if (!inside(header.p_offset, header.p_filesz, image.file_bytes))
      return "is a truncated ELF: the interpreter's name lies beyond the end of the file";
    if (header.p_filesz < 2 || header.p_filesz > 4096) return "is a malformed ELF: bad interpreter name";
    std::string name(header.p_filesz, '\0');
    if (!read_exactly(image.file.get(), name.data(), name.size(), header.p_offset)) return "cannot be read";
    if (name.back() != '\0') return "is a malformed ELF: the interpreter's name does not end";
    image.interpreter = name.substr(0, name.find('\0'));
    return {};
  }
  return {};
}

int protection_of(const Elf64_Phdr& segment) {
  return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}

long map_segment(AddressSpace& memory, const ElfImage& image, const Elf64_Phdr& segment, std::uint64_t bias) {
  const int protection = protection_of(segment);
  const std::uint64_t begin = bias + page_down(segment.p_vaddr);
  const std::uint64_t file_end = bias + segment.p_vaddr + segment.p_filesz;
  const std::uint64_t end = bias + segment.p_vaddr + segment.p_memsz;
  long result = 0;
  if (segment.p_filesz != 0) {
    result = memory.map(begin, file_end - begin, protection, MAP_PRIVATE | MAP_FIXED, image.file.get(),
                        page_down(segment.p_offset));
    if (result < 0) return result;
    // The tail of the last file page belongs to bss; Linux clears it where it is writable.
    if (end > file_end && (protection & PROT_WRITE) != 0)
      std::memset(reinterpret_cast<void*>(file_end), 0, page_up(file_end) - file_end);
  }
  const std::uint64_t bss = segment.p_filesz != 0 ? page_up(file_end) : begin;
  if (page_up(end) > bss)
    result = memory.map(bss, page_up(end) - bss, protection, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
  return result < 0 ? result : 0;
}

void unmap_gaps(AddressSpace& memory, const ElfImage& image, std::uint64_t bias) {
  std::uint64_t at = image.low;
  for (const Elf64_Phdr& segment : image.headers) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (page_down(segment.p_vaddr) > at) memory.unmap(bias + at, page_down(segment.p_vaddr) - at);
    at = page_up(segment.p_vaddr + segment.p_memsz);
  }
}

std::uint64_t address_of_headers(const ElfImage& image, std::uint64_t bias) {
  for (const Elf64_Phdr& header : image.headers)
    if (header.p_type == PT_PHDR) return bias + header.p_vaddr;
  for (const Elf64_Phdr& segment : image.headers)
    if (segment.p_type == PT_LOAD && image.headers_offset >= segment.p_offset &&
        image.headers_offset < segment.p_offset + segment.p_filesz)
      return bias + segment.p_vaddr + (image.headers_offset - segment.p_offset);
  return 0;
}

}  // namespace

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  OpenFile old(std::exchange(descriptor_, std::exchange(other.descriptor_, -1)));
  return *this;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Fallible<OpenFile> open_program(const std::string& path) {
  // O_NONBLOCK: opening a FIFO would wait for a writer. O_NOCTTY: a terminal would become the controlling
  // one.
  OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return failure(errno, path, std::strerror(errno));
  struct stat status;
  if (fstat(file.get(), &status) != 0) return failure(errno, path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return failure(EACCES, path, "is a directory");
  if (!S_ISREG(status.st_mode)) return failure(EACCES, path, "is not a regular file");
  if (faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0)
    return failure(EACCES, path, "is not executable");
  return file;
}

Fallible<ElfImage> parse_elf(const std::string& path, OpenFile file) {
  struct stat status;
  if (fstat(file.get(), &status) != 0) return failure(errno, path, std::strerror(errno));
  Elf64_Ehdr header{};
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  const ssize_t got = pread(file.get(), &header, sizeof header, 0);
  if (got < SELFMAG || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return failure(ENOEXEC, path, "is neither an ELF program nor a script");
  if (std::string problem = elf_header_problem(header, static_cast<std::size_t>(got)); !problem.empty())
    return failure(ENOEXEC, path, problem);
  const std::uint64_t headers_bytes = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (!inside(header.e_phoff, headers_bytes, file_bytes))
    return failure(ENOEXEC, path, "is a truncated ELF: the program headers lie beyond the end of the file");

  ElfImage image;
  image.path = path;
  image.file = std::move(file);
  image.file_bytes = file_bytes;
  image.entry = header.e_entry;
  image.position_independent = header.e_type == ET_DYN;
  image.headers_offset = header.e_phoff;
  image.headers.resize(header.e_phnum);
  if (!read_exactly(image.file.get(), image.headers.data(), headers_bytes, header.e_phoff))
    return failure(EIO, path, "cannot be read");
  if (std::string problem = take_segments(image); !problem.empty()) return failure(ENOEXEC, path, problem);
  if (std::string problem = take_interpreter(image); !problem.empty()) return failure(ENOEXEC, path, problem);
  return image;
}

std::vector<std::string> needed_objects(const ElfImage& image) {
  constexpr std::uint64_t kMaxBytes = 1u << 20;
  std::vector<std::string> names;
  const auto dynamic = std::find_if(image.headers.begin(), image.headers.end(),
                                    [](const Elf64_Phdr& header) { return header.p_type == PT_DYNAMIC; });
  if (dynamic == image.headers.end() || dynamic->p_filesz > kMaxBytes) return names;
  std::vector<Elf64_Dyn> entries(dynamic->p_filesz / sizeof(Elf64_Dyn));
  if (!read_exactly(image.file.get(), entries.data(), entries.size() * sizeof(Elf64_Dyn), dynamic->p_offset))
    return names;
  const auto value_of = [&](Elf64_Sxword tag) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [tag](const Elf64_Dyn& entry) { return entry.d_tag == tag; });
    return found == entries.end() ? 0 : found->d_un.d_val;
  };
  std::string text(std::min<std::uint64_t>(value_of(DT_STRSZ), kMaxBytes), '\0');
  const std::uint64_t address = value_of(DT_STRTAB);
  const auto holds = [address](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
           address - segment.p_vaddr < segment.p_filesz;
  };
  const auto segment = std::find_if(image.headers.begin(), image.headers.end(), holds);
  if (segment == image.headers.end() || !read_exactly(image.file.get(), text.data(), text.size(),
                                                      address - segment->p_vaddr + segment->p_offset))
    return names;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < text.size())
      names.emplace_back(text.c_str() + entry.d_un.d_val);
  }
  return names;
}

Fallible<MappedImage> map_elf(AddressSpace& memory, const ElfImage& image, std::uint64_t address) {
  const std::uint64_t span = image.high - image.low;
  std::uint64_t place = image.position_independent ? address & ~(image.alignment - 1) : image.low;
  if (!image.position_independent && place < 16 * kPageBytes)
    return failure(EPERM, image.path, "wants to be mapped at the null page");
  const long reserved = memory.reserve(place, span, image.alignment);
  if (reserved < 0) {
    char where[64];
    std::snprintf(where, sizeof where, "0x%llx-0x%llx", static_cast<unsigned long long>(place),
                  static_cast<unsigned long long>(place) + span);
    return failure(ENOMEM, image.path,
                   std::string("cannot be mapped at ") + where + ": that memory is in use");
  }
  place = static_cast<std::uint64_t>(reserved);
  const std::uint64_t bias = place - image.low;
  for (const Elf64_Phdr& segment : image.headers) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (const long result = map_segment(memory, image, segment, bias); result < 0)
      return failure(static_cast<int>(-result), image.path,
                     std::string("cannot be mapped: ") + std::strerror(static_cast<int>(-result)));
  }
  unmap_gaps(memory, image, bias);
  return MappedImage{bias, bias + image.entry, address_of_headers(image, bias), place + span};
}

}  // namespace elision::vm
