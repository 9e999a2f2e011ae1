// SPDX-License-Identifier: Apache-2.0
#include "runtime/glibc.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <cerrno>
#include <cstdlib>

#include "runtime/deadline.h"
#include "runtime/old_versions.h"
#include "runtime/raw_output.h"

namespace elision::runtime {

constinit Glibc glibc{};

namespace {

// The condition variables of today; the older version of the same names has another layout.
constexpr char kCondVersion[] = "GLIBC_2.3.2";

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

bool are_in_one_file(const void* one, const void* other) {
  Dl_info of_one{}, of_other{};
  return dladdr(one, &of_one) != 0 && dladdr(other, &of_other) != 0 && of_one.dli_fbase == of_other.dli_fbase;
}

/// Before 2.34 libc has mutex functions too, for programs without libpthread. Until libpthread is initialised
/// they do nothing at all: a mutex that was to be initialised keeps what was in its memory. If such a
/// one comes first, takes libpthread's, of which only that has the second name. Another library's that comes
/// first (a race detector's) stays.
template <class Function>
void find_in_libpthread(Function*& function, const char* name, const char* second_name) {
  find(function, name);
  void* in_libpthread = dlsym(RTLD_NEXT, second_name);
  const void* in_libc = reinterpret_cast<const void*>(&gnu_get_libc_version);
  if (in_libpthread != nullptr && are_in_one_file(reinterpret_cast<const void*>(function), in_libc))
    function = reinterpret_cast<Function*>(in_libpthread);
}

/// A condition variable's function: of today's layout, but another library's if that comes first, which has
/// no version.
template <class Function>
void find_of_condition(Function*& function, const char* name) {
  find(function, name, kCondVersion);
  void* first = dlsym(RTLD_NEXT, name);
  if (!are_in_one_file(first, reinterpret_cast<const void*>(function)))
    function = reinterpret_cast<Function*>(first);
}

/// The moment `at` of `clock` on another clock, as they stand now.
timespec moved_to(clockid_t other, clockid_t clock, const timespec* at) {
  timespec here{}, there{};
  clock_gettime(clock, &here);
  clock_gettime(other, &there);
  timespec moved{at->tv_sec - here.tv_sec + there.tv_sec, at->tv_nsec - here.tv_nsec + there.tv_nsec};
  for (; moved.tv_nsec < 0; moved.tv_nsec += kNanoseconds) --moved.tv_sec;
  for (; moved.tv_nsec >= kNanoseconds; moved.tv_nsec -= kNanoseconds) ++moved.tv_sec;
  return moved;
}

/// `wait` knows deadlines of `own` alone, glibc before 2.30: lets it wait until `at` of any clock. Whoever
/// sets the realtime clock meanwhile may make it late, never early.
template <class Wait>
int wait_by_other_clock(clockid_t own, clockid_t clock, const timespec* at, Wait wait) {
  if (!is_clock_to_wait_by(clock)) return EINVAL;
  if (clock == own || !is_valid(at)) return wait(at);
  while (true) {
    const timespec moved = moved_to(own, clock, at);
    const int result = wait(&moved);
    if (result != ETIMEDOUT || Deadline{clock, at}.has_passed()) return result;
  }
}

/// `by_clock` if glibc has it.
template <class Object>
int wait_by_clock(Object* object, clockid_t clock, const timespec* at,
                  int (*by_clock)(Object*, clockid_t, const timespec*),
                  int (*timed)(Object*, const timespec*)) {
  if (by_clock != nullptr) return by_clock(object, clock, at);
  return wait_by_other_clock(CLOCK_REALTIME, clock, at,
                             [=](const timespec* until) { return timed(object, until); });
}

}  // namespace

void find_glibc() {
  find_in_libpthread(glibc.mutex_lock, "pthread_mutex_lock", "__pthread_mutex_lock");
  find(glibc.mutex_trylock, "pthread_mutex_trylock");
  find(glibc.mutex_timedlock, "pthread_mutex_timedlock");
  find_later(glibc.mutex_clocklock, "pthread_mutex_clocklock");
  find_in_libpthread(glibc.mutex_unlock, "pthread_mutex_unlock", "__pthread_mutex_unlock");
  find_in_libpthread(glibc.mutex_init, "pthread_mutex_init", "__pthread_mutex_init");
  find_in_libpthread(glibc.mutex_destroy, "pthread_mutex_destroy", "__pthread_mutex_destroy");
  find_of_condition(glibc.cond_wait, "pthread_cond_wait");
  find_of_condition(glibc.cond_timedwait, "pthread_cond_timedwait");
  find_later(glibc.cond_clockwait, "pthread_cond_clockwait");
  find_of_condition(glibc.cond_signal, "pthread_cond_signal");
  find_of_condition(glibc.cond_broadcast, "pthread_cond_broadcast");
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

int glibc_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  return wait_by_clock(mutex, clock, at, glibc.mutex_clocklock, glibc.mutex_timedlock);
}
int glibc_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return wait_by_clock(lock, clock, at, glibc.rwlock_clockrdlock, glibc.rwlock_timedrdlock);
}
int glibc_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return wait_by_clock(lock, clock, at, glibc.rwlock_clockwrlock, glibc.rwlock_timedwrlock);
}

int glibc_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  if (glibc.cond_clockwait != nullptr) return glibc.cond_clockwait(cond, mutex, clock, at);
  // glibc nptl/pthread_cond_common.c: bit 1 of __wrefs says that the condition variable's own clock is
  // monotonic.
  const clockid_t own = (cond->__data.__wrefs & 2) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  return wait_by_other_clock(own, clock, at,
                             [=](const timespec* until) { return glibc.cond_timedwait(cond, mutex, until); });
}

}  // namespace elision::runtime
