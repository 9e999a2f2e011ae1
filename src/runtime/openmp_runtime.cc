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

/// Code that has called, a segment of a loaded file each, and the runtime that it uses. Entries are added and
/// never changed; one that has no end yet is being written.
struct KnownCaller {
  std::uintptr_t begin;
  unsigned runtime;
  std::atomic<std::uintptr_t> end;
};
constexpr unsigned kMostKnownCallers = 256;
constinit KnownCaller known_callers[kMostKnownCallers]{};
constinit std::atomic<unsigned> known_caller_count{0};

/// Null: the code at `site` has not called yet.
const KnownCaller* find_known_caller(const void* site, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const KnownCaller& caller = known_callers[i];
    const std::uintptr_t end = caller.end.load(std::memory_order_acquire);
    if (end != 0 && AddressRange{caller.begin, end}.contains(site)) return &caller;
  }
  return nullptr;
}

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
/// caller is a part of, or names among those it is linked with; else the first of all. `segment`: that of the
/// caller.
unsigned look_for_runtime(const void* site, AddressRange& segment) {
  std::optional<LoadedFile> caller;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    if (file.contains(site)) caller = file;
  });
  if (caller) segment = caller->segment_of(site);
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

/// Where there is no room it is looked for each time.
void remember(AddressRange segment, unsigned runtime) {
  unsigned count = known_caller_count.load(std::memory_order_acquire);
  do {
    if (count == kMostKnownCallers || find_known_caller(reinterpret_cast<const void*>(segment.begin), count))
      return;
  } while (!known_caller_count.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel));
  known_callers[count].begin = segment.begin;
  known_callers[count].runtime = runtime;
  known_callers[count].end.store(segment.end, std::memory_order_release);
}

}  // namespace

unsigned openmp_runtime_of(const void* site) {
  const unsigned count = known_caller_count.load(std::memory_order_acquire);
  if (const KnownCaller* caller = find_known_caller(site, count)) [[likely]]
    return caller->runtime;
  AddressRange segment;
  const unsigned runtime = look_for_runtime(site, segment);
  if (segment.end != 0) remember(segment, runtime);
  return runtime;
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
