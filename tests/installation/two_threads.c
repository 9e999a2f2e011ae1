// SPDX-License-Identifier: Apache-2.0
// Two threads that share a lock. Prints how often they took it, and the files of this process whose names contain the
// first argument.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void* add(void* unused) {
  for (int i = 0; i < 200; ++i) {
    pthread_mutex_lock(&mutex);
    ++sum;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

static void print_files(const char* part) {
  char line[4096], last[4096] = "";
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    const char* const file = strchr(line, '/');
    if (file == NULL || strstr(file, part) == NULL || strcmp(file, last) == 0) continue;
    fputs(strcpy(last, file), stdout);
  }
}

int main(int count, char** words) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, add, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%ld\n", sum);
  if (count > 1) print_files(words[1]);
  return 0;
}
