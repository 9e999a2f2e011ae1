/* SPDX-License-Identifier: Apache-2.0
 * Parts with OpenMP runtimes of their own in one process:
 *
 *   openmp_mixed LIBRARY...         each is loaded and called, in turns, a few times
 *   openmp_mixed_linked             a part of its own, and one in a library that it is linked with
 *
 * Prints what each found broken; exit code 1 if that is anything.
 */
#include <dlfcn.h>
#include <stdio.h>

#define MOST_PARTS 4

typedef int Part(void);

static int run(Part** parts, const char* const* names, int count) {
  int broken = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) {
      const int wrong = parts[i]();
      if (wrong != 0) printf("%s: %d wrong\n", names[i], wrong);
      broken += wrong != 0;
    }
  }
  if (broken == 0) puts("ok");
  return broken != 0;
}

#ifdef LINKED
Part openmp_part, openmp_part_of_program;

int main(void) {
  Part* parts[] = {openmp_part_of_program, openmp_part};
  const char* const names[] = {"program", "library"};
  return run(parts, names, 2);
}
#else
int main(int argc, char** argv) {
  Part* parts[MOST_PARTS];
  for (int i = 1; i < argc && i <= MOST_PARTS; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "openmp_mixed: %s\n", dlerror());
      return 2;
    }
    *(void**)&parts[i - 1] = dlsym(library, "openmp_part");
  }
  return run(parts, (const char* const*)argv + 1, argc - 1);
}
#endif
