// SPDX-License-Identifier: Apache-2.0
// The kernels of the TSX paper's section 5, small, under every way to synchronise them; each checks itself
// against what one thread computes.
//
//   histogram   threads count random items into bins (5.1: histogram)
//   physics     threads add opposite forces to random pairs of objects (5.1: physicsSolver)
//
//   micro_programs KERNEL VARIANT THREADS ITEMS SEED     ITEMS: of each thread
//
//   none        no synchronisation: updates must get lost
//   lock        a std::mutex for each bin or object; of two in the order of addresses
//   scoped      std::scoped_lock of this library's mutexes
//   atomic      an atomic addition for each update
//   privatised  a copy a thread, added up at the end (5.4.2)
//   elided      this library's mutex for each bin; of two one after the other
//   lockset     both as one set (5.2.1)
//   trylock     each is tried; if one is held, those taken are given back, and all are waited for (Listing 1)
//   region      four items in one region (static coarsening, Listing 2)
//   coarse-N    N items a transaction (dynamic coarsening, Listing 3); coarse-0 adapts
//   coarse1-N   the same under one mutex for everything, as in the paper
//
// Prints one line; exit code 1 and a line "LOST ..." if the result is wrong, 2 for bad words.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "elision/elision.hpp"

namespace {

constexpr int kPlaces = 24;  // bins, or objects
constexpr int kItemsOfARegion = 4;

/// An item: what it adds to one place and takes from another. A histogram's has no other.
struct Item {
  int place;
  int other;  // -1: none
  int amount;
};

struct alignas(64) Place {
  volatile std::int64_t value = 0;
  std::atomic<std::int64_t> atomic{0};
  std::mutex mutex;
  elision::mutex elided;
};

Place places[kPlaces];
elision::mutex one_for_all;

/// A wide window between load and store.
void add(volatile std::int64_t& value, std::int64_t amount) {
  const std::int64_t seen = value;
  for (int i = 0; i < 10; ++i) asm volatile("" : : : "memory");
  value = seen + amount;
}

void apply(const Item& item) {
  add(places[item.place].value, item.amount);
  if (item.other >= 0) add(places[item.other].value, -item.amount);
}

std::vector<Item> draw_items(bool pairs, int count, std::uint64_t seed) {
  elision::Random random(seed);
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    Item item{static_cast<int>(random.below(kPlaces)), -1, 1 + static_cast<int>(random.below(9))};
    if (pairs) item.other = static_cast<int>((item.place + 1 + random.below(kPlaces - 1)) % kPlaces);
    items.push_back(item);
  }
  return items;
}

// ---- One item under locks of its own.

template <std::mutex Place::* kMutex>
void under_locks(const Item& item) {
  if (item.other < 0) {
    const std::lock_guard lock(places[item.place].*kMutex);
    apply(item);
    return;
  }
  const std::lock_guard first(places[std::min(item.place, item.other)].*kMutex);
  const std::lock_guard second(places[std::max(item.place, item.other)].*kMutex);
  apply(item);
}

void scoped(const Item& item) {
  if (item.other < 0) {
    const std::scoped_lock lock(places[item.place].elided);
    apply(item);
  } else {
    const std::scoped_lock lock(places[item.place].elided, places[item.other].elided);
    apply(item);
  }
}

void elided(const Item& item) {
  if (item.other < 0) return scoped(item);
  const std::lock_guard first(places[std::min(item.place, item.other)].elided);
  const std::lock_guard second(places[std::max(item.place, item.other)].elided);
  apply(item);
}

void lockset(const Item& item) {
  if (item.other < 0) {
    const elision::lockset set(places[item.place].elided);
    apply(item);
  } else {
    const elision::lockset set(places[item.place].elided, places[item.other].elided);
    apply(item);
  }
}

/// Both tries and, where it comes to that, both sections are one transaction.
void trylock(const Item& item) {
  elision::mutex& first = places[item.place].elided;
  if (first.try_lock()) {
    const bool both = item.other < 0 || places[item.other].elided.try_lock();
    if (both) {
      apply(item);
      if (item.other >= 0) places[item.other].elided.unlock();
    }
    first.unlock();
    if (both) return;
  }
  lockset(item);
}

void atomically(const Item& item) {
  places[item.place].atomic += item.amount;
  if (item.other >= 0) places[item.other].atomic -= item.amount;
}

// ---- A thread's items.

using OneItem = void (*)(const Item&);

template <OneItem kApply>
void one_by_one(const std::vector<Item>& items, std::uint32_t) {
  for (const Item& item : items) kApply(item);
}

void privatised(const std::vector<Item>& items, std::uint32_t) {
  std::int64_t mine[kPlaces] = {};
  for (const Item& item : items) {
    mine[item.place] += item.amount;
    if (item.other >= 0) mine[item.other] -= item.amount;
  }
  for (int i = 0; i < kPlaces; ++i) places[i].atomic += mine[i];
}

