// SPDX-License-Identifier: Apache-2.0
// Contending threads, for tests of the order of events in the virtual machine.
//
//   contention MODE THREADS SECTIONS     SECTIONS per thread
//
//   lock      one mutex; a section increments a counter and four words of a shared array
//   large     the same, and between sections each thread stores to private memory that fills L2, at random
//             and in sequence
//   private   as lock, with a mutex and an array for each thread
//   rtm       transactions without a lock increment four words of a shared array; tried up to 20 times
//   aahtm     an always-abort transaction runs the section, then the section runs again under a spin lock
//
// Prints the cycles from the common start to the end of the last thread, and the increments in memory. Ends
// with 1 if increments are missing.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "htm/always_abort.h"
#include "htm/rtm.h"

namespace {

using elision::htm::Rtm;
using elision::htm::VirtualAlwaysAbort;

constexpr unsigned kMostThreads = 64;
constexpr unsigned kLines = 64;
constexpr unsigned kWrites = 4;
constexpr unsigned kTries = 20;

struct alignas(64) Line {
  volatile unsigned long word;
};

struct alignas(128) Shared {
  pthread_mutex_t mutex;
  Line counter;
  Line lines[kLines];
};

Shared shared[kMostThreads];
constexpr unsigned kOwnBytes = 128 << 10, kFilledBytes = 24 << 10;
alignas(128) char own_memory[kMostThreads][kOwnBytes];
alignas(128) volatile unsigned spin_lock;
pthread_barrier_t start;
const char* mode;
unsigned long sections;

struct alignas(128) Result {
  unsigned long begun, ended, increments;
} results[kMostThreads];

unsigned long clock_cycles() {
  unsigned low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
  return static_cast<unsigned long>(high) << 32 | low;
}

/// Work between sections, of slightly varying length.
void idle(unsigned draw) {
  for (unsigned i = 0; i < 20 + draw % 64; ++i) asm volatile("");
}

void fill_own_memory(char* own, unsigned draw) {
  for (unsigned i = 0; i < 16; ++i)
    draw = draw * 1664525u + 1013904223u, own[draw >> 8 & (kOwnBytes - 1)] += 1;
  void* to = own + (draw >> 8 & (kOwnBytes / 2 - 1));
  unsigned long bytes = kFilledBytes;
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
}

void increments(Shared& in, const unsigned* places) {
  in.counter.word = in.counter.word + 1;
  for (unsigned i = 0; i < kWrites; ++i) in.lines[places[i]].word = in.lines[places[i]].word + 1;
}

void under_mutex(Shared& in, const unsigned* places) {
  pthread_mutex_lock(&in.mutex);
  increments(in, places);
  pthread_mutex_unlock(&in.mutex);
}

/// Leaves out the counter, by which all transactions would conflict.
bool transactional(Shared& in, const unsigned* places) {
  for (unsigned i = 0; i < kTries; ++i) {
    if (!Rtm::begin().started()) continue;
    for (unsigned k = 0; k < kWrites; ++k) in.lines[places[k]].word = in.lines[places[k]].word + 1;
    Rtm::commit();
    return true;
  }
  return false;
}

void speculate_and_lock(Shared& in, const unsigned* places) {
  if (VirtualAlwaysAbort::begin_always_abort().started()) {
    increments(in, places);
    Rtm::commit();
  }
  while (__atomic_exchange_n(&spin_lock, 1u, __ATOMIC_ACQUIRE) != 0)
    while (spin_lock != 0) asm volatile("pause");
  increments(in, places);
  __atomic_store_n(&spin_lock, 0u, __ATOMIC_RELEASE);
}

void* worker(void* argument) {
  const auto index = reinterpret_cast<unsigned long>(argument);
  Result& result = results[index];
  const bool own = std::strcmp(mode, "private") == 0, large = std::strcmp(mode, "large") == 0;
  Shared& mine = shared[own ? index : 0];
  unsigned state = static_cast<unsigned>(index) * 2654435761u + 12345u;
  pthread_barrier_wait(&start);
  result.begun = clock_cycles();
  for (unsigned long i = 0; i < sections; ++i) {
    unsigned places[kWrites];
    for (unsigned& place : places) state = state * 1664525u + 1013904223u, place = state >> 16 & (kLines - 1);
    unsigned long done = kWrites + 1;
    if (mode[0] == 'r') {
      done = transactional(mine, places) ? kWrites : 0;
    } else if (mode[0] == 'a') {
      speculate_and_lock(mine, places);
    } else {
      under_mutex(mine, places);
    }
    result.increments += done;
    idle(state >> 10);
    if (large) fill_own_memory(own_memory[index], state);
  }
  result.ended = clock_cycles();
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  mode = argv[1];
  const unsigned long threads = std::strtoul(argv[2], nullptr, 10);
  sections = std::strtoul(argv[3], nullptr, 10);
  if (threads == 0 || threads > kMostThreads) return 2;
  pthread_barrier_init(&start, nullptr, static_cast<unsigned>(threads));
  pthread_t thread[kMostThreads];
  for (unsigned long i = 0; i < threads; ++i) {
    pthread_mutex_init(&shared[i].mutex, nullptr);
    pthread_create(&thread[i], nullptr, worker, reinterpret_cast<void*>(i));
  }
  for (unsigned long i = 0; i < threads; ++i) pthread_join(thread[i], nullptr);

  unsigned long begun = ~0ul, ended = 0, expected = 0, found = 0;
  for (unsigned long i = 0; i < threads; ++i) {
    if (results[i].begun < begun) begun = results[i].begun;
    if (results[i].ended > ended) ended = results[i].ended;
    expected += results[i].increments;
    found += shared[i].counter.word;
    for (const Line& line : shared[i].lines) found += line.word;
  }
  std::printf("cycles %lu increments %lu\n", ended - begun, found);
  return found == expected ? 0 : 1;
}
