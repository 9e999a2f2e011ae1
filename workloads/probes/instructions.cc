// SPDX-License-Identifier: Apache-2.0
// Cycles of single instructions in a row, by the time-stamp counter (the probe "instructions").
#include "probe.h"

namespace {

constexpr int kUnrolled = 10;
alignas(128) volatile std::uint64_t word = 0;

/// Cycles of one of the kUnrolled instructions that `body` executes.
template <class Body>
double cycles(std::uint64_t count, Body body) {
  const std::uint64_t start = probe::ticks();
  for (std::uint64_t i = 0; i < count; ++i) body();
  return static_cast<double>(probe::ticks() - start) / static_cast<double>(count * kUnrolled);
}

#define ELISION_TEN_TIMES(instruction) ".rept 10\n" instruction "\n.endr"

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = probe::count_argument(argc, argv, 100000);
  probe::pin_to(0);
  probe::print("pause", cycles(count, [] { asm volatile(ELISION_TEN_TIMES("pause") : : : "memory"); }));
  probe::print("lock_add", cycles(count, [] {
                 asm volatile(ELISION_TEN_TIMES("lock addq $1, %0") : "+m"(word) : : "memory", "cc");
               }));
  probe::print("mfence", cycles(count, [] { asm volatile(ELISION_TEN_TIMES("mfence") : : : "memory"); }));
  probe::print("lfence", cycles(count, [] { asm volatile(ELISION_TEN_TIMES("lfence") : : : "memory"); }));
  probe::print("rdtsc", cycles(count, [] { asm volatile(ELISION_TEN_TIMES("rdtsc") : : : "rax", "rdx"); }));
  // A hundredth of the loops: a hypervisor executes it, in a thousand cycles and more.
  probe::print("cpuid", cycles(count / 100 + 1, [] {
                 asm volatile(ELISION_TEN_TIMES("xorl %%eax, %%eax\ncpuid") : : : "rax", "rbx", "rcx", "rdx");
               }));
  return 0;
}
