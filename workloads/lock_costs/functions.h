// SPDX-License-Identifier: Apache-2.0
// The lock functions as this program's calls find them, preloaded ones first, and glibc's own behind those.
//
// Both sides are called through these pointers, in one process: what else the machine does then meets both
// alike, which processes that take turns would not have, and neither differs in how memory is laid out. Each
// side has locks of its own, initialised by its own functions.
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

/// What is compared. `preloaded` equals `glibc` if nothing is preloaded.
struct Sides {
  Functions preloaded;
  Functions glibc;
  bool nothing_preloaded() const { return preloaded == glibc; }
};

/// Ends the program with one line if a function is missing.
Sides find_sides();

/// A mutex of a type (PTHREAD_MUTEX_NORMAL, ...). `may_be_elided` tells a normal one that was asked for by
/// name, which glibc never elides, from one by default: a process can have all of glibc's elided, and here
/// glibc's plain mutex is the measure.
void init_mutex(const Functions& side, pthread_mutex_t& mutex, int type, bool may_be_elided);

}  // namespace lock_costs
