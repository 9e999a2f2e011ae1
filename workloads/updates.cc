// SPDX-License-Identifier: Apache-2.0
// Threads update shared numbers, synchronised in every way that the TSX paper compares (sections 5.1 to 5.4).
//
//   histogram   threads count random items in bins
//   physics     threads add opposite forces to random pairs of objects (half of the pairs have one of a few
//               objects)
//
//   none        no synchronisation: updates must be lost
//   lock        a std::mutex for each place (a bin or an object), taken in the order of addresses
//   scoped      std::scoped_lock of this library's mutexes
//   atomic      an atomic addition for each update
//   privatised  a copy per thread; at the end each thread adds up a share of the places (5.4.2)
//   barrier     groups of items without common places, with a barrier after each (5.4.2); forming the groups
//               is not counted
//   elided      this library's mutex for each place, one after the other
//   lockset     both as one set (5.2.1)
//   trylock     both are tried; if one is held, the other is released, and both are waited for (Listing 1)
//   region      four items in one region (static coarsening, Listing 2)
//   coarse-N    N items per transaction (dynamic coarsening, Listing 3); coarse-0 adapts
//   coarse1-N   the same under one mutex for all places, as in the paper
//
// --items is the total of all threads. The result is compared with that of one thread: "LOST ..." and exit
// code 1 if it differs.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "command_line.h"
#include "conflict_free.h"
#include "elision/elision.hpp"
#include "support.h"

namespace {

using workloads::CheapRandom;
using workloads::now_ns;

constexpr std::size_t kItemsOfARegion = 4;
constexpr std::uint32_t kHotObjects = 4;

struct Options {
  std::string kernel = "histogram";
  std::string variant = "atomic";
  unsigned threads = 1;
  std::uint32_t items = 20000;
  std::uint32_t places = 1024;
  unsigned window = 0;
  std::uint64_t seed = 1;
};

/// An item adds to one place and subtracts from another. A histogram's item has only one place.
struct Item {
  std::uint32_t place;
  std::uint32_t other;
  std::int64_t amount;
};
constexpr std::uint32_t kNone = UINT32_MAX;
using Items = std::span<const Item>;

struct alignas(64) Mutex {
  std::mutex mutex;
};

/// Shared by all threads. Bins are adjacent, objects have a line each.
struct World {
  explicit World(const Options& given)
      : options(given),
        stride(given.kernel == "histogram" ? 1 : 8),
        values(std::size_t{given.places} * stride),
        mutexes(given.places),
        elided(given.places),
        copies(given.threads) {
    pthread_barrier_init(&barrier, nullptr, given.threads);
  }

  std::int64_t& value(std::uint32_t place) { return values[std::size_t{place} * stride]; }

  const Options options;
  const std::uint32_t stride;
  std::vector<std::int64_t> values;
  std::vector<Mutex> mutexes;
  std::vector<elision::mutex> elided;
  elision::mutex one_for_all;
  pthread_barrier_t barrier;
  std::vector<std::vector<std::int64_t>> copies;  // of each thread
  std::vector<std::vector<Item>> groups;          // the items of a group have no common place
};

/// A thread's part of the work.
struct Part {
  World& world;
  unsigned thread;
  Items items;
  std::uint32_t granularity;

