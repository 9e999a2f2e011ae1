// SPDX-License-Identifier: Apache-2.0
// Whether the first two CPUs are hardware threads of one core (the probe "topology"): topology [LOOPS].
//
// Work that fills a core's issue width takes the same time on two cores at once, but about twice as long on
// two hardware threads of one core. Prints ticks per loop alone, ticks with both at work, and their ratio:
// near 1 on two cores, 1.5 to 2 on siblings. Two virtual CPUs that share a CPU of the host look like siblings
// too.
#include <atomic>
#include <thread>

#include "experiment.h"

namespace {

/// Four independent chains of additions: four per cycle.
double ticks_a_loop(std::uint64_t loops) {
  std::uint64_t a = 1, b = 1, c = 1, d = 1;
  const std::uint64_t before = probe::ticks();
  for (std::uint64_t i = 0; i < loops; ++i) {
    asm volatile(".rept 10\naddq $1, %0\naddq $1, %1\naddq $1, %2\naddq $1, %3\n.endr"
                 : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
                 :
                 : "cc");
  }
  return static_cast<double>(probe::ticks() - before) / static_cast<double>(loops);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t loops = probe::count_argument(argc, argv, 3000000);
  probe::require_cpus(2);
  std::atomic<bool> ready{false}, done{false};
  std::thread other([&] {
    probe::pin_to(1);
    while (!ready.load()) sched_yield();
    while (!done.load(std::memory_order_relaxed)) (void)ticks_a_loop(1000);
  });
  probe::pin_to(0);
  (void)ticks_a_loop(loops / 10);
  const double alone = ticks_a_loop(loops);
  ready.store(true);
  (void)ticks_a_loop(loops / 10);
  const double together = ticks_a_loop(loops);
  done.store(true);
  other.join();
  probe::print("alone_ticks", alone);
  probe::print("together_ticks", together);
  probe::print("together_to_alone", together / alone);
  return 0;
}
