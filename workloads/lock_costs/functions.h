// SPDX-License-Identifier: Apache-2.0
// The lock functions that this program's calls reach, preloaded ones first, and glibc's functions behind
// them.
//
// Both sides are called through these pointers in one process. So other work on the machine affects both
// alike, unlike processes that take turns, and both have the same memory layout. Each side has its own locks,
// initialised by its own functions.
#pragma once

#include <pthread.h>

namespace lock_costs {

struct MutexFunctions {
  decltype(&pthread_mutex_init) init;
  decltype(&pthread_mutex_lock) lock;
  decltype(&pthread_mutex_trylock) trylock;
  decltype(&pthread_mutex_timedlock) timedlock;
  decltype(&pthread_mutex_unlock) unlock;
  bool operator==(const MutexFunctions&) const = default;
};

struct SpinFunctions {
  decltype(&pthread_spin_init) init;
  decltype(&pthread_spin_lock) lock;
  decltype(&pthread_spin_unlock) unlock;
  bool operator==(const SpinFunctions&) const = default;
};

struct RwlockFunctions {
  decltype(&pthread_rwlock_init) init;
  decltype(&pthread_rwlock_rdlock) rdlock;
  decltype(&pthread_rwlock_wrlock) wrlock;
  decltype(&pthread_rwlock_unlock) unlock;
  bool operator==(const RwlockFunctions&) const = default;
};

struct ConditionFunctions {
  decltype(&pthread_cond_init) init;
  decltype(&pthread_cond_wait) wait;
  decltype(&pthread_cond_signal) signal;
  bool operator==(const ConditionFunctions&) const = default;
};

struct Functions {
  MutexFunctions mutex;
  SpinFunctions spin;
  RwlockFunctions rwlock;
  ConditionFunctions condition;
  bool operator==(const Functions&) const = default;
};

/// The two sides. `preloaded` equals `glibc` if nothing is preloaded.
struct Sides {
  Functions preloaded;
  Functions glibc;
  bool nothing_preloaded() const { return preloaded == glibc; }
};

/// Ends the program with one line if a function is missing.
Sides find_sides();

/// glibc's functions, but conditions, behind one indirect jump each: the least that a library in front of
/// glibc adds if it decides in the process whether it replaces them.
Sides find_jump_and_glibc();

/// Initialises a mutex of a type (PTHREAD_MUTEX_NORMAL, ...). glibc may elide a normal mutex by default
/// (`may_be_elided`), but not one whose type was set explicitly. glibc's plain mutex is the reference here.
void init_mutex(const Functions& side, pthread_mutex_t& mutex, int type, bool may_be_elided);

}  // namespace lock_costs
