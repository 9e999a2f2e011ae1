// SPDX-License-Identifier: Apache-2.0
// The OpenMP runtimes of this process (GCC's libgomp, LLVM's libomp, copies of them that packages bring
// along), and their functions behind those that the preload library replaces.
//
// A call goes where it would go without this library. What the program was started with is searched first,
// each name by itself, as the dynamic linker does: then all callers mean the same function, and a program
// with both runtimes has most names from the one that comes first. A name that is nowhere there is that of a
// runtime which came by dlopen, and each caller means its own: the one that it is a part of, or names among
// those it is linked with, or else the first.
//
// Nothing is looked for before a program calls a function of theirs. May be called inside a transaction;
// allocates nothing.
#pragma once

#include <atomic>

namespace elision::runtime {

inline constexpr unsigned kMostOpenMpRuntimes = 8;

/// What number a function's runtime has for all callers; kByCaller: each has its own.
inline constexpr unsigned kByCaller = kMostOpenMpRuntimes;
unsigned find_openmp_runtime_for_all(const char* name);

/// The number of the runtime that came by dlopen and that the code at `site` means; aborts the process if
/// there is none.
unsigned openmp_runtime_of_caller(const void* site);

/// The function `name` of a runtime, or of another if it has none; aborts the process if there is none.
void* find_in_openmp_runtime(unsigned runtime, const char* name);

/// While it lives, calls out of our own code are the given runtime's: a parallel region's body may end in a
/// jump to a function of its runtime, which then returns into ours.
class InRegionOf {
 public:
  explicit InRegionOf(unsigned runtime);
  ~InRegionOf();
  InRegionOf(const InRegionOf&) = delete;
  InRegionOf& operator=(const InRegionOf&) = delete;

 private:
  unsigned before_;
};

/// One function, in whichever runtime.
template <class Signature>
class OpenMpFunction {
 public:
  constexpr explicit OpenMpFunction(const char* name) : name_(name) {}

  /// The one that the code at `site` means.
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
