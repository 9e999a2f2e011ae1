// SPDX-License-Identifier: Apache-2.0
// Events that a virtual machine must order: atomics and locks of many threads.
//
//   events PHASE THREADS ROUNDS      ROUNDS in total, divided among the threads
//
//   private  each thread adds atomically to a line of its own
//   shared   all threads add atomically to the same few lines
//   mixed    arithmetic and accesses to private memory; in each round an atomic addition to one of 64 lines,
//            in every 64th round a section under one mutex
//
// Prints the sum of all additions; fails if one was lost.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kMostThreads = 1024;
constexpr std::size_t kLines = 64;
constexpr std::size_t kHammeredLines = 4;
constexpr std::uint64_t kRoundsPerSection = 64;

struct alignas(64) Line {
  std::atomic<std::uint64_t> sum{0};
};

std::vector<Line> own_lines(kMostThreads);
std::array<Line, kLines> lines;
std::mutex mutex;
std::array<std::uint64_t, 8> table;  // under the mutex
std::uint64_t sections = 0;          // the same

void run_private(unsigned thread, std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) own_lines[thread].sum.fetch_add(1);
}

void run_shared(unsigned thread, std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) lines[(i + thread) % kHammeredLines].sum.fetch_add(1);
}

void run_mixed(unsigned thread, std::uint64_t rounds) {
  constexpr std::size_t kWords = 8192;  // 64 KB: more than L1
  std::vector<std::uint64_t> memory(kWords);
  std::uint64_t draw = 88172645463325252u + thread;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    for (int step = 0; step < 64; ++step) {
      draw ^= draw << 13;
      draw ^= draw >> 7;
      draw ^= draw << 17;
      if (step % 4 == 0) memory[draw % kWords] += draw;
    }
    lines[draw % kLines].sum.fetch_add(1);
    if (i % kRoundsPerSection == 0) {
      const std::lock_guard<std::mutex> guard(mutex);
      for (std::uint64_t& word : table) word += draw;
      ++sections;
    }
  }
}

struct Phase {
  const char* name;
  void (*run)(unsigned thread, std::uint64_t rounds);
};
constexpr Phase kPhases[] = {{"private", run_private}, {"shared", run_shared}, {"mixed", run_mixed}};

/// The decimal number in `text` if it lies in [1, most], else 0.
std::uint64_t number(const char* text, std::uint64_t most) {
  char* end = nullptr;
  if (*text < '0' || *text > '9') return 0;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  return *end == 0 && value <= most ? value : 0;
}

std::uint64_t total() {
  std::uint64_t sum = 0;
  for (const Line& line : own_lines) sum += line.sum;
  for (const Line& line : lines) sum += line.sum;
  return sum;
}

int run(const Phase& phase, unsigned threads, std::uint64_t rounds) {
  std::vector<std::thread> others;
  std::uint64_t expected_sections = 0;
  for (unsigned thread = 0; thread < threads; ++thread) {
    const std::uint64_t mine = rounds / threads + (thread < rounds % threads ? 1 : 0);
    if (phase.run == run_mixed) expected_sections += (mine + kRoundsPerSection - 1) / kRoundsPerSection;
    if (thread > 0) {
      others.emplace_back(phase.run, thread, mine);
    }
  }
  phase.run(0, rounds / threads + (rounds % threads != 0 ? 1 : 0));
  for (std::thread& thread : others) thread.join();
  std::printf("%s %llu\n", phase.name, static_cast<unsigned long long>(total()));
  if (total() == rounds && sections == expected_sections) return 0;
  std::fprintf(stderr, "events: %llu rounds left %llu additions and %llu of %llu sections\n",
               static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(total()),
               static_cast<unsigned long long>(sections), static_cast<unsigned long long>(expected_sections));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) {
    const auto threads = static_cast<unsigned>(number(argv[2], kMostThreads));
    const std::uint64_t rounds = number(argv[3], ~std::uint64_t{0});
    for (const Phase& phase : kPhases)
      if (std::strcmp(phase.name, argv[1]) == 0 && threads != 0 && rounds != 0)
        return run(phase, threads, rounds);
  }
  std::fprintf(stderr, "events private|shared|mixed THREADS ROUNDS (at most %u threads)\n", kMostThreads);
  return 2;
}