void in_regions(const std::vector<Item>& items, std::uint32_t) {
  for (std::size_t i = 0; i < items.size();) {
    const elision::region region;
    for (int j = 0; j < kItemsOfARegion && i < items.size(); ++j, ++i) lockset(items[i]);
  }
}

void coarsened(const std::vector<Item>& items, std::uint32_t granularity) {
  elision::coarsener coarsener(granularity);
  for (const Item& item : items) {
    if (item.other < 0) {
      const elision::coarsener::lock_guard lock(coarsener, places[item.place].elided);
      apply(item);
    } else {
      const elision::coarsener::section section(coarsener);
      lockset(item);
    }
  }
}

void coarsened_under_one(const std::vector<Item>& items, std::uint32_t granularity) {
  elision::coarsener coarsener(granularity);
  for (const Item& item : items) {
    const elision::coarsener::lock_guard lock(coarsener, one_for_all);
    apply(item);
  }
}

struct Variant {
  const char* name;
  void (*run)(const std::vector<Item>&, std::uint32_t granularity);
  bool has_granularity = false;
};

constexpr Variant kVariants[] = {
    {"none", one_by_one<apply>},
    {"lock", one_by_one<under_locks<&Place::mutex>>},
    {"scoped", one_by_one<scoped>},
    {"atomic", one_by_one<atomically>},
    {"privatised", privatised},
    {"elided", one_by_one<elided>},
    {"lockset", one_by_one<lockset>},
    {"trylock", one_by_one<trylock>},
    {"region", in_regions},
    {"coarse-", coarsened, true},
    {"coarse1-", coarsened_under_one, true},
};

struct Words {
  bool pairs;
  const Variant* variant;
  std::uint32_t granularity = 0;
  int threads, items;
  std::uint64_t seed;
};

bool parse(int argc, char** argv, Words& words) {
  if (argc != 6) return false;
  words.pairs = std::strcmp(argv[1], "physics") == 0;
  if (!words.pairs && std::strcmp(argv[1], "histogram") != 0) return false;
  words.variant = nullptr;
  for (const Variant& variant : kVariants) {
    const std::size_t length = std::strlen(variant.name);
    if (variant.has_granularity ? std::strncmp(argv[2], variant.name, length) != 0
                                : std::strcmp(argv[2], variant.name) != 0)
      continue;
    words.variant = &variant;
    if (variant.has_granularity) words.granularity = static_cast<std::uint32_t>(std::atoi(argv[2] + length));
  }
  words.threads = std::atoi(argv[3]);
  words.items = std::atoi(argv[4]);
  words.seed = static_cast<std::uint64_t>(std::atoll(argv[5]));
  return words.variant != nullptr && words.threads > 0 && words.items > 0;
}

void run_threads(const Words& words, const std::vector<std::vector<Item>>& items,
                 std::atomic<std::uint64_t>& commits, std::atomic<std::uint64_t>& fallbacks) {
  std::atomic<int> missing{words.threads};
  std::vector<std::thread> threads;
  for (int t = 0; t < words.threads; ++t) {
    threads.emplace_back([&, t] {
      --missing;
      while (missing > 0) std::this_thread::yield();
      words.variant->run(items[static_cast<std::size_t>(t)], words.granularity);
      const elision_counts counts = elision::thread_counts();
      commits += counts.commits;
      fallbacks += counts.fallbacks;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// How far the places are from what one thread computes.
std::uint64_t count_lost(const std::vector<std::vector<Item>>& items) {
  std::int64_t expected[kPlaces] = {};
  for (const std::vector<Item>& of_thread : items) {
    for (const Item& item : of_thread) {
      expected[item.place] += item.amount;
      if (item.other >= 0) expected[item.other] -= item.amount;
    }
  }
  std::uint64_t lost = 0;
  for (int i = 0; i < kPlaces; ++i)
    lost += static_cast<std::uint64_t>(std::abs(expected[i] - places[i].value - places[i].atomic));
  return lost;
}

}  // namespace

int main(int argc, char** argv) {
  Words words;
  if (!parse(argc, argv, words)) {
    std::fprintf(stderr, "usage: micro_programs histogram|physics VARIANT THREADS ITEMS SEED\n");
    return 2;
  }
  std::vector<std::vector<Item>> items;
  for (int t = 0; t < words.threads; ++t)
    items.push_back(draw_items(words.pairs, words.items, words.seed * 1000 + static_cast<unsigned>(t)));
  std::atomic<std::uint64_t> commits{0}, fallbacks{0};
  run_threads(words, items, commits, fallbacks);
  const std::uint64_t lost = count_lost(items);
  std::printf("%s %s: commits %llu, fallbacks %llu\n", argv[1], argv[2],
              static_cast<unsigned long long>(commits), static_cast<unsigned long long>(fallbacks));
  if (lost != 0) std::printf("LOST %llu\n", static_cast<unsigned long long>(lost));
  return lost == 0 ? 0 : 1;
}
