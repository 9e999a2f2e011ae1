// SPDX-License-Identifier: Apache-2.0
// The files that the dynamic linker has loaded, and the symbols in them: dlsym(RTLD_NEXT) without its side
// effects.
//
// The allocator's initialisation may make the first lock operation, so nothing here allocates. dlsym
// allocates when it does not find a symbol, and changes the result of dlerror; before glibc 2.34 it is also
// in another library. Reads the tables of the System V ABI for x86-64 and of "GNU hash ELF sections". Files
// with only the older hash table are skipped; no supported glibc is one of them.
#pragma once

#include <link.h>

#include <cstdint>

namespace elision::runtime {

/// Addresses from `begin` to before `end`.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;

  bool contains(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - begin < end - begin;
  }
};

class LoadedFile {
 public:
  explicit LoadedFile(const dl_phdr_info& info);

  /// Its first address, different for each file.
  std::uintptr_t begin() const;
  /// The segment that contains an address; an empty range if none of this file does.
  AddressRange segment_of(const void* address) const;
  bool contains(const void* address) const { return segment_of(address).contains(address); }
  /// Whether it is the kernel's (vdso(7)), in which no names are looked up.
  bool is_the_kernels() const;
  /// The function or variable `name` with the given version or without one. With a null `version`: the
  /// version that programs are linked with today. Null: there is none.
  void* find(const char* name, const char* version) const;
  /// Whether this file is linked with the other one.
  bool needs(const LoadedFile& other) const;

 private:
  const ElfW(Sym) * find_symbol(const char* name, const char* version) const;
  bool has_version(std::size_t symbol, const char* version) const;
  const char* version_name(unsigned index) const;

  ElfW(Addr) base_;
  const ElfW(Phdr) * parts_;
  unsigned part_count_;
  const ElfW(Dyn) * dynamic_ = nullptr;
  const char* own_name_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const ElfW(Versym) * versions_ = nullptr;
  const ElfW(Verdef) * version_definitions_ = nullptr;
  std::size_t version_definition_count_ = 0;
};

enum class Files { kBehindOurs, kAllButOurs, kAll };

/// Calls `visit(file)` for files in look-up order.
template <class Visit>
void visit_files(Files which, Visit visit) {
  struct State {
    Files which;
    Visit& visit;
    bool past_ours;
  } state{which, visit, which != Files::kBehindOurs};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        static constexpr char in_our_library = 0;
        State& s = *static_cast<State*>(argument);
        const LoadedFile file(*info);
        const bool is_ours = file.contains(&in_our_library);
        s.past_ours = s.past_ours || is_ours;
        if (s.past_ours && (!is_ours || s.which == Files::kAll) && !file.is_the_kernels()) s.visit(file);
        return 0;
      },
      &state);
}

}  // namespace elision::runtime
