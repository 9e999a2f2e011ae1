// SPDX-License-Identifier: Apache-2.0
// A library that a test program depends on: its constructor runs before those of preloaded libraries, its
// destructor after theirs. It holds one mutex from constructor to destructor and uses others in both. Its
// fork handlers, which hold another mutex, are registered before theirs and so run before them in a child.
#include <pthread.h>
#include <unistd.h>

namespace {

pthread_mutex_t held_across = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
pthread_mutex_t around_forks = PTHREAD_MUTEX_INITIALIZER;
void (*amid_fork)() = nullptr;
int result = -1;

void before_fork() {
  pthread_mutex_lock(&around_forks);
  if (amid_fork != nullptr) amid_fork();
}
void after_fork() { pthread_mutex_unlock(&around_forks); }

int use_all() {
  return pthread_mutex_lock(&recursive) | pthread_mutex_trylock(&recursive) | pthread_cond_signal(&cond) |
         pthread_mutex_unlock(&recursive) | pthread_mutex_unlock(&recursive);
}

__attribute__((constructor)) void at_start() {
  result = pthread_mutex_lock(&held_across) | use_all() | pthread_atfork(before_fork, after_fork, after_fork);
}

__attribute__((destructor)) void at_end() {
  constexpr int kFailed = 66;
  if ((pthread_mutex_unlock(&held_across) | use_all()) != 0) _exit(kFailed);
}

}  // namespace

extern "C" int early_locker_result() { return result; }
/// The mutex that is held during a fork; `called` is called then.
extern "C" pthread_mutex_t* early_locker_mutex(void (*called)()) {
  amid_fork = called;
  return &around_forks;
}
