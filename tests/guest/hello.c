// SPDX-License-Identifier: Apache-2.0
// Arguments and environment reach the program; built static, static-PIE, PIE and non-PIE.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int initialised_before_main;
__attribute__((constructor)) static void construct(void) { initialised_before_main = 1; }

int main(int argc, char** argv) {
  printf("hello from %s, %d arguments\n", strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0], argc);
  for (int i = 1; i < argc; ++i) printf("argument %d: %s\n", i, argv[i]);
  printf("constructor ran: %d, PATH is set: %d\n", initialised_before_main, getenv("PATH") != NULL);
  return 0;
}
