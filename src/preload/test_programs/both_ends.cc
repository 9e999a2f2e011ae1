// SPDX-License-Identifier: Apache-2.0
// Locks at both ends of a program's life: while it is being linked, before and in constructors of all kinds,
// in handlers and destructors of all kinds, and in a thread that runs while the program ends. One mutex is
// held from the first stage to the last. Exit code 0, or the number of the stage that failed (from
// kFirstStage on).
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kFirstStage = 10;
int stage = kFirstStage;
pthread_mutex_t held_across = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

void require(bool good) {
  if (!good) _exit(stage);
}

/// Every kind of lock, and the mutex that is held.
void use_locks() {
  ++stage;
  require(pthread_mutex_trylock(&held_across) == EBUSY);
  require(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_trylock(&recursive) == 0);
  require(pthread_cond_signal(&cond) == 0 && pthread_cond_broadcast(&cond) == 0);
  require(pthread_mutex_unlock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0);
  require(pthread_mutex_unlock(&recursive) == EPERM);
  require(pthread_mutex_lock(&plain) == 0);
  constexpr timespec kLongAgo{1, 0};
  require(pthread_cond_timedwait(&cond, &plain, &kLongAgo) == ETIMEDOUT);
  require(pthread_mutex_unlock(&plain) == 0);
  require(pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  require(pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  pthread_mutex_t own;
  std::memset(&own, 0xff, sizeof own);
  require(pthread_mutex_init(&own, nullptr) == 0 && pthread_mutex_lock(&own) == 0);
  require(pthread_mutex_unlock(&own) == 0 && pthread_mutex_destroy(&own) == 0);
}

int nothing() { return 0; }

// While the program is being linked: no constructor has run, not even the C library's.
extern "C" int (*resolve_nothing())() {
  if (pthread_mutex_lock(&held_across) != 0) _exit(kFirstStage);
  return nothing;
}
__attribute__((ifunc("resolve_nothing"))) int resolved_nothing();

__attribute__((section(".preinit_array"), used)) void (*const before_constructors)() = use_locks;
__attribute__((constructor(101))) void first_constructor() { use_locks(); }
__attribute__((constructor)) void constructor() { use_locks(); }
__attribute__((destructor)) void destructor() { use_locks(); }
__attribute__((destructor(101))) void last_destructor() {
  use_locks();
  require(pthread_mutex_unlock(&held_across) == 0 && pthread_mutex_destroy(&held_across) == 0);
}

struct Object {
  Object() { use_locks(); }
  ~Object() { use_locks(); }
};
Object object;
thread_local Object of_thread;

pthread_mutex_t of_detached = PTHREAD_MUTEX_INITIALIZER;
volatile bool detached_runs = false;

void* lock_for_ever(void*) {
  while (true) {
    pthread_mutex_lock(&of_detached);
    detached_runs = true;
    pthread_mutex_unlock(&of_detached);
  }
}

void* live_and_die(void* key) {
  pthread_setspecific(*static_cast<pthread_key_t*>(key), key);
  asm volatile("" : : "r"(&of_thread) : "memory");
  return nullptr;
}

}  // namespace

int main() {
  const int before = stage;
  require(before == kFirstStage + 4 && resolved_nothing() == 0);
  use_locks();
  pthread_key_t key;
  pthread_t thread;
  require(pthread_key_create(&key, [](void*) { use_locks(); }) == 0);
  require(pthread_create(&thread, nullptr, live_and_die, &key) == 0 && pthread_join(thread, nullptr) == 0);
  require(stage > before + 2);
  require(pthread_create(&thread, nullptr, lock_for_ever, nullptr) == 0 && pthread_detach(thread) == 0);
  while (!detached_runs) {
  }
  require(std::atexit(use_locks) == 0);
  return 0;
}
