// SPDX-License-Identifier: Apache-2.0
// OpenMP's critical sections, atomic regions and locks, as libgomp and libomp have them: through the design
// in force as a pthread mutex goes, or the runtime's own under `pthread`. Programs link neither runtime to
// us.
//
// Lock functions carry the versions that programs ask for today (versions.map). Those of OpenMP 2.5 (OMP_1.0)
// have other objects, and stay libgomp's; so do nestable locks of Fortran, which are pointers to what libgomp
// allocates.
#include "runtime/openmp_locks.h"

#include <cstdint>

#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/openmp_runtime.h"
#include "runtime/process.h"

namespace {

using elision::runtime::entry_points;
using elision::runtime::mutex_of_openmp_lock;
using elision::runtime::openmp_nesting;
using elision::runtime::OpenMpFunction;
using elision::runtime::OpenMpLock;
using elision::runtime::process;
using elision::runtime::Process;

constexpr auto kSimple = OpenMpLock::kSimple;
constexpr auto kNestable = OpenMpLock::kNestable;

/// What all unnamed critical sections of libgomp share, and all its atomic regions without an instruction.
pthread_mutex_t unnamed_critical = PTHREAD_MUTEX_INITIALIZER, atomic_region = PTHREAD_MUTEX_INITIALIZER;

bool ours() {
  if (elision::runtime::owns(&Process::locks)) [[likely]]
    return true;
  if (process.region.header().locks_seen == 0)
    __atomic_store_n(&process.region.header().locks_seen, 1, __ATOMIC_RELAXED);
  return false;
}

void set(void* lock, OpenMpLock kind, const void* site) {
  entry_points.lock(mutex_of_openmp_lock(lock, kind), site);
}
void unset(void* lock, OpenMpLock kind, const void* site) {
  entry_points.unlock(mutex_of_openmp_lock(lock, kind), site);
}
int test(void* lock, const void* site) {
  return entry_points.trylock(mutex_of_openmp_lock(lock, kSimple), site) == 0;
}
/// How often the thread has the lock now; 0: another has it.
int test_nestable(void* lock, const void* site) {
  pthread_mutex_t* mutex = mutex_of_openmp_lock(lock, kNestable);
  return entry_points.trylock(mutex, site) == 0 ? openmp_nesting(mutex) : 0;
}

/// A function of the runtime that the code at `site` uses.
template <class Signature>
using Original = OpenMpFunction<Signature>;
using OnNothing = Original<void()>;
using OnLock = Original<void(void*)>;
using TestLock = Original<int(void*)>;
using KmpcOnLock = Original<void(void*, std::int32_t, void*)>;
using KmpcTestLock = Original<int(void*, std::int32_t, void*)>;
using KmpcWithHint = Original<void(void*, std::int32_t, void*, std::uintptr_t)>;
using KmpcAtomic = Original<void()>;

}  // namespace

// ---- libgomp: critical sections and atomic regions.

ELISION_EXPORT void GOMP_critical_start() {
  static constinit OnNothing original{"GOMP_critical_start"};
  if (!ours()) return original.at(ELISION_CALL_SITE)();
  entry_points.lock(&unnamed_critical, ELISION_CALL_SITE);
}

ELISION_EXPORT void GOMP_critical_end() {
  static constinit OnNothing original{"GOMP_critical_end"};
  if (!ours()) return original.at(ELISION_CALL_SITE)();
  entry_points.unlock(&unnamed_critical, ELISION_CALL_SITE);
}

