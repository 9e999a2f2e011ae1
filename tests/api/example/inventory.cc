// SPDX-License-Identifier: Apache-2.0
// Threads move goods between shelves, and sometimes count all of them: the C++20 classes with the standard's
// locks.
#include <cstdio>
#include <elision/elision.hpp>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kShelves = 6;
constexpr int kThreads = 3;
constexpr int kMoves = 300;

struct Shelf {
  elision::mutex mutex;
  long goods = 0;
};

Shelf shelves[kShelves];
elision::shared_mutex catalogue;
elision::mutex counter_mutex;
elision::condition_variable counted;
long edition = 0, moves = 0;

void move_goods(Shelf& from, Shelf& to) {
  if (&from == &to) return;
  const elision::lockset both(from.mutex, to.mutex);
  --from.goods;
  ++to.goods;
}

/// Reads, and writes only if necessary.
void look(int i) {
  catalogue.lock_shared();
  if (i % 50 == 0 && catalogue.try_upgrade()) {
    ++edition;
    catalogue.unlock();
  } else {
    catalogue.unlock_shared();
  }
}

void work(unsigned random) {
  elision::coarsener coarsener(8);
  for (int i = 0; i < kMoves; ++i) {
    random = random * 1664525u + 1013904223u;
    move_goods(shelves[(random >> 8) % kShelves], shelves[(random >> 16) % kShelves]);
    look(i);
    const elision::coarsener::lock_guard lock(coarsener, counter_mutex);
    ++moves;
    counted.notify_one();
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  {
    std::unique_lock lock(counter_mutex);
    counted.wait(lock, [] { return moves == kThreads * kMoves; });
  }
  for (std::thread& thread : threads) thread.join();
  long sum = 0;
  {
    const std::scoped_lock all(shelves[0].mutex, shelves[1].mutex, shelves[2].mutex);
    for (const Shelf& shelf : shelves) sum += shelf.goods;
  }
  const std::shared_lock read(catalogue);
  std::printf("sum %ld, moves %ld, edition %s\n", sum, moves, edition > 0 ? "new" : "old");
  return sum == 0 && edition > 0 ? 0 : 1;
}