  /// This thread's share of `count` things.
  workloads::Share share(std::size_t count) const {
    return workloads::share_of(count, thread, world.options.threads);
  }
};

/// A load and, after a window, a store, not one instruction: an update in between is lost.
void add(World& world, std::uint32_t place, std::int64_t amount) {
  volatile std::int64_t& value = world.value(place);
  const std::int64_t seen = value;
  for (unsigned i = 0; i < world.options.window; ++i) asm volatile("" : : : "memory");
  value = static_cast<std::int64_t>(static_cast<std::uint64_t>(seen) + static_cast<std::uint64_t>(amount));
}

void apply(World& world, const Item& item) {
  add(world, item.place, item.amount);
  if (item.other != kNone) add(world, item.other, -item.amount);
}

// ---- One item under locks of its own.

/// Under both locks of a pair, in the order of addresses.
template <class Locks>
void under_locks(Locks mutex_of, World& world, const Item& item) {
  const std::lock_guard first(mutex_of(std::min(item.place, item.other)));
  if (item.other == kNone) return apply(world, item);
  const std::lock_guard second(mutex_of(std::max(item.place, item.other)));
  apply(world, item);
}

void locked(World& world, const Item& item) {
  under_locks(
      [&](std::uint32_t place) -> auto& { return world.mutexes[place].mutex; }, world, item);
}

void elided(World& world, const Item& item) {
  under_locks(
      [&](std::uint32_t place) -> auto& { return world.elided[place]; }, world, item);
}

struct Scoped {
  static auto take(auto&... mutexes) { return std::scoped_lock(mutexes...); }
};
struct AsOneSet {
  static auto take(auto&... mutexes) { return elision::lockset(mutexes...); }
};

template <class How>
void together(World& world, const Item& item) {
  if (item.other == kNone) {
    const auto lock = How::take(world.elided[item.place]);
    apply(world, item);
  } else {
    const auto lock = How::take(world.elided[item.place], world.elided[item.other]);
    apply(world, item);
  }
}

/// Both tries, and both sections if needed, are one transaction.
void trylock(World& world, const Item& item) {
  elision::mutex& first = world.elided[item.place];
  if (first.try_lock()) {
    const bool both = item.other == kNone || world.elided[item.other].try_lock();
    if (both) {
      apply(world, item);
      if (item.other != kNone) world.elided[item.other].unlock();
    }
    first.unlock();
    if (both) return;
  }
  together<AsOneSet>(world, item);
}

void atomically(World& world, const Item& item) {
  std::atomic_ref(world.value(item.place)).fetch_add(item.amount, std::memory_order_relaxed);
  if (item.other != kNone)
    std::atomic_ref(world.value(item.other)).fetch_sub(item.amount, std::memory_order_relaxed);
}

// ---- A thread's items.

template <void (*kApply)(World&, const Item&)>
void one_by_one(const Part& part) {
  for (const Item& item : part.items) kApply(part.world, item);
}

void privatised(const Part& part) {
  World& world = part.world;
  std::vector<std::int64_t>& mine = world.copies[part.thread];
  mine.resize(world.options.places);
  for (const Item& item : part.items) {
    mine[item.place] += item.amount;
    if (item.other != kNone) mine[item.other] -= item.amount;
  }
  pthread_barrier_wait(&world.barrier);
  workloads::add_up_copies(
      world.copies, part.share(world.options.places),
      [&](std::size_t place, std::int64_t sum) { world.value(static_cast<std::uint32_t>(place)) += sum; });
}

void with_barriers(const Part& part) {
  for (const std::vector<Item>& group : part.world.groups) {
    const auto [begin, end] = part.share(group.size());
    for (std::size_t i = begin; i < end; ++i) apply(part.world, group[i]);
    pthread_barrier_wait(&part.world.barrier);
  }
}

void in_regions(const Part& part) {
  for (std::size_t i = 0; i < part.items.size();) {
    const elision::region region;
    for (std::size_t j = 0; j < kItemsOfARegion && i < part.items.size(); ++j, ++i)
      together<AsOneSet>(part.world, part.items[i]);
  }
}

void coarsened(const Part& part) {
  elision::coarsener coarsener(part.granularity);
  for (const Item& item : part.items) {
    if (item.other == kNone) {
      const elision::coarsener::lock_guard lock(coarsener, part.world.elided[item.place]);
      apply(part.world, item);
    } else {
      const elision::coarsener::section section(coarsener);
      together<AsOneSet>(part.world, item);
    }
  }
}

void coarsened_under_one(const Part& part) {
  elision::coarsener coarsener(part.granularity);
  for (const Item& item : part.items) {
    const elision::coarsener::lock_guard lock(coarsener, part.world.one_for_all);
    apply(part.world, item);
  }
}

struct Variant {
  const char* name;  // with '-' at its end: a granularity follows
  void (*run)(const Part& part);
};

constexpr Variant kVariants[] = {
    {"none", one_by_one<apply>},
    {"lock", one_by_one<locked>},
    {"scoped", one_by_one<together<Scoped>>},
    {"atomic", one_by_one<atomically>},
    {"privatised", privatised},
    {"barrier", with_barriers},
    {"elided", one_by_one<elided>},
    {"lockset", one_by_one<together<AsOneSet>>},
    {"trylock", one_by_one<trylock>},
    {"region", in_regions},
    {"coarse-", coarsened},
    {"coarse1-", coarsened_under_one},
};

/// Returns the variant of that name and sets its granularity, or returns null if no variant has that name.
const Variant* find_variant(const std::string& name, std::uint32_t& granularity) {
  const std::size_t length = name.find('-') == std::string::npos ? name.size() : name.find('-') + 1;
  const auto found = std::ranges::find(kVariants, name.substr(0, length), &Variant::name);
  if (found == std::end(kVariants)) return nullptr;
  if (name[length - 1] != '-') return found;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + length, end, granularity);
  return error == std::errc{} && rest == end ? found : nullptr;
}

