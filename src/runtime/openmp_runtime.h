// SPDX-License-Identifier: Apache-2.0
// The OpenMP runtimes of this process (GCC's libgomp, LLVM's libomp, copies of them in packages), and their
// functions that the preload library replaces.
//
// A call goes where it would go without this library. Files that were loaded at start are searched first, for
// each name separately, as the dynamic linker does. If one has the name, all callers get the same function; a
// program with both runtimes gets most names from the first one. Otherwise the name belongs to a runtime that
// was loaded by dlopen, and each caller gets its own: the runtime that the caller is a part of, or that it is
// linked with, or else the first.
//
// Nothing is looked up before the program calls such a function. May be called inside a transaction;
// allocates nothing.
#pragma once

#include <atomic>

namespace elision::runtime {

inline constexpr unsigned kMostOpenMpRuntimes = 8;

/// The number of the runtime that has `name` for all callers; kByCaller: each caller has its own.
inline constexpr unsigned kByCaller = kMostOpenMpRuntimes;
unsigned find_openmp_runtime_for_all(const char* name);

/// The number of the runtime, loaded by dlopen, for the code at `site`. Aborts the process if there is none.
unsigned openmp_runtime_of_caller(const void* site);

/// The function `name` of a runtime, or of another one if it lacks it. Aborts the process if none has it.
void* find_in_openmp_runtime(unsigned runtime, const char* name);

/// While this lives, calls from our own code count as calls of the given runtime. The body of a parallel
/// region may end by a jump to a function of its runtime, so that our code seems to be the caller.
class InRegionOf {
 public:
  explicit InRegionOf(unsigned runtime);
  ~InRegionOf();
  InRegionOf(const InRegionOf&) = delete;
  InRegionOf& operator=(const InRegionOf&) = delete;

 private:
  unsigned before_;
};

/// One function by name, in any runtime.
template <class Signature>
class OpenMpFunction {
 public:
  constexpr explicit OpenMpFunction(const char* name) : name_(name) {}

  /// The function for the code at `site`.
  Signature* at(const void* site) { return in(runtime_at(site)); }

  unsigned runtime_at(const void* site) {
    unsigned runtime = for_all_.load(std::memory_order_relaxed);
    if (runtime == kNotYetKnown) [[unlikely]] {
      runtime = find_openmp_runtime_for_all(name_);
      for_all_.store(runtime, std::memory_order_relaxed);
    }
    return runtime != kByCaller ? runtime : openmp_runtime_of_caller(site);
  }

  Signature* in(unsigned runtime) {
    Signature* found = found_[runtime].load(std::memory_order_relaxed);
    if (found == nullptr) [[unlikely]] {
      found = reinterpret_cast<Signature*>(find_in_openmp_runtime(runtime, name_));
      found_[runtime].store(found, std::memory_order_relaxed);
    }
    return found;
  }

 private:
  static constexpr unsigned kNotYetKnown = kByCaller + 1;

  const char* name_;
  std::atomic<unsigned> for_all_{kNotYetKnown};
  std::atomic<Signature*> found_[kMostOpenMpRuntimes]{};
};

}  // namespace elision::runtime
