// SPDX-License-Identifier: Apache-2.0
// Core cycles of an iteration of loops whose data is in L1 (the probe "loops"): loops [ITERATIONS].
// Iterations overlap in all but what one needs from the one before, so an iteration takes the time of that,
// or of its instructions at the core's width. The loops are assembler, since compilers differ.
//
// Ticks become core cycles by dependent additions in the same run, as in the probe "clock". Prints the best
// of ten trials, since interrupts only lengthen one.
#include <algorithm>

#include "experiment.h"

namespace {

constexpr std::uint64_t kItems = 512;  // 2 KB of floats

alignas(64) float first[kItems], second[kItems];
/// Each word is the address of the next one, the last one's is that of the first.
alignas(64) std::uint64_t chain[kItems];

/// Ticks of an iteration of `body`, which executes kItems of them in a row.
template <class Body>
double ticks_an_iteration(std::uint64_t iterations, Body body) {
  std::uint64_t least = ~std::uint64_t{0};
  const std::uint64_t rounds = (iterations + kItems - 1) / kItems;
  for (int trial = 0; trial < 10; ++trial) {
    const std::uint64_t before = probe::ticks();
    for (std::uint64_t round = 0; round < rounds; ++round) body();
    least = std::min(least, probe::ticks() - before);
  }
  return static_cast<double>(least) / static_cast<double>(rounds * kItems);
}

// Each is executed kItems times in a row. RAX counts from 0, RDI and RSI are the arrays. RDX, R8 and XMM0
// hold what one iteration gets from the one before, also over the end of a row: an out-of-order core would
// begin the next row before the end of this one.
#define ELISION_LOOP(body)                                                                          \
  [word = reinterpret_cast<std::uint64_t>(chain), other = std::uint64_t{1}, sum = 1.0f]() mutable { \
    std::uint64_t index = 0;                                                                        \
    register std::uint64_t r8 asm("r8") = other;                                                    \
    asm volatile("1:\n" body "\nincq %%rax\ncmpq %6, %%rax\njne 1b"                                 \
                 : "+a"(index), "+d"(word), "+Yz"(sum), "+r"(r8)                                    \
                 : "D"(first), "S"(second), "i"(kItems)                                             \
                 : "memory", "cc", "rcx", "xmm1");                                                  \
    other = r8;                                                                                     \
  }

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t iterations = probe::count_argument(argc, argv, 1000000);
  probe::pin_to(0);
  for (std::uint64_t i = 0; i < kItems; ++i) {
    first[i] = 1, second[i] = 1;
    chain[i] = reinterpret_cast<std::uint64_t>(&chain[(i + 1) % kItems]);
  }
  const double cycle =
      ticks_an_iteration(iterations / 100 + 1, ELISION_LOOP(".rept 100\naddq %%rdx, %%rdx\n.endr")) / 100;
  const auto print = [cycle](const char* name, double ticks) { probe::print(name, ticks / cycle); };
  print("sum", ticks_an_iteration(iterations, ELISION_LOOP("addss (%%rdi,%%rax,4), %%xmm0")));
  print("distance", ticks_an_iteration(iterations, ELISION_LOOP("movss (%%rdi,%%rax,4), %%xmm1\n"
                                                                "subss (%%rsi,%%rax,4), %%xmm1\n"
                                                                "mulss %%xmm1, %%xmm1\n"
                                                                "addss %%xmm1, %%xmm0")));
  print("polynomial", ticks_an_iteration(iterations, ELISION_LOOP("mulss (%%rdi,%%rax,4), %%xmm0\n"
                                                                  "addss (%%rsi,%%rax,4), %%xmm0")));
  print("hash", ticks_an_iteration(iterations, ELISION_LOOP("movl (%%rdi,%%rax,4), %%ecx\n"
                                                            "xorq %%rcx, %%rdx\n"
                                                            "imulq %%rcx, %%rdx")));
  print("chase", ticks_an_iteration(iterations, ELISION_LOOP("movq (%%rdx), %%rdx")));
  print("convert", ticks_an_iteration(iterations, ELISION_LOOP("movl (%%rdi,%%rax,4), %%ecx\n"
                                                               "pxor %%xmm1, %%xmm1\n"
                                                               "cvtsi2sd %%ecx, %%xmm1\n"
                                                               "cvtsd2ss %%xmm1, %%xmm1\n"
                                                               "movss %%xmm1, (%%rsi,%%rax,4)")));
  print("swapped", ticks_an_iteration(iterations, ELISION_LOOP("movq %%rdx, %%rcx\n"
                                                               "leaq 1(%%r8), %%rdx\n"
                                                               "imulq %%rcx, %%rcx\n"
                                                               "movq %%rcx, %%r8")));
  print("copy", ticks_an_iteration(iterations, ELISION_LOOP("movss (%%rdi,%%rax,4), %%xmm1\n"
                                                            "movss %%xmm1, (%%rsi,%%rax,4)")));
  print("counter", ticks_an_iteration(iterations, ELISION_LOOP("addl $1, (%%rdi)")));
  print("wide",
        ticks_an_iteration(iterations, ELISION_LOOP(".rept 20\nmovl $1, %%ecx\nmovl $1, %%ecx\n.endr")));
  return 0;
}
