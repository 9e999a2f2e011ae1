// SPDX-License-Identifier: Apache-2.0
#include "runtime/openmp_runtime.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "runtime/loaded_files.h"
#include "runtime/process.h"
#include "runtime/raw_output.h"

namespace elision::runtime {
namespace {

/// A function that every runtime has.
constexpr char kInEveryRuntime[] = "omp_get_num_threads";

/// By number: the first address of the file.
constinit std::atomic<std::uintptr_t> runtimes[kMostOpenMpRuntimes]{};

/// A segment of a loaded file whose code has called, and its runtime. Entries are added and never changed; an
/// entry without an end is still being written.
struct KnownCaller {
  std::uintptr_t begin;
  unsigned runtime;
  std::atomic<std::uintptr_t> end;
};
constexpr unsigned kMostKnownCallers = 256;
constinit KnownCaller known_callers[kMostKnownCallers]{};
constinit std::atomic<unsigned> known_caller_count{0};

/// Instead of a runtime's number: the runtime of the thread's current region.
constexpr unsigned kOfRegion = kByCaller;
constinit thread_local unsigned region_runtime = kOfRegion;  // kOfRegion: the thread is in no region

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

unsigned number_of(const LoadedFile& runtime) {
  const std::uintptr_t begin = runtime.begin();
  for (unsigned i = 0; i < kMostOpenMpRuntimes; ++i) {
    std::uintptr_t known = 0;
    if (runtimes[i].compare_exchange_strong(known, begin) || known == begin) return i;
  }
  fail("more OpenMP runtimes than ", "8");
}

/// `caller`: the file that contains `site`, if known.
unsigned look_for_runtime(const std::optional<LoadedFile>& caller, const void* site) {
  std::optional<LoadedFile> first, own;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    if (file.find(kInEveryRuntime, nullptr) == nullptr) return;
    if (!first) first = file;
    if (caller && (file.contains(site) || (!own && caller->needs(file)))) own = file;
  });
  if (!first) fail("there is no OpenMP runtime with ", kInEveryRuntime);
  return number_of(own ? *own : *first);
}

/// Without room for it, it will be looked for each time.
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

unsigned look_for_caller(const void* site) {
  std::optional<LoadedFile> caller;
  bool is_ours = false;
  visit_files(Files::kAll, [&](const LoadedFile& file) {
    if (!file.contains(site)) return;
    caller = file;
    is_ours = file.contains(&known_callers);
  });
  const unsigned runtime = is_ours ? kOfRegion : look_for_runtime(caller, site);
  if (caller) remember(caller->segment_of(site), runtime);
  return runtime;
}

}  // namespace

InRegionOf::InRegionOf(unsigned runtime) : before_(region_runtime) { region_runtime = runtime; }
InRegionOf::~InRegionOf() { region_runtime = before_; }

unsigned find_openmp_runtime_for_all(const char* name) {
  ensure_set_up();
  unsigned position = 0, runtime = kByCaller;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    if (position++ < process.files_at_start && runtime == kByCaller && file.find(name, nullptr) != nullptr)
      runtime = number_of(file);
  });
  return runtime;
}

unsigned openmp_runtime_of_caller(const void* site) {
  const KnownCaller* caller = find_known_caller(site, known_caller_count.load(std::memory_order_acquire));
  const unsigned runtime = caller != nullptr ? caller->runtime : look_for_caller(site);
  if (runtime != kOfRegion) [[likely]]
    return runtime;
  return region_runtime != kOfRegion ? region_runtime : look_for_runtime(std::nullopt, site);
}

void* find_in_openmp_runtime(unsigned runtime, const char* name) {
  const std::uintptr_t begin = runtimes[runtime].load(std::memory_order_relaxed);
  void *found = nullptr, *first = nullptr;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    void* const here = file.find(name, nullptr);
    if (first == nullptr) first = here;
    if (file.begin() == begin) found = here;
  });
  if (found == nullptr) found = first;
  if (found == nullptr) fail("no OpenMP runtime has ", name);
  return found;
}

}  // namespace elision::runtime
