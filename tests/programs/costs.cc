// SPDX-License-Identifier: Apache-2.0
// The cost of pieces of code by the time stamp counter, one line each: "name: cycles a round". For
// costs_test.py.
#include <sys/mman.h>
#include <x86intrin.h>

#include <cstdint>
#include <cstdio>

namespace {

constexpr int kRounds = 1000;
constexpr std::size_t kLineBytes = 64,
                      kStep = 5 * kLineBytes;  // not a stride that a prefetcher follows for long

constexpr std::size_t kBytes = std::size_t{64} << 20;
char* const memory = static_cast<char*>(
    mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));

template <class Body>
void measure(const char* name, Body body) {
  for (int i = 0; i < kRounds; ++i) body(i);  // fetches the code and trains the branch predictor
  const std::uint64_t start = __rdtsc();
  for (int i = 0; i < kRounds; ++i) body(i);
  std::printf("%s: %.2f\n", name, static_cast<double>(__rdtsc() - start) / kRounds);
}

/// A line that is in no cache, a new one each time, and never adjacent to an earlier one.
volatile char* cold_line() {
  static std::size_t at = 0;
  at = (at + 4096 + kStep) % kBytes;
  return &memory[at];
}

std::uint64_t seed = 1;
bool chance() {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed >> 63;
}

}  // namespace

int main() {
  if (memory == MAP_FAILED) return 1;
  // A pointer in each line. Those of successive cold lines lead to addresses near each other.
  for (std::size_t at = 0; at < kBytes; at += kLineBytes)
    *reinterpret_cast<char**>(&memory[at]) = &memory[kBytes / 2 + at / 16], _mm_clflush(&memory[at]);
  measure("store", [](int) { *cold_line() = 1; });
  measure("store_sfence", [](int) { *cold_line() = 1, _mm_sfence(); });
  measure("store_lfence", [](int) { *cold_line() = 1, _mm_lfence(); });
  measure("store_mfence", [](int) { *cold_line() = 1, _mm_mfence(); });
  measure("load", [](int) { (void)*cold_line(); });
  measure("load_by_pointer", [](int) {
    char* const slot = const_cast<char*>(cold_line());
    (void)**reinterpret_cast<volatile char* volatile*>(slot);
  });
  measure("load_lfence", [](int) { (void)*cold_line(), _mm_lfence(); });
  volatile int sink = 0;
  measure("draw", [&](int) { sink = chance(); });
  measure("branch_by_chance", [&](int) {
    if (chance()) sink = sink + 1;
  });
  measure("branch_by_turns", [&](int i) {
    (void)chance();
    if (i % 4 == 0) sink = sink + 1;
  });
  return 0;
}
