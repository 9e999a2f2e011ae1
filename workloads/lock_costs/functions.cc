// SPDX-License-Identifier: Apache-2.0
#include "lock_costs/functions.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace lock_costs {
namespace {

// Today's condition variables. The older version of the symbols has another layout.
constexpr char kConditionVersion[] = "GLIBC_2.3.2";

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "lockcost: %s\n", what);
  std::exit(1);
}

template <class Function>
void find(void* handle, Function& function, const char* name) {
  void* const found = dlsym(handle, name);
  if (found == nullptr) give_up(dlerror());
  function = reinterpret_cast<Function>(found);
}

/// A preloaded library's functions need no version.
template <class Function>
void find_condition(void* handle, Function& function, const char* name) {
  void* const found = dlvsym(handle, name, kConditionVersion);
  if (found == nullptr) give_up(dlerror());
  function = reinterpret_cast<Function>(found);
}

Functions behind_the_jump;

/// A jump to one of those functions.
template <auto kGroup, auto kMember, class... Arguments>
int jump(Arguments... arguments) noexcept {
  return (behind_the_jump.*kGroup.*kMember)(arguments...);
}

Functions functions_in(void* handle) {
  Functions found{};
  find(handle, found.mutex.init, "pthread_mutex_init");
  find(handle, found.mutex.lock, "pthread_mutex_lock");
  find(handle, found.mutex.trylock, "pthread_mutex_trylock");
  find(handle, found.mutex.timedlock, "pthread_mutex_timedlock");
  find(handle, found.mutex.unlock, "pthread_mutex_unlock");
  find(handle, found.spin.init, "pthread_spin_init");
  find(handle, found.spin.lock, "pthread_spin_lock");
  find(handle, found.spin.unlock, "pthread_spin_unlock");
  find(handle, found.rwlock.init, "pthread_rwlock_init");
  find(handle, found.rwlock.rdlock, "pthread_rwlock_rdlock");
  find(handle, found.rwlock.wrlock, "pthread_rwlock_wrlock");
  find(handle, found.rwlock.unlock, "pthread_rwlock_unlock");
  find_condition(handle, found.condition.init, "pthread_cond_init");
  find_condition(handle, found.condition.wait, "pthread_cond_wait");
  find_condition(handle, found.condition.signal, "pthread_cond_signal");
  return found;
}

}  // namespace

Sides find_sides() {
  void* const libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (libc == nullptr) give_up(dlerror());
  return {functions_in(RTLD_DEFAULT), functions_in(libc)};
}

Sides find_jump_and_glibc() {
  const Functions glibc = find_sides().glibc;
  behind_the_jump = glibc;
  Functions found = glibc;
  constexpr auto kMutex = &Functions::mutex;
  found.mutex.lock = jump<kMutex, &MutexFunctions::lock, pthread_mutex_t*>;
  found.mutex.trylock = jump<kMutex, &MutexFunctions::trylock, pthread_mutex_t*>;
  found.mutex.timedlock = jump<kMutex, &MutexFunctions::timedlock, pthread_mutex_t*, const timespec*>;
  found.mutex.unlock = jump<kMutex, &MutexFunctions::unlock, pthread_mutex_t*>;
  constexpr auto kSpin = &Functions::spin;
  found.spin.lock = jump<kSpin, &SpinFunctions::lock, pthread_spinlock_t*>;
  found.spin.unlock = jump<kSpin, &SpinFunctions::unlock, pthread_spinlock_t*>;
  constexpr auto kRwlock = &Functions::rwlock;
  found.rwlock.rdlock = jump<kRwlock, &RwlockFunctions::rdlock, pthread_rwlock_t*>;
  found.rwlock.wrlock = jump<kRwlock, &RwlockFunctions::wrlock, pthread_rwlock_t*>;
  found.rwlock.unlock = jump<kRwlock, &RwlockFunctions::unlock, pthread_rwlock_t*>;
  return {found, glibc};
}

void init_mutex(const Functions& side, pthread_mutex_t& mutex, int type, bool may_be_elided) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (type != PTHREAD_MUTEX_NORMAL || !may_be_elided) pthread_mutexattr_settype(&attributes, type);
  side.mutex.init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace lock_costs
