// SPDX-License-Identifier: Apache-2.0
// A library that a test program depends on: its constructor runs before those of preloaded libraries, its
// destructor after theirs. It holds one mutex from before to after and uses others at both ends.
#include <pthread.h>
#include <unistd.h>

namespace {

pthread_mutex_t held_across = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int result = -1;

int use_all() {
  return pthread_mutex_lock(&recursive) | pthread_mutex_trylock(&recursive) | pthread_cond_signal(&cond) |
         pthread_mutex_unlock(&recursive) | pthread_mutex_unlock(&recursive);
}

__attribute__((constructor)) void at_start() { result = pthread_mutex_lock(&held_across) | use_all(); }

__attribute__((destructor)) void at_end() {
  constexpr int kFailed = 66;
  if ((pthread_mutex_unlock(&held_across) | use_all()) != 0) _exit(kFailed);
}

}  // namespace

extern "C" int early_locker_result() { return result; }
