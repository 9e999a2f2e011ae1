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

struct EntryPoints {
  EntryPoint<int(pthread_mutex_t*, const void* site)> lock;
  EntryPoint<int(pthread_mutex_t*, const void* site)> trylock;
  EntryPoint<int(pthread_mutex_t*, clockid_t, const timespec*, const void* site)> clocklock;
  EntryPoint<int(pthread_mutex_t*, const void* site)> unlock;
  EntryPoint<int(pthread_mutex_t*)> destroy;
  EntryPoint<int(pthread_cond_t*, pthread_mutex_t*, CondTimeout, const void* site)> cond_wait;
  EntryPoint<int(pthread_cond_t*)> cond_signal;
  EntryPoint<int(pthread_cond_t*)> cond_broadcast;
  EntryPoint<int()> speculating;
};

extern constinit EntryPoints entry_points;

}  // namespace elision::runtime
