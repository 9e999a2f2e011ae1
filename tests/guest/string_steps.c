// SPDX-License-Identifier: Apache-2.0
// A repeated comparison is no single moment: while one thread searches lines that it alone has, another
// writes what it searches for, behind where it is. It must be found now and then. Virtual only: where CPUs
// are shared the other thread may never run meanwhile.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { kBytes = 24 * 1024, kRounds = 200 };

static _Alignas(4096) char text[kBytes];
static atomic_int started, written;

static void* writes(void* unused) {
  (void)unused;
  for (int round = 1; round <= kRounds; ++round) {
    while (atomic_load(&started) != round) sched_yield();
    text[kBytes - 64] = 1;
    atomic_store(&written, round);
  }
  return NULL;
}

/// Elements left when the search for 1 ended: 0 if it found nothing.
static unsigned long search(int repne) {
  const char* at = text;
  unsigned long left = kBytes;
  if (repne) {
    __asm__ volatile("repne scasb" : "+D"(at), "+c"(left) : "a"(1) : "memory", "cc");
  } else {
    const char* other = text;
    static char zeros[kBytes];
    at = zeros;
    __asm__ volatile("repe cmpsb" : "+S"(other), "+D"(at), "+c"(left) : : "memory", "cc");
  }
  return left;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writes, NULL);
  int found[2] = {0, 0};
  for (int round = 1; round <= kRounds; ++round) {
    memset(text, 0, sizeof text);
    search(round & 1);
    atomic_store(&started, round);
    found[round & 1] += search(round & 1) != 0;
    while (atomic_load(&written) != round) sched_yield();
  }
  pthread_join(thread, NULL);
  printf("cmps %s, scas %s\n", found[0] > 0 ? "finds it" : "never finds it", found[1] > 0 ? "finds it" : "never finds it");
  return found[0] > 0 && found[1] > 0 ? 0 : 1;
}
