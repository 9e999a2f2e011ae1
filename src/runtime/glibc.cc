// SPDX-License-Identifier: Apache-2.0
#include "runtime/glibc.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>

#include "runtime/raw_output.h"

namespace elision::runtime {

constinit Glibc glibc{};

namespace {

enum class Presence { kAlways, kSinceLater };

template <class Function>
void find(Function*& function, const char* name, const char* version = nullptr,
          Presence presence = Presence::kAlways) {
  void* found = version == nullptr ? dlsym(RTLD_NEXT, name) : dlvsym(RTLD_NEXT, name, version);
  if (found == nullptr && presence == Presence::kAlways) {
    Line().text("elision: the C library has no ").text(name).write_to(STDERR_FILENO);
    std::abort();
  }
  function = reinterpret_cast<Function*>(found);
}

template <class Function>
void find_later(Function*& function, const char* name) {
  find(function, name, nullptr, Presence::kSinceLater);
}

/// `by_clock` if glibc has it.
template <class Object>
int wait_by_clock(Object* object, clockid_t clock, const timespec* at,
                  int (*by_clock)(Object*, clockid_t, const timespec*),
                  int (*timed)(Object*, const timespec*)) {
  if (by_clock != nullptr) return by_clock(object, clock, at);
  return clock == CLOCK_REALTIME ? timed(object, at) : EINVAL;
}

// The condition variables of today; the older version of the same names has another layout.
constexpr char kCondVersion[] = "GLIBC_2.3.2";

}  // namespace

void find_glibc() {
  find(glibc.mutex_lock, "pthread_mutex_lock");
  find(glibc.mutex_trylock, "pthread_mutex_trylock");
  find(glibc.mutex_timedlock, "pthread_mutex_timedlock");
  find_later(glibc.mutex_clocklock, "pthread_mutex_clocklock");
  find(glibc.mutex_unlock, "pthread_mutex_unlock");
  find(glibc.mutex_init, "pthread_mutex_init");
  find(glibc.mutex_destroy, "pthread_mutex_destroy");
  find(glibc.cond_wait, "pthread_cond_wait", kCondVersion);
  find(glibc.cond_timedwait, "pthread_cond_timedwait", kCondVersion);
  find_later(glibc.cond_clockwait, "pthread_cond_clockwait");
  find(glibc.cond_signal, "pthread_cond_signal", kCondVersion);
  find(glibc.cond_broadcast, "pthread_cond_broadcast", kCondVersion);
  find(glibc.cond_destroy, "pthread_cond_destroy", kCondVersion);
  find(glibc.rwlock_rdlock, "pthread_rwlock_rdlock");
  find(glibc.rwlock_tryrdlock, "pthread_rwlock_tryrdlock");
  find(glibc.rwlock_timedrdlock, "pthread_rwlock_timedrdlock");
  find_later(glibc.rwlock_clockrdlock, "pthread_rwlock_clockrdlock");
  find(glibc.rwlock_wrlock, "pthread_rwlock_wrlock");
  find(glibc.rwlock_trywrlock, "pthread_rwlock_trywrlock");
  find(glibc.rwlock_timedwrlock, "pthread_rwlock_timedwrlock");
  find_later(glibc.rwlock_clockwrlock, "pthread_rwlock_clockwrlock");
  find(glibc.rwlock_unlock, "pthread_rwlock_unlock");
  find(glibc.rwlock_destroy, "pthread_rwlock_destroy");
  find(glibc.spin_lock, "pthread_spin_lock");
  find(glibc.spin_trylock, "pthread_spin_trylock");
  find(glibc.spin_unlock, "pthread_spin_unlock");
  find(glibc.spin_destroy, "pthread_spin_destroy");
  find(glibc.barrier_wait, "pthread_barrier_wait");
}

const char* find_single_threaded() {
  // Not RTLD_NEXT: a program may have its own copy of the variable, and then that is the one in use.
  return static_cast<const char*>(dlsym(RTLD_DEFAULT, "__libc_single_threaded"));
}

int glibc_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  return wait_by_clock(mutex, clock, at, glibc.mutex_clocklock, glibc.mutex_timedlock);
}
int glibc_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return wait_by_clock(lock, clock, at, glibc.rwlock_clockrdlock, glibc.rwlock_timedrdlock);
}
int glibc_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return wait_by_clock(lock, clock, at, glibc.rwlock_clockwrlock, glibc.rwlock_timedwrlock);
}

}  // namespace elision::runtime
