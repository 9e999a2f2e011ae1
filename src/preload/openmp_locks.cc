// SPDX-License-Identifier: Apache-2.0
// OpenMP's critical sections, atomic regions and locks of libgomp and libomp. The current design serves them
// like pthread mutexes; under `pthread` they stay the runtime's. The library links neither runtime.
//
// The lock functions have the versions that programs ask for today (versions.map). Those of OpenMP 2.5
// (OMP_1.0) have other objects and stay libgomp's. So do nestable locks of Fortran, which are pointers to
// memory of libgomp.
#include "runtime/openmp_locks.h"

#include <cstdint>

#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/openmp_runtime.h"
#include "runtime/process.h"

namespace {

using elision::runtime::destroy_openmp_lock;
using elision::runtime::entry_points;
using elision::runtime::init_openmp_lock;
using elision::runtime::mutex_of_openmp_lock;
using elision::runtime::openmp_nesting;
using elision::runtime::OpenMpLock;
using elision::runtime::process;
using elision::runtime::Process;

constexpr auto kSimple = OpenMpLock::kSimple;
constexpr auto kNestable = OpenMpLock::kNestable;

/// Shared by all unnamed critical sections of libgomp, and by its atomic regions without an atomic
/// instruction.
alignas(64) pthread_mutex_t unnamed_critical = PTHREAD_MUTEX_INITIALIZER;
alignas(64) pthread_mutex_t atomic_region = PTHREAD_MUTEX_INITIALIZER;

bool ours() {
  if (elision::runtime::owns(&Process::locks)) [[likely]]
    return true;
  if (process.region.header().locks_seen == 0)
    __atomic_store_n(&process.region.header().locks_seen, 1, __ATOMIC_RELAXED);
  return false;
}

void take(pthread_mutex_t* mutex, const void* site) { entry_points.mutex_lock(mutex, site); }
void give(pthread_mutex_t* mutex, const void* site) { entry_points.mutex_unlock(mutex, site); }
void set(void* lock, OpenMpLock kind, const void* site) { take(mutex_of_openmp_lock(lock, kind), site); }
void unset(void* lock, OpenMpLock kind, const void* site) { give(mutex_of_openmp_lock(lock, kind), site); }
int test(void* lock, const void* site) {
  return entry_points.mutex_trylock(mutex_of_openmp_lock(lock, kSimple), site) == 0;
}
/// Tries a nestable lock. Returns how often the thread now holds it; 0: another thread does.
int test_nestable(void* lock, const void* site) {
  pthread_mutex_t* mutex = mutex_of_openmp_lock(lock, kNestable);
  return entry_points.mutex_trylock(mutex, site) == 0 ? openmp_nesting(mutex) : 0;
}

}  // namespace

/// Defines the function `name`: it does `own` (an expression with `site`, the caller), or calls the function
/// of the caller's runtime.
#define ELISION_OPENMP(result, name, runtime_name, parameters, arguments, own)                   \
  ELISION_EXPORT result name parameters {                                                        \
    static constinit elision::runtime::OpenMpFunction<result parameters> original{runtime_name}; \
    const void* const site = ELISION_CALL_SITE;                                                  \
    if (!ours()) return original.at(site) arguments;                                             \
    return own;                                                                                  \
  }
