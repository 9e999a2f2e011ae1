// SPDX-License-Identifier: Apache-2.0
// The OpenMP runtimes of this process (GCC's libgomp, LLVM's libomp, copies of them that packages bring
// along), and their functions behind those that the preload library replaces.
//
// Nothing is looked for before a program calls a function of theirs; then the whole runtime that its caller
// is linked with is meant, since what it kept in one call it needs in the next. A process may hold several,
// and they may come by dlopen. May be called inside a transaction; allocates nothing.
#pragma once

#include <atomic>

namespace elision::runtime {

inline constexpr unsigned kMostOpenMpRuntimes = 8;

/// The number of the runtime that the code at `site` uses; aborts the process if there is none.
unsigned openmp_runtime_of(const void* site);

/// The function `name` of a runtime; aborts the process if it has none.
void* find_in_openmp_runtime(unsigned runtime, const char* name);

/// One function, in whichever runtime.
template <class Signature>
class OpenMpFunction {
 public:
  constexpr explicit OpenMpFunction(const char* name) : name_(name) {}

  /// The one that the code at `site` means.
  Signature* at(const void* site) { return in(openmp_runtime_of(site)); }

  Signature* in(unsigned runtime) {
    Signature* found = found_[runtime].load(std::memory_order_relaxed);
    if (found == nullptr) [[unlikely]] {
      found = reinterpret_cast<Signature*>(find_in_openmp_runtime(runtime, name_));
      found_[runtime].store(found, std::memory_order_relaxed);
    }
    return found;
  }

 private:
  const char* name_;
  std::atomic<Signature*> found_[kMostOpenMpRuntimes]{};
};

}  // namespace elision::runtime
