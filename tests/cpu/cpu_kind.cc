// SPDX-License-Identifier: Apache-2.0
// Prints the kind of this CPU. Exit code 0 if our libraries use its transactions, else 1.
#include "htm/cpu_kind.h"

#include <cstdio>

int main() {
  const elision::htm::CpuFeatures cpu = elision::htm::detect_cpu();
  std::puts(elision::htm::kind_of(cpu));
  return cpu.has_rtm ? 0 : 1;
}
