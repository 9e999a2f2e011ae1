// SPDX-License-Identifier: Apache-2.0
// An allocator that takes pthread mutexes, to preload beside our library. Its first call may come before any
// set-up, its last one after all destructors, and some come from our own set-up.
#include <pthread.h>

#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);
}

namespace {

pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

class Locked {
 public:
  Locked() {
    if (pthread_mutex_lock(&plain) != 0 || pthread_mutex_lock(&recursive) != 0 ||
        pthread_mutex_trylock(&recursive) != 0)
      __builtin_trap();
  }
  ~Locked() {
    if (pthread_mutex_unlock(&recursive) != 0 || pthread_mutex_unlock(&recursive) != 0 ||
        pthread_mutex_unlock(&plain) != 0)
      __builtin_trap();
  }
};

}  // namespace

extern "C" {
void* malloc(std::size_t size) {
  const Locked locked;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  const Locked locked;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  const Locked locked;
  return __libc_realloc(old, size);
}
void free(void* memory) {
  const Locked locked;
  __libc_free(memory);
}
}
