// SPDX-License-Identifier: Apache-2.0
#include "runtime/glibc.h"

#include <dlfcn.h>

#include <cstdlib>

#include "runtime/raw_output.h"

namespace elision::runtime {

constinit Glibc glibc{};

namespace {

template <class Function>
void find(Function*& function, const char* name, const char* version = nullptr) {
  void* found = version == nullptr ? dlsym(RTLD_NEXT, name) : dlvsym(RTLD_NEXT, name, version);
  if (found == nullptr) {
    Line().text("elision: the C library has no ").text(name).write_to(STDERR_FILENO);
    std::abort();
  }
  function = reinterpret_cast<Function*>(found);
}

// The condition variables of today; the older version of the same names has another layout.
constexpr char kCondVersion[] = "GLIBC_2.3.2";

}  // namespace

void find_glibc() {
  find(glibc.mutex_lock, "pthread_mutex_lock");
  find(glibc.mutex_trylock, "pthread_mutex_trylock");
  find(glibc.mutex_clocklock, "pthread_mutex_clocklock");
  find(glibc.mutex_unlock, "pthread_mutex_unlock");
  find(glibc.mutex_init, "pthread_mutex_init");
  find(glibc.mutex_destroy, "pthread_mutex_destroy");
  find(glibc.cond_wait, "pthread_cond_wait", kCondVersion);
  find(glibc.cond_timedwait, "pthread_cond_timedwait", kCondVersion);
  find(glibc.cond_clockwait, "pthread_cond_clockwait");
  find(glibc.cond_signal, "pthread_cond_signal", kCondVersion);
  find(glibc.cond_broadcast, "pthread_cond_broadcast", kCondVersion);
}

}  // namespace elision::runtime
