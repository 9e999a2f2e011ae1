// SPDX-License-Identifier: Apache-2.0
// PR_GET_AUXV (Linux 6.4) in the virtual machine: the vector of the program, not of the machine that runs it.
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#define GET_AUXILIARY_VECTOR 0x41555856

static int failures;

static void check(const char* what, int holds) {
  if (holds) return;
  printf("%s: no (errno %d)\n", what, errno);
  failures++;
}

static long get(void* to, size_t size, long rest) { return prctl(GET_AUXILIARY_VECTOR, to, size, rest, 0); }

int main(void) {
  Elf64_auxv_t vector[64], file[64];
  memset(vector, 0xff, sizeof vector);
  memset(file, 0, sizeof file);
  const long size = get(vector, sizeof vector, 0);
  check("size", size > 0 && size % (long)sizeof vector[0] == 0 && size <= (long)sizeof vector);
  int looked_at = 0;
  for (int i = 0; i < 64 && vector[i].a_type != AT_NULL; ++i) {
    if (vector[i].a_type != AT_ENTRY && vector[i].a_type != AT_PHDR && vector[i].a_type != AT_RANDOM)
      continue;
    check("entry", getauxval(vector[i].a_type) == vector[i].a_un.a_val);
    ++looked_at;
  }
  check("all three", looked_at == 3);
  FILE* const stream = fopen("/proc/self/auxv", "r");
  const size_t told = fread(file, 1, sizeof file, stream);
  fclose(stream);
  check("as the file", told > 0 && (long)told <= size && memcmp(vector, file, told) == 0);
  memset(vector, 0xff, sizeof vector);
  check("a part",
        get(vector, 16, 0) == size && vector[0].a_type == file[0].a_type && vector[1].a_type == ~0ull);
  check("only the size", get(NULL, 0, 0) == size);
  check("bad address", get((void*)8, 16, 0) == -1 && errno == EFAULT);
  check("an argument too many", get(vector, 16, 1) == -1 && errno == EINVAL);
  if (failures == 0) puts("the vector of the program");
  return failures != 0;
}
