// SPDX-License-Identifier: Apache-2.0
#include "runtime/openmp_runtime.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "runtime/loaded_files.h"
#include "runtime/raw_output.h"

namespace elision::runtime {
namespace {

/// What every runtime has, and whose address stands for it.
constexpr char kInEveryRuntime[] = "omp_get_num_threads";
constinit std::atomic<void*> runtimes[kMostOpenMpRuntimes]{};

/// The runtime that a call site uses, of those asked for last: its address in the upper bits, the number
/// below.
constexpr std::size_t kRememberedSites = 256;
constexpr unsigned kNumberBits = 8;
constinit std::atomic<std::uint64_t> remembered[kRememberedSites]{};

[[noreturn]] void fail(const char* what, const char* name) {
  Line().text("elision: ").text(what).text(name).write_to(STDERR_FILENO);
  std::abort();
}

unsigned number_of(void* runtime) {
  for (unsigned i = 0; i < kMostOpenMpRuntimes; ++i) {
    void* known = nullptr;
    if (runtimes[i].compare_exchange_strong(known, runtime) || known == runtime) return i;
  }
  fail("more OpenMP runtimes than ", "8");
}

/// As the dynamic linker would have it, but that a runtime of the caller's own goes first: the one that the
/// caller is a part of, or names among those it is linked with; else the first of all.
unsigned look_for_runtime(const void* site) {
  std::optional<LoadedFile> caller;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    if (file.contains(site)) caller = file;
  });
  void *first = nullptr, *own = nullptr;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    void* const found = file.find(kInEveryRuntime, nullptr);
    if (found == nullptr) return;
    if (first == nullptr) first = found;
    if (caller && (file.contains(site) || (own == nullptr && caller->needs(file)))) own = found;
  });
  if (first == nullptr) fail("there is no OpenMP runtime with ", kInEveryRuntime);
  return number_of(own != nullptr ? own : first);
}

}  // namespace

unsigned openmp_runtime_of(const void* site) {
  const auto address = reinterpret_cast<std::uint64_t>(site);
  std::atomic<std::uint64_t>& place = remembered[address * 0x9e3779b97f4a7c15ULL >> 56];
  static_assert(kRememberedSites == 1u << (64 - 56));
  const std::uint64_t known = place.load(std::memory_order_relaxed);
  if (known >> kNumberBits == address) [[likely]]
    return known % (1u << kNumberBits);
  const unsigned number = look_for_runtime(site);
  place.store(address << kNumberBits | number, std::memory_order_relaxed);
  return number;
}

void* find_in_openmp_runtime(unsigned runtime, const char* name) {
  void* found = nullptr;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    if (file.contains(runtimes[runtime].load(std::memory_order_relaxed))) found = file.find(name, nullptr);
  });
  if (found == nullptr) fail("the OpenMP runtime has no ", name);
  return found;
}

}  // namespace elision::runtime