ELISION_EXPORT void GOMP_critical_name_start(void** name) {
  static constinit OnLock original{"GOMP_critical_name_start"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(name);
  set(name, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT void GOMP_critical_name_end(void** name) {
  static constinit OnLock original{"GOMP_critical_name_end"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(name);
  unset(name, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT void GOMP_atomic_start() {
  static constinit OnNothing original{"GOMP_atomic_start"};
  if (!ours()) return original.at(ELISION_CALL_SITE)();
  entry_points.lock(&atomic_region, ELISION_CALL_SITE);
}

ELISION_EXPORT void GOMP_atomic_end() {
  static constinit OnNothing original{"GOMP_atomic_end"};
  if (!ours()) return original.at(ELISION_CALL_SITE)();
  entry_points.unlock(&atomic_region, ELISION_CALL_SITE);
}

// ---- libomp: the same.

ELISION_EXPORT void __kmpc_critical(void* place, std::int32_t thread, void* name) {
  static constinit KmpcOnLock original{"__kmpc_critical"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, name);
  set(name, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_critical_with_hint(void* place, std::int32_t thread, void* name,
                                              std::uint32_t hint) {
  static constinit KmpcWithHint original{"__kmpc_critical_with_hint"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, name, hint);
  set(name, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_end_critical(void* place, std::int32_t thread, void* name) {
  static constinit KmpcOnLock original{"__kmpc_end_critical"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, name);
  unset(name, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_atomic_start() {
  static constinit KmpcAtomic original{"__kmpc_atomic_start"};
  if (!ours()) return original.at(ELISION_CALL_SITE)();
  entry_points.lock(&atomic_region, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_atomic_end() {
  static constinit KmpcAtomic original{"__kmpc_atomic_end"};
  if (!ours()) return original.at(ELISION_CALL_SITE)();
  entry_points.unlock(&atomic_region, ELISION_CALL_SITE);
}

// ---- Locks, by the functions of OpenMP.

/// openmp_OF as omp_OF of libgomp and of libomp, with a suffix for Fortran. Under its own name it is not
/// exported: that is what the last `remove` says.
#define ELISION_AS_OPENMP(of, suffix, also)     \
  asm(".symver openmp_" #of ", omp_" #of suffix \
      "@@OMP_3.0\n"                             \
      ".symver openmp_" #of ", omp_" #of suffix "@VERSION" also)
#define ELISION_AS_OPENMP_OF_C(of) ELISION_AS_OPENMP(of, "", ", remove")
#define ELISION_AS_OPENMP_OF_C_AND_FORTRAN(of) \
  ELISION_AS_OPENMP(of, "_", "");              \
  ELISION_AS_OPENMP_OF_C(of)

ELISION_EXPORT void openmp_init_lock(void* lock) {
  static constinit OnLock original{"omp_init_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  elision::runtime::init_openmp_lock(lock, kSimple);
}

ELISION_EXPORT void openmp_destroy_lock(void* lock) {
  static constinit OnLock original{"omp_destroy_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  elision::runtime::destroy_openmp_lock(lock, ELISION_CALL_SITE);
}

ELISION_EXPORT void openmp_set_lock(void* lock) {
  static constinit OnLock original{"omp_set_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  set(lock, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT void openmp_unset_lock(void* lock) {
  static constinit OnLock original{"omp_unset_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  unset(lock, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT int openmp_test_lock(void* lock) {
  static constinit TestLock original{"omp_test_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  return test(lock, ELISION_CALL_SITE);
}

ELISION_EXPORT void openmp_init_nest_lock(void* lock) {
  static constinit OnLock original{"omp_init_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  elision::runtime::init_openmp_lock(lock, kNestable);
}

ELISION_EXPORT void openmp_destroy_nest_lock(void* lock) {
  static constinit OnLock original{"omp_destroy_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  elision::runtime::destroy_openmp_lock(lock, ELISION_CALL_SITE);
}

ELISION_EXPORT void openmp_set_nest_lock(void* lock) {
  static constinit OnLock original{"omp_set_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  set(lock, kNestable, ELISION_CALL_SITE);
}

ELISION_EXPORT void openmp_unset_nest_lock(void* lock) {
  static constinit OnLock original{"omp_unset_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  unset(lock, kNestable, ELISION_CALL_SITE);
}

ELISION_EXPORT int openmp_test_nest_lock(void* lock) {
  static constinit TestLock original{"omp_test_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock);
  return test_nestable(lock, ELISION_CALL_SITE);
}

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

// ---- Locks, by the functions that only libomp has: with a hint, which says nothing to us, and by its own
// names, which its omp_ functions call.

ELISION_EXPORT void omp_init_lock_with_hint(void* lock, std::uintptr_t hint) {
  static constinit Original<void(void*, std::uintptr_t)> original{"omp_init_lock_with_hint"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock, hint);
  elision::runtime::init_openmp_lock(lock, kSimple);
}

ELISION_EXPORT void omp_init_nest_lock_with_hint(void* lock, std::uintptr_t hint) {
  static constinit Original<void(void*, std::uintptr_t)> original{"omp_init_nest_lock_with_hint"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(lock, hint);
  elision::runtime::init_openmp_lock(lock, kNestable);
}

ELISION_EXPORT void __kmpc_init_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcOnLock original{"__kmpc_init_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  elision::runtime::init_openmp_lock(lock, kSimple);
}

ELISION_EXPORT void __kmpc_init_lock_with_hint(void* place, std::int32_t thread, void* lock,
                                               std::uintptr_t hint) {
  static constinit KmpcWithHint original{"__kmpc_init_lock_with_hint"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock, hint);
  elision::runtime::init_openmp_lock(lock, kSimple);
}

ELISION_EXPORT void __kmpc_destroy_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcOnLock original{"__kmpc_destroy_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  elision::runtime::destroy_openmp_lock(lock, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_set_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcOnLock original{"__kmpc_set_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  set(lock, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_unset_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcOnLock original{"__kmpc_unset_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  unset(lock, kSimple, ELISION_CALL_SITE);
}

ELISION_EXPORT int __kmpc_test_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcTestLock original{"__kmpc_test_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  return test(lock, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_init_nest_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcOnLock original{"__kmpc_init_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  elision::runtime::init_openmp_lock(lock, kNestable);
}

ELISION_EXPORT void __kmpc_init_nest_lock_with_hint(void* place, std::int32_t thread, void* lock,
                                                    std::uintptr_t hint) {
  static constinit KmpcWithHint original{"__kmpc_init_nest_lock_with_hint"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock, hint);
  elision::runtime::init_openmp_lock(lock, kNestable);
}

ELISION_EXPORT void __kmpc_destroy_nest_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcOnLock original{"__kmpc_destroy_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  elision::runtime::destroy_openmp_lock(lock, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_set_nest_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcOnLock original{"__kmpc_set_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  set(lock, kNestable, ELISION_CALL_SITE);
}

ELISION_EXPORT void __kmpc_unset_nest_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcOnLock original{"__kmpc_unset_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  unset(lock, kNestable, ELISION_CALL_SITE);
}

ELISION_EXPORT int __kmpc_test_nest_lock(void* place, std::int32_t thread, void* lock) {
  static constinit KmpcTestLock original{"__kmpc_test_nest_lock"};
  if (!ours()) return original.at(ELISION_CALL_SITE)(place, thread, lock);
  return test_nestable(lock, ELISION_CALL_SITE);
}
