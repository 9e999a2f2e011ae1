// SPDX-License-Identifier: Apache-2.0
// A library that call_paths loads while it runs.

extern "C" double wait_in_library(double (*wait)(int round), int round) {
  const double waited = wait(round);
  asm volatile("");
  return waited;
}
