// SPDX-License-Identifier: Apache-2.0
// Threads change a shared ledger under one mutex. A section first reads all of its entries and then writes
// all of them, so that an overlapping section has time to commit in between. (ArrayBench's increments leave
// no such gap, and the hardware's conflict detection then hides a missing subscription to the lock.) Sections
// have very different lengths, so that short ones fit into the gaps of long ones.
//
//   ledger THREADS SECTIONS SEED     SECTIONS per thread; ends with 1 and "LOST n updates" if updates are
//   lost
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kEntries = 256;
constexpr unsigned kLongest = 64;  // entries per section
constexpr unsigned kShort = 2;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
alignas(64) volatile unsigned ledger[kEntries];
pthread_barrier_t start;

unsigned next(unsigned& state) { return state = state * 1664525u + 1013904223u; }

// Returns the number of entries changed.
unsigned section(unsigned& state) {
  const unsigned count = next(state) >> 31 != 0 ? kShort : kLongest;
  const unsigned first = next(state) >> 24;
  unsigned values[kLongest];
  pthread_mutex_lock(&mutex);
  for (unsigned i = 0; i < count; ++i) values[i] = ledger[(first + i) % kEntries];
  for (unsigned i = 0; i < count; ++i) ledger[(first + i) % kEntries] = values[i] + 1;
  pthread_mutex_unlock(&mutex);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const unsigned threads = static_cast<unsigned>(std::atoi(argv[1]));
  const unsigned sections = static_cast<unsigned>(std::atoi(argv[2]));
  const unsigned seed = static_cast<unsigned>(std::atoi(argv[3]));
  pthread_barrier_init(&start, nullptr, threads);
  std::vector<unsigned> changed(threads);
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&changed, t, sections, seed] {
      unsigned state = seed * 7919 + t;
      unsigned sum = 0;
      pthread_barrier_wait(&start);
      for (unsigned i = 0; i < sections; ++i) sum += section(state);
      changed[t] = sum;
    });
  }
  for (std::thread& worker : workers) worker.join();
  unsigned expected = 0, found = 0;
  for (const unsigned sum : changed) expected += sum;
  for (const volatile unsigned& entry : ledger) found += entry;
  std::printf("changed %u\n", expected);
  if (found == expected) return 0;
  std::printf("LOST %d updates\n", static_cast<int>(expected - found));
  return 1;
}
