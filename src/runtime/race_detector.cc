// SPDX-License-Identifier: Apache-2.0
#include "runtime/race_detector.h"

#include <link.h>

#include <cstring>

namespace elision::runtime {
namespace {

struct Search {
  bool past_ours = false;
  bool found = false;
};

constinit const char in_our_library = 0;

/// Whether `address` is in the loaded file.
bool contains(const dl_phdr_info& file, const void* address) {
  const auto offset = reinterpret_cast<ElfW(Addr)>(address) - file.dlpi_addr;
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = file.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && offset - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

/// Files come in the order in which names are looked up.
int look_at(dl_phdr_info* file, std::size_t, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  if (!search.past_ours) {
    search.past_ours = contains(*file, &in_our_library);
    return 0;
  }
  search.found = std::strstr(file->dlpi_name, "/libtsan.so") != nullptr ||
                 std::strstr(file->dlpi_name, "libclang_rt.tsan") != nullptr;
  return search.found;
}

}  // namespace

bool race_detector_follows() {
  Search search;
  dl_iterate_phdr(look_at, &search);
  return search.found;
}

}  // namespace elision::runtime
