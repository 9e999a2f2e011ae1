// SPDX-License-Identifier: Apache-2.0
// A program without libpthread, for which glibc before 2.34 has mutex functions that do nothing. With the library
// preloaded they work from the start: a mutex in any memory is initialised, and excludes.
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

// The first call, while the program is being linked and before libpthread is initialised.
static int nothing(void) { return 0; }
static int (*resolve_nothing(void))(void) {
  early = use();
  return nothing;
}
__attribute__((ifunc("resolve_nothing"))) int resolved_nothing(void);

__attribute__((destructor)) static void at_end(void) {
  const int late = use();
  if (late != 0) _exit(30 + late);
}

int main(void) {
  if (resolved_nothing() != 0 || early != 0) return 10 + early;
  const int now = use();
  return now != 0 ? 20 + now : 0;
}