// ---- The work.

std::vector<Item> draw_items(const Options& options) {
  CheapRandom random(options.seed);
  std::vector<Item> items(options.items);
  for (Item& item : items) {
    item = {random.below(options.places), kNone, 1 + random.below(9)};
    if (options.kernel == "histogram") continue;
    const std::uint32_t among = random.below(2) == 0 ? std::min(kHotObjects, options.places) : options.places;
    item.other = random.below(among);
    if (item.other == item.place) item.other = (item.place + 1) % options.places;
  }
  return items;
}

std::vector<std::vector<Item>> form_groups(const Options& options, Items items) {
  return workloads::form_groups(items, options.places, [](const Item& item) {
    return std::array{item.place, item.other == kNone ? item.place : item.other};
  });
}

struct Result {
  std::uint64_t start_ns, end_ns;
  elision_counts counts;
};

/// Runs the threads and returns their results.
std::vector<Result> run_threads(World& world, Items items, const Variant& variant,
                                std::uint32_t granularity) {
  std::vector<Result> results(world.options.threads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < world.options.threads; ++t) {
    threads.emplace_back([&, t] {
      workloads::pin_to(t);
      Part part{world, t, {}, granularity};
      const auto [begin, end] = part.share(items.size());
      part.items = items.subspan(begin, end - begin);
      pthread_barrier_wait(&world.barrier);
      results[t].start_ns = now_ns();
      variant.run(part);
      results[t].end_ns = now_ns();
      results[t].counts = elision::thread_counts();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

/// How much the places differ, in total, from the result of one thread.
std::uint64_t count_lost(World& world, Items items) {
  std::vector<std::int64_t> expected(world.options.places);
  for (const Item& item : items) {
    expected[item.place] += item.amount;
    if (item.other != kNone) expected[item.other] -= item.amount;
  }
  std::uint64_t lost = 0;
  for (std::uint32_t place = 0; place < world.options.places; ++place)
    lost += static_cast<std::uint64_t>(std::abs(expected[place] - world.value(place)));
  return lost;
}

int report(World& world, Items items, const std::vector<Result>& results) {
  std::uint64_t start = UINT64_MAX, end = 0, commits = 0, fallbacks = 0;
  for (const Result& result : results) {
    start = std::min(start, result.start_ns);
    end = std::max(end, result.end_ns);
    commits += result.counts.commits;
    fallbacks += result.counts.fallbacks;
  }
  const double seconds = static_cast<double>(end - start) / 1e9;
  std::printf("commits: %" PRIu64 "\n", commits);
  std::printf("fallbacks: %" PRIu64 "\n", fallbacks);
  if (world.options.variant == "barrier") std::printf("groups: %zu\n", world.groups.size());
  std::printf("seconds: %.6f\n", seconds);
  std::printf("throughput: %.1f items/s\n", static_cast<double>(items.size()) / seconds);
  const std::uint64_t lost = count_lost(world, items);
  if (lost == 0) return 0;
  std::printf("LOST %" PRIu64 "\n", lost);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("updates", "Updates of shared numbers, synchronised in many ways");
  line.add("--kernel", options.kernel).one_of({"histogram", "physics"});
  line.add("--variant", options.variant,
           "none, lock, scoped, atomic, privatised, barrier, elided, lockset, trylock, region, coarse-N or "
           "coarse1-N");
  line.add("--threads", options.threads).within(1, 1024);
  line.add("--items", options.items, "of all threads together").within(1, 1 << 30);
  line.add("--places", options.places, "bins, or objects").within(2, 1 << 24);
  line.add("--window", options.window, "turns of an empty loop between the load and the store of an update");
  line.add("--seed", options.seed);
  if (const auto code = line.parse(argc, argv)) return *code;
  std::uint32_t granularity = 0;
  const Variant* const variant = find_variant(options.variant, granularity);
  if (variant == nullptr) return line.refuse("--variant: there is no variant " + options.variant);
  World world(options);
  const std::vector<Item> items = draw_items(options);
  if (options.variant == "barrier") world.groups = form_groups(options, items);
  return report(world, items, run_threads(world, items, *variant, granularity));
}
