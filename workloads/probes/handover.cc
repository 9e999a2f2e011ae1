// SPDX-License-Identifier: Apache-2.0
// A test-and-test-and-set lock under constant contention of two threads, released by an exchange or by a
// plain store (the probe "handover"): handover [SECTIONS].
//
// After a plain store the releasing thread's next exchange follows at once, and may win again and again. Each
// line has the ticks per section, the percentage of sections that went to the other thread than the section
// before, and the longest sequence of sections of one thread. Both threads stop when one has done its
// sections.
#include <atomic>
#include <thread>

#include "experiment.h"

namespace {

struct alignas(128) Word {
  std::atomic<std::uint32_t> value{0};
};

/// Accessed by the holder only, on a line of its own.
struct alignas(128) Held {
  std::uint64_t last = 2, sections = 0, handovers = 0, row = 0, longest = 0;
};

Word lock_word;
Held held;
std::atomic<bool> stop;
pthread_barrier_t barrier;

void acquire() {
  for (;;) {
    if (lock_word.value.load(std::memory_order_relaxed) == 0 && lock_word.value.exchange(1) == 0) return;
    asm volatile("pause");
  }
}

template <bool kExchange>
void release() {
  if constexpr (kExchange) {
    lock_word.value.exchange(0);
  } else {
    lock_word.value.store(0, std::memory_order_release);
  }
}

void count(unsigned thread) {
  ++held.sections;
  if (held.last == thread) {
    ++held.row;
  } else {
    held.handovers += held.last != 2;
    held.row = 1;
    held.last = thread;
  }
  held.longest = std::max(held.longest, held.row);
}

template <bool kExchange>
void run_thread(unsigned thread, std::uint64_t sections) {
  probe::pin_to(thread);
  pthread_barrier_wait(&barrier);
  for (std::uint64_t i = 0; i < sections && !stop.load(std::memory_order_relaxed); ++i) {
    acquire();
    count(thread);
    release<kExchange>();
  }
  stop.store(true);
}

template <bool kExchange>
void run(const char* name, std::uint64_t sections) {
  held = Held{};
  stop = false;
  pthread_barrier_init(&barrier, nullptr, 2);
  const std::uint64_t before = probe::ticks();
  std::thread one(run_thread<kExchange>, 0, sections);
  std::thread two(run_thread<kExchange>, 1, sections);
  one.join();
  two.join();
  const double spent = static_cast<double>(probe::ticks() - before);
  pthread_barrier_destroy(&barrier);
  const double made = static_cast<double>(held.sections);
  std::printf("%s_ticks_handover_percent_longest_row: %.1f %.3f %" PRIu64 "\n", name, spent / made,
              100 * static_cast<double>(held.handovers) / made, held.longest);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t sections = probe::count_argument(argc, argv, 2000000);
  probe::require_cpus(2);
  run<true>("exchange", sections);
  run<false>("store", sections);
  return 0;
}
