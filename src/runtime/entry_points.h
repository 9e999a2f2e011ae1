// SPDX-License-Identifier: Apache-2.0
// The table of functions of the current design; src/preload calls through it.
//
// Before the library is set up, it has functions that set it up first. Under `pthread` it ends up with
// glibc's functions, which ignore the call site at the end (a register that they do not read).
//
// A new entry point is a row here, and a function that src/preload exports.
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
using TimedMutexFunction = int(pthread_mutex_t*, clockid_t, const timespec*, const void* site);
using RwlockFunction = int(pthread_rwlock_t*, const void* site);
using TimedRwlockFunction = int(pthread_rwlock_t*, clockid_t, const timespec*, const void* site);
using SpinFunction = int(pthread_spinlock_t*, const void* site);
using CondWaitFunction = int(pthread_cond_t*, pthread_mutex_t*, CondTimeout, const void* site);
using CondFunction = int(pthread_cond_t*);
using BarrierFunction = int(pthread_barrier_t*, const void* site);
using TeamWaitFunction = int(locks::BarrierState*, unsigned total, const void* site);

/// The one list of entry points: name, function of the design (by the template parameters of install() in
/// designs.cc), signature. If glibc has a function of the same name with `pthread_` in front, the two do the
/// same.
///
/// team_wait and team_moves are the barrier of an OpenMP team (runtime/openmp_team.h). end_transactions is
/// called before operations that wait for other threads or wake them. It returns outside of transactions.
#define ELISION_ENTRY_POINTS(ROW)                                       \
  ROW(mutex_lock, OnMutex::lock, MutexFunction)                         \
  ROW(mutex_trylock, OnMutex::trylock, MutexFunction)                   \
  ROW(mutex_clocklock, OnMutex::clocklock, TimedMutexFunction)          \
  ROW(mutex_unlock, OnMutex::unlock, MutexFunction)                     \
  ROW(mutex_destroy, OnMutex::destroy, MutexFunction)                   \
  ROW(rwlock_rdlock, OnRwlock::rdlock, RwlockFunction)                  \
  ROW(rwlock_tryrdlock, OnRwlock::tryrdlock, RwlockFunction)            \
  ROW(rwlock_clockrdlock, OnRwlock::clockrdlock, TimedRwlockFunction)   \
  ROW(rwlock_wrlock, OnRwlock::wrlock, RwlockFunction)                  \
  ROW(rwlock_trywrlock, OnRwlock::trywrlock, RwlockFunction)            \
  ROW(rwlock_clockwrlock, OnRwlock::clockwrlock, TimedRwlockFunction)   \
  ROW(rwlock_unlock, OnRwlock::unlock, RwlockFunction)                  \
  ROW(rwlock_destroy, OnRwlock::destroy, RwlockFunction)                \
  ROW(spin_lock, OnSpin::lock, SpinFunction)                            \
  ROW(spin_trylock, OnSpin::trylock, SpinFunction)                      \
  ROW(spin_unlock, OnSpin::unlock, SpinFunction)                        \
  ROW(spin_destroy, OnSpin::destroy, SpinFunction)                      \
  ROW(cond_wait, OnCondition::functions().wait, CondWaitFunction)       \
  ROW(cond_signal, OnCondition::functions().signal, CondFunction)       \
  ROW(cond_broadcast, OnCondition::functions().broadcast, CondFunction) \
  ROW(cond_destroy, OnCondition::functions().destroy, CondFunction)     \
  ROW(barrier_wait, OnBarrier::wait, BarrierFunction)                   \
  ROW(barrier_destroy, OnBarrier::destroy, BarrierFunction)             \
  ROW(team_wait, OnBarrier::team_wait, TeamWaitFunction)                \
  ROW(team_moves, OnBarrier::team_moves, int(locks::BarrierState*))     \
  ROW(end_transactions, OnThread::end_transactions, int())              \
  ROW(speculating, OnThread::speculating, int())

struct EntryPoints {
#define ELISION_MEMBER(name, served_by, Signature) EntryPoint<Signature> name;
  ELISION_ENTRY_POINTS(ELISION_MEMBER)
#undef ELISION_MEMBER
};

[[gnu::visibility("hidden")]] extern constinit EntryPoints entry_points;

}  // namespace elision::runtime
