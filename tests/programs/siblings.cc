// SPDX-License-Identifier: Apache-2.0
// Two pinned threads work at once. Prints the first one's ticks of the time stamp counter.
//
//   siblings CPU CPU wide|chain|short
// wide: independent additions, as many as fit a cycle; chain: dependent additions; short: like wide, but the
// second thread ends at once.
#include <pthread.h>
#include <sched.h>
#include <x86intrin.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr int kRounds = 20'000;
pthread_barrier_t barrier;

void pin_to(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::exit(3);
}

void wide(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    asm volatile(
        ".rept 32\n"
        "lea 1(%%r8), %%r8\n lea 1(%%r9), %%r9\n lea 1(%%r10), %%r10\n lea 1(%%r11), %%r11\n"
        ".endr" ::
            : "r8", "r9", "r10", "r11");
  }
}

void chain(int rounds) {
  for (int i = 0; i < rounds; ++i) asm volatile(".rept 8\n imul %%r8, %%r8\n .endr" ::: "r8");
}

std::uint64_t work(unsigned cpu, void (*loop)(int), int rounds) {
  pin_to(cpu);
  loop(100);
  pthread_barrier_wait(&barrier);
  const std::uint64_t start = __rdtsc();
  loop(rounds);
  return __rdtsc() - start;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  void (*const loop)(int) = std::strcmp(argv[3], "chain") == 0 ? chain : wide;
  const int others_rounds = std::strcmp(argv[3], "short") == 0 ? 1 : 2 * kRounds;
  pthread_barrier_init(&barrier, nullptr, 2);
  std::thread other([&] { work(static_cast<unsigned>(std::atoi(argv[2])), loop, others_rounds); });
  const std::uint64_t ticks = work(static_cast<unsigned>(std::atoi(argv[1])), loop, kRounds);
  other.join();
  std::printf("%llu\n", static_cast<unsigned long long>(ticks));
  return 0;
}
