// SPDX-License-Identifier: Apache-2.0
// Core cycles per tick of the time-stamp counter (the probe "clock"): clock [ADDITIONS]. Dependent additions
// take one cycle each on every x86-64 core, so their number divided by the ticks is the ratio of the clocks.
// Prints the best of ten trials, since interrupts only lengthen one. Also prints the counter's ticks in a
// microsecond of the system's clock.
#include <chrono>

#include "experiment.h"

namespace {

double ticks_a_microsecond() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::uint64_t before = probe::ticks();
  while (Clock::now() - start < std::chrono::milliseconds(5)) {
  }
  const std::uint64_t spent = probe::ticks() - before;
  const std::chrono::duration<double, std::micro> microseconds = Clock::now() - start;
  return static_cast<double>(spent) / microseconds.count();
}

constexpr std::uint64_t kAtOnce = 500;  // additions in a loop, so many that the loop itself costs nothing

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t additions = probe::count_argument(argc, argv, 1000000);
  probe::pin_to(0);
  const std::uint64_t rounds = (additions + kAtOnce - 1) / kAtOnce;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t value = 1;
  for (int stretch = 0; stretch < 10; ++stretch) {
    const std::uint64_t before = probe::ticks();
    // In assembler, since a compiler may copy the register between rounds.
    std::uint64_t left = rounds;
    asm volatile("1:\n.rept %c2\naddq %0, %0\n.endr\ndecq %1\njnz 1b"
                 : "+r"(value), "+r"(left)
                 : "i"(kAtOnce)
                 : "cc");
    least = std::min(least, probe::ticks() - before);
  }
  std::printf("cycles_per_tick: %.4f\n", static_cast<double>(kAtOnce * rounds) / static_cast<double>(least));
  std::printf("ticks_a_microsecond: %.1f\n", ticks_a_microsecond());
  return 0;
}
