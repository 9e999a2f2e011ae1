// SPDX-License-Identifier: Apache-2.0
// Sections of libelision-api inside sections of pthreads, and vice versa. With the preload library both may
// run transactions, and the CPU runs nested ones as one. Every thread's context must be right after each
// commit and each abort.
//
//   beside_pthreads THREADS ROUNDS
//
// Prints one line; exit code 1 and "LOST ..." if a total or a mutex's word is wrong.
#include <sched.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "elision/elision.hpp"

namespace {

struct alignas(64) Counter {
  volatile std::uint64_t value = 0;
  void add() {
    const std::uint64_t seen = value;
    for (int i = 0; i < 10; ++i) asm volatile("" : : : "memory");
    value = seen + 1;
  }
};

// Locks are taken in the order of these lines.
std::mutex outer_pthread;
elision::mutex outer_ours;
elision::shared_mutex shared_ours;
std::shared_mutex shared_pthread;
elision::mutex inner_ours;
std::mutex inner_pthread;

Counter of_outer_pthread, of_outer_ours, of_shared_ours, of_shared_pthread, of_inner_ours, of_inner_pthread;
std::condition_variable never;

struct Expected {
  std::uint64_t outer_pthread, outer_ours, shared_ours, shared_pthread, inner_ours, inner_pthread;
};

/// Our section is outside: the preload library's transaction begins inside it.
void ours_outside(int round) {
  const std::lock_guard outer(outer_ours);
  of_outer_ours.add();
  {
    const std::lock_guard inner(inner_pthread);
    of_inner_pthread.add();
    if (round % 16 == 3) elision_abort();
  }
  of_outer_ours.add();
}

void ours_inside(int round) {
  const std::lock_guard outer(outer_pthread);
  of_outer_pthread.add();
  {
    const std::lock_guard inner(inner_ours);
    of_inner_ours.add();
    if (round % 16 == 5) elision_abort();
  }
  of_outer_pthread.add();
}

/// The sections end in the order in which they began: the last transaction does not end first.
void crossed(int round) {
  inner_ours.lock();
  inner_pthread.lock();
  of_inner_ours.add();
  inner_ours.unlock();
  of_inner_pthread.add();
  if (round % 16 == 7) elision_abort();
  inner_pthread.unlock();
}

void reader_writers() {
  const std::unique_lock ours(shared_ours);
  const std::unique_lock theirs(shared_pthread);
  of_shared_ours.add();
  of_shared_pthread.add();
}

/// A timed wait must abort our transaction.
void waits_inside() {
  const std::lock_guard outer(outer_ours);
  std::unique_lock inner(inner_pthread);
  of_outer_ours.add();
  never.wait_for(inner, std::chrono::microseconds(1));
  of_inner_pthread.add();
}

void coarsened(elision::coarsener& coarsener) {
  const elision::coarsener::section section(coarsener);
  const std::lock_guard inner(inner_ours);
  const std::lock_guard innermost(inner_pthread);
  of_inner_ours.add();
  of_inner_pthread.add();
}

bool tried(int round) {
  if (!outer_ours.try_lock()) return false;
  const bool both = inner_pthread.try_lock();
  if (both) {
    of_inner_pthread.add();
    if (round % 16 == 9) elision_abort();
    inner_pthread.unlock();
  }
  outer_ours.unlock();
  return both;
}

/// A thread holds a pthread mutex until a section that wants it, inside one of ours, has given up its
/// transaction. The section must not try for ever.
void gives_up_beside_a_holder() {
  inner_pthread.lock();
  sched_yield();  // aborts a transaction, so that the lock is taken
  std::thread waiter([] {
    const std::lock_guard outer(outer_ours);
    const std::lock_guard inner(inner_pthread);
  });
  while (__atomic_load_n(&outer_ours.native_handle()->word, __ATOMIC_RELAXED) == 0) sched_yield();
  inner_pthread.unlock();
  waiter.join();
}

void work(int rounds, Expected& mine) {
  for (int i = 0; i < rounds; ++i) {
    ours_outside(i);
    ours_inside(i);
    crossed(i);
    reader_writers();
    if (i % 8 == 0) waits_inside();
    {
      elision::coarsener coarsener(3);
      for (int j = 0; j < 4; ++j) coarsened(coarsener);
    }
    const std::uint64_t waited = i % 8 == 0 ? 1 : 0;
    mine.outer_ours += 2 + waited;
    mine.inner_pthread += 1 + 1 + waited + 4 + (tried(i) ? 1 : 0);
    mine.outer_pthread += 2;
    mine.inner_ours += 1 + 1 + 4;
    mine.shared_ours += 1;
    mine.shared_pthread += 1;
  }
}

std::uint64_t difference(const char* name, std::uint64_t expected, const Counter& counter) {
  if (counter.value == expected) return 0;
  std::printf("LOST %s: %llu of %llu\n", name, static_cast<unsigned long long>(counter.value),
              static_cast<unsigned long long>(expected));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 3 ? std::atoi(argv[1]) : 0;
  const int rounds = argc == 3 ? std::atoi(argv[2]) : 0;
  if (count <= 0 || rounds <= 0) {
    std::fprintf(stderr, "usage: beside_pthreads THREADS ROUNDS\n");
    return 2;
  }
  gives_up_beside_a_holder();
  std::vector<Expected> expected(static_cast<std::size_t>(count));
  std::vector<std::uint64_t> commits(expected.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    threads.emplace_back([&, t] {
      work(rounds, expected[t]);
      commits[t] = elision::thread_counts().commits;
    });
  }
  for (std::thread& thread : threads) thread.join();
  Expected total{};
  std::uint64_t committed = 0;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    total.outer_pthread += expected[t].outer_pthread;
    total.outer_ours += expected[t].outer_ours;
    total.shared_ours += expected[t].shared_ours;
    total.shared_pthread += expected[t].shared_pthread;
    total.inner_ours += expected[t].inner_ours;
    total.inner_pthread += expected[t].inner_pthread;
    committed += commits[t];
  }
  std::printf("beside_pthreads: commits %llu\n", static_cast<unsigned long long>(committed));
  std::uint64_t wrong = difference("outer_pthread", total.outer_pthread, of_outer_pthread);
  wrong += difference("outer_ours", total.outer_ours, of_outer_ours);
  wrong += difference("shared_ours", total.shared_ours, of_shared_ours);
  wrong += difference("shared_pthread", total.shared_pthread, of_shared_pthread);
  wrong += difference("inner_ours", total.inner_ours, of_inner_ours);
  wrong += difference("inner_pthread", total.inner_pthread, of_inner_pthread);
  for (elision::mutex* mutex : {&outer_ours, &inner_ours}) wrong += mutex->native_handle()->word != 0;
  return wrong == 0 ? 0 : 1;
}
