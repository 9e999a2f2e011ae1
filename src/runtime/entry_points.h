// SPDX-License-Identifier: Apache-2.0
// The table through which src/preload reaches the design in force.
//
// Before the library is set up it holds functions that set it up first; under `pthread` it ends up
// holding glibc's own functions, which ignore the trailing call site (a register they do not read).
// A pointer may be replaced while other threads call: hence relaxed atomics, plain loads on x86.
#pragma once

#include <pthread.h>

#include <atomic>
#include <ctime>

#include "locks/barrier.h"

namespace elision::runtime {

template <class Signature>
class EntryPoint;

template <class... Arguments>
class EntryPoint<int(Arguments...)> {
 public:
  using Function = int (*)(Arguments...);
  constexpr explicit EntryPoint(Function function) : function_(function) {}
  void set(Function function) { function_.store(function, std::memory_order_relaxed); }
  [[gnu::always_inline]] int operator()(Arguments... arguments) const {
    return function_.load(std::memory_order_relaxed)(arguments...);
  }

 private:
  std::atomic<Function> function_;
};

/// How long to wait on a condition variable.
struct CondTimeout {
  enum class Form { kNone, kOwnClock, kClock } form;
  clockid_t clock;
  const timespec* at;
};

using MutexFunction = int(pthread_mutex_t*, const void* site);
using RwlockFunction = int(pthread_rwlock_t*, const void* site);
using TimedRwlockFunction = int(pthread_rwlock_t*, clockid_t, const timespec*, const void* site);
using SpinFunction = int(pthread_spinlock_t*, const void* site);
using BarrierFunction = int(pthread_barrier_t*, const void* site);

struct EntryPoints {
  EntryPoint<MutexFunction> lock;
  EntryPoint<MutexFunction> trylock;
  EntryPoint<int(pthread_mutex_t*, clockid_t, const timespec*, const void* site)> clocklock;
  EntryPoint<MutexFunction> unlock;
  EntryPoint<MutexFunction> destroy;

  EntryPoint<RwlockFunction> rdlock;
  EntryPoint<RwlockFunction> tryrdlock;
  EntryPoint<TimedRwlockFunction> clockrdlock;
  EntryPoint<RwlockFunction> wrlock;
  EntryPoint<RwlockFunction> trywrlock;
  EntryPoint<TimedRwlockFunction> clockwrlock;
  EntryPoint<RwlockFunction> rwlock_unlock;
  EntryPoint<RwlockFunction> rwlock_destroy;

  EntryPoint<SpinFunction> spin_lock;
  EntryPoint<SpinFunction> spin_trylock;
  EntryPoint<SpinFunction> spin_unlock;
  EntryPoint<SpinFunction> spin_destroy;

  EntryPoint<int(pthread_cond_t*, pthread_mutex_t*, CondTimeout, const void* site)> cond_wait;
  EntryPoint<int(pthread_cond_t*)> cond_signal;
  EntryPoint<int(pthread_cond_t*)> cond_broadcast;
  EntryPoint<int(pthread_cond_t*)> cond_destroy;
  EntryPoint<BarrierFunction> barrier_wait;
  EntryPoint<BarrierFunction> barrier_destroy;

  // The barrier of an OpenMP team (runtime/openmp_team.h).
  EntryPoint<int(locks::BarrierState*, unsigned total, const void* site)> team_wait;
  EntryPoint<int(locks::BarrierState*)> team_moves;

  /// Before what waits for other threads or wakes them: the caller is outside of transactions from here on.
  EntryPoint<int()> end_transactions;
  EntryPoint<int()> speculating;
};

extern constinit EntryPoints entry_points;

}  // namespace elision::runtime
