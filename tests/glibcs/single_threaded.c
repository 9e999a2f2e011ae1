// SPDX-License-Identifier: Apache-2.0
// A program without libpthread, which glibc before 2.34 gives mutex functions that do nothing. With the library preloaded
// they are real from the first constructor on: a mutex is initialised whatever was in its memory, and excludes.
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex;
static int early = 1;

static int use(void) {
  memset(&mutex, 0xff, sizeof mutex);
  if (pthread_mutex_init(&mutex, NULL) != 0 || pthread_mutex_lock(&mutex) != 0) return 1;
  if (pthread_mutex_destroy(&mutex) != EBUSY) return 2;
  return pthread_mutex_unlock(&mutex) != 0 || pthread_mutex_destroy(&mutex) != 0 ? 3 : 0;
}

static void before_constructors(void) { early = use(); }
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_constructors;

__attribute__((destructor)) static void at_end(void) {
  const int late = use();
  if (late != 0) _exit(30 + late);
}

int main(void) {
  if (early != 0) return 10 + early;
  const int now = use();
  return now != 0 ? 20 + now : 0;
}