#define ELISION_OPENMP_PLAIN(name, own) ELISION_OPENMP(void, name, #name, (), (), own)
#define ELISION_OPENMP_NAMED(name, own) ELISION_OPENMP(void, name, #name, (void** lock), (lock), own)
#define ELISION_OMP(result, of, own) \
  ELISION_OPENMP(result, openmp_##of, "omp_" #of, (void* lock), (lock), own)
#define ELISION_OMP_WITH_HINT(of, own) \
  ELISION_OPENMP(void, omp_##of, "omp_" #of, (void* lock, std::uintptr_t hint), (lock, hint), own)
#define ELISION_KMPC(result, name, own)                                                                      \
  ELISION_OPENMP(result, name, #name, (void* place, std::int32_t thread, void* lock), (place, thread, lock), \
                 own)
#define ELISION_KMPC_WITH_HINT(name, Hint, own)                                                \
  ELISION_OPENMP(void, name, #name, (void* place, std::int32_t thread, void* lock, Hint hint), \
                 (place, thread, lock, hint), own)

// ---- libgomp: critical sections and atomic regions.

ELISION_OPENMP_PLAIN(GOMP_critical_start, take(&unnamed_critical, site))
ELISION_OPENMP_PLAIN(GOMP_critical_end, give(&unnamed_critical, site))
ELISION_OPENMP_NAMED(GOMP_critical_name_start, set(lock, kSimple, site))
ELISION_OPENMP_NAMED(GOMP_critical_name_end, unset(lock, kSimple, site))
ELISION_OPENMP_PLAIN(GOMP_atomic_start, take(&atomic_region, site))
ELISION_OPENMP_PLAIN(GOMP_atomic_end, give(&atomic_region, site))

// ---- libomp: the same.

ELISION_KMPC(void, __kmpc_critical, set(lock, kSimple, site))
ELISION_KMPC_WITH_HINT(__kmpc_critical_with_hint, std::uint32_t, set(lock, kSimple, site))
ELISION_KMPC(void, __kmpc_end_critical, unset(lock, kSimple, site))
ELISION_OPENMP_PLAIN(__kmpc_atomic_start, take(&atomic_region, site))
ELISION_OPENMP_PLAIN(__kmpc_atomic_end, give(&atomic_region, site))

// ---- Locks, by the functions of OpenMP.

/// Exports openmp_OF as omp_OF of libgomp and of libomp, with a suffix for Fortran. The last `remove` keeps
/// its own name from being exported.
#define ELISION_AS_OPENMP(of, suffix, also)     \
  asm(".symver openmp_" #of ", omp_" #of suffix \
      "@@OMP_3.0\n"                             \
      ".symver openmp_" #of ", omp_" #of suffix "@VERSION" also)
#define ELISION_AS_OPENMP_OF_C(of) ELISION_AS_OPENMP(of, "", ", remove")
#define ELISION_AS_OPENMP_OF_C_AND_FORTRAN(of) \
  ELISION_AS_OPENMP(of, "_", "");              \
  ELISION_AS_OPENMP_OF_C(of)

ELISION_OMP(void, init_lock, init_openmp_lock(lock, kSimple))
ELISION_OMP(void, destroy_lock, destroy_openmp_lock(lock, site))
ELISION_OMP(void, set_lock, set(lock, kSimple, site))
ELISION_OMP(void, unset_lock, unset(lock, kSimple, site))
ELISION_OMP(int, test_lock, test(lock, site))
ELISION_OMP(void, init_nest_lock, init_openmp_lock(lock, kNestable))
ELISION_OMP(void, destroy_nest_lock, destroy_openmp_lock(lock, site))
ELISION_OMP(void, set_nest_lock, set(lock, kNestable, site))
ELISION_OMP(void, unset_nest_lock, unset(lock, kNestable, site))
ELISION_OMP(int, test_nest_lock, test_nestable(lock, site))

ELISION_AS_OPENMP_OF_C_AND_FORTRAN(init_lock);
ELISION_AS_OPENMP_OF_C_AND_FORTRAN(destroy_lock);
ELISION_AS_OPENMP_OF_C_AND_FORTRAN(set_lock);
ELISION_AS_OPENMP_OF_C_AND_FORTRAN(unset_lock);
ELISION_AS_OPENMP_OF_C_AND_FORTRAN(test_lock);
ELISION_AS_OPENMP_OF_C(init_nest_lock);
ELISION_AS_OPENMP_OF_C(destroy_nest_lock);
ELISION_AS_OPENMP_OF_C(set_nest_lock);
ELISION_AS_OPENMP_OF_C(unset_nest_lock);
ELISION_AS_OPENMP_OF_C(test_nest_lock);

// ---- Locks, by functions that only libomp has: those with a hint, which is ignored, and the internal names
// that its omp_ functions call.

ELISION_OMP_WITH_HINT(init_lock_with_hint, init_openmp_lock(lock, kSimple))
ELISION_OMP_WITH_HINT(init_nest_lock_with_hint, init_openmp_lock(lock, kNestable))
ELISION_OPENMP(void, omp_init_lock_with_hint_, "omp_init_lock_with_hint_", (void* lock, void* hint),
               (lock, hint), init_openmp_lock(lock, kSimple))
ELISION_KMPC(void, __kmpc_init_lock, init_openmp_lock(lock, kSimple))
ELISION_KMPC_WITH_HINT(__kmpc_init_lock_with_hint, std::uintptr_t, init_openmp_lock(lock, kSimple))
ELISION_KMPC(void, __kmpc_destroy_lock, destroy_openmp_lock(lock, site))
ELISION_KMPC(void, __kmpc_set_lock, set(lock, kSimple, site))
ELISION_KMPC(void, __kmpc_unset_lock, unset(lock, kSimple, site))
ELISION_KMPC(int, __kmpc_test_lock, test(lock, site))
ELISION_KMPC(void, __kmpc_init_nest_lock, init_openmp_lock(lock, kNestable))
ELISION_KMPC_WITH_HINT(__kmpc_init_nest_lock_with_hint, std::uintptr_t, init_openmp_lock(lock, kNestable))
ELISION_KMPC(void, __kmpc_destroy_nest_lock, destroy_openmp_lock(lock, site))
ELISION_KMPC(void, __kmpc_set_nest_lock, set(lock, kNestable, site))
ELISION_KMPC(void, __kmpc_unset_nest_lock, unset(lock, kNestable, site))
ELISION_KMPC(int, __kmpc_test_nest_lock, test_nestable(lock, site))
