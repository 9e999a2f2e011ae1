// SPDX-License-Identifier: Apache-2.0
#include "runtime/loaded_files.h"

#include <sys/auxv.h>

#include <cstring>

namespace elision::runtime {
namespace {

constexpr unsigned kHidden = 0x8000;     // flag of a version index: an old version
constexpr unsigned kWithoutVersion = 1;  // this index and below have no version

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

template <class Entry>
const Entry* after(const Entry* entry, std::size_t bytes) {
  return reinterpret_cast<const Entry*>(reinterpret_cast<const char*>(entry) + bytes);
}

}  // namespace

LoadedFile::LoadedFile(const dl_phdr_info& info)
    : base_(info.dlpi_addr), parts_(info.dlpi_phdr), part_count_(info.dlpi_phnum) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (unsigned i = 0; i < part_count_; ++i) {
    if (parts_[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(base_ + parts_[i].p_vaddr);
  }
  if (dynamic == nullptr) return;
  dynamic_ = dynamic;
  std::size_t own_name = 0;
  const auto place = [this](const ElfW(Dyn) * entry) {
    // glibc relocates these in place, except in a read-only section (of the kernel's file).
    return entry->d_un.d_ptr < base_ ? base_ + entry->d_un.d_ptr : entry->d_un.d_ptr;
  };
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(place(dynamic));
        break;
      case DT_STRTAB:
        strings_ = reinterpret_cast<const char*>(place(dynamic));
        break;
      case DT_GNU_HASH:
        gnu_hash_ = reinterpret_cast<const std::uint32_t*>(place(dynamic));
        break;
      case DT_VERSYM:
        versions_ = reinterpret_cast<const ElfW(Versym)*>(place(dynamic));
        break;
      case DT_VERDEF:
        version_definitions_ = reinterpret_cast<const ElfW(Verdef)*>(place(dynamic));
        break;
      case DT_VERDEFNUM:
        version_definition_count_ = dynamic->d_un.d_val;
        break;
      case DT_SONAME:
        own_name = dynamic->d_un.d_val;
        break;
    }
  }
  if (strings_ != nullptr && own_name != 0) own_name_ = strings_ + own_name;
}

bool LoadedFile::needs(const LoadedFile& other) const {
  if (dynamic_ == nullptr || strings_ == nullptr || other.own_name_ == nullptr) return false;
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && std::strcmp(strings_ + entry->d_un.d_val, other.own_name_) == 0)
      return true;
  }
  return false;
}

std::uintptr_t LoadedFile::begin() const {
  for (unsigned i = 0; i < part_count_; ++i) {
    if (parts_[i].p_type == PT_LOAD) return base_ + parts_[i].p_vaddr;
  }
  return base_;
}

AddressRange LoadedFile::segment_of(const void* address) const {
  for (unsigned i = 0; i < part_count_; ++i) {
    if (parts_[i].p_type != PT_LOAD) continue;
    const std::uintptr_t begin = base_ + parts_[i].p_vaddr;
    const AddressRange segment{begin, begin + parts_[i].p_memsz};
    if (segment.contains(address)) return segment;
  }
  return {};
}

bool LoadedFile::is_the_kernels() const {
  const unsigned long kernels = getauxval(AT_SYSINFO_EHDR);
  return kernels != 0 && contains(reinterpret_cast<const void*>(kernels));
}

void* LoadedFile::find(const char* name, const char* version) const {
  const ElfW(Sym)* symbol = find_symbol(name, version);
  if (symbol == nullptr) return nullptr;
  const ElfW(Addr) address = base_ + symbol->st_value;
  if (ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC) return reinterpret_cast<void*>(address);
  return reinterpret_cast<void* (*)()>(address)();
}

const ElfW(Sym) * LoadedFile::find_symbol(const char* name, const char* version) const {
  if (symbols_ == nullptr || strings_ == nullptr || gnu_hash_ == nullptr) return nullptr;
  // The header, a Bloom filter (not needed here), the first symbol of each bucket, the hash of each symbol.
  const std::uint32_t buckets = gnu_hash_[0], first_symbol = gnu_hash_[1], filter_words = gnu_hash_[2];
  const std::uint32_t* bucket = gnu_hash_ + 4 + std::size_t{2} * filter_words;
  const std::uint32_t* hashes = bucket + buckets;
  if (buckets == 0) return nullptr;
  const std::uint32_t hash = gnu_hash_of(name);
  std::size_t index = bucket[hash % buckets];
  if (index < first_symbol) return nullptr;
  for (bool last = false; !last; ++index) {
    const std::uint32_t other = hashes[index - first_symbol];
    last = (other & 1) != 0;
    const ElfW(Sym)& symbol = symbols_[index];
    if ((other | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(strings_ + symbol.st_name, name) == 0 && has_version(index, version))
      return &symbol;
  }
  return nullptr;
}

bool LoadedFile::has_version(std::size_t symbol, const char* version) const {
  if (versions_ == nullptr) return true;
  const unsigned of_symbol = versions_[symbol];
  if ((of_symbol & ~kHidden) <= kWithoutVersion) return true;
  if (version == nullptr) return (of_symbol & kHidden) == 0;
  return std::strcmp(version_name(of_symbol & ~kHidden), version) == 0;
}

const char* LoadedFile::version_name(unsigned index) const {
  const ElfW(Verdef)* definition = version_definitions_;
  for (std::size_t i = 0; i < version_definition_count_; ++i) {
    if (definition->vd_ndx == index) {
      const auto* name = reinterpret_cast<const ElfW(Verdaux)*>(after(definition, definition->vd_aux));
      return strings_ + name->vda_name;
    }
    definition = after(definition, definition->vd_next);
  }
  return "";
}

}  // namespace elision::runtime
