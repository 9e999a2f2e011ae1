// SPDX-License-Identifier: Apache-2.0
// Locks and lock sets beside the standard's, coarsened additions beside atomic ones (README.md; TSX
// paper, 5.2).
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/usable_cpus.h"
#include "command_line.h"
#include "elision/elision.hpp"
#include "lock_costs/ratios.h"
#include "support.h"

namespace {

struct Settings {
  int pairs = 30;
  int operations = 20000;  // of a thread in a round
  unsigned threads = 0;    // 0: one per CPU
};

void add_one(volatile std::uint64_t& value) { value = value + 1; }

// ---- Lock sets.

constexpr std::uint32_t kLocks = 64;
constexpr int kReadsOfAWrite = 16;

template <class Mutex>
struct alignas(64) Guarded {
  Mutex mutex;
  volatile std::uint64_t value = 0;
};

template <class Mutex>
std::array<Guarded<Mutex>, kLocks> guarded;

/// Calls `use` with kCount consecutive members, from a random one on.
template <class Mutex, std::size_t... kIndex, class Use>
void draw(workloads::CheapRandom& random, std::index_sequence<kIndex...>, Use use) {
  const std::uint32_t first = random.below(kLocks);
  use(guarded<Mutex>[(first + 7 * kIndex) % kLocks]...);
}

template <std::size_t kCount>
void add_under_lockset(int count, workloads::CheapRandom& random) {
  for (int i = 0; i < count; ++i) {
    draw<elision::mutex>(random, std::make_index_sequence<kCount>(), [](auto&... members) {
      const elision::lockset set(members.mutex...);
      (add_one(members.value), ...);
    });
  }
}

template <std::size_t kCount>
void add_under_scoped_lock(int count, workloads::CheapRandom& random) {
  for (int i = 0; i < count; ++i) {
    draw<std::mutex>(random, std::make_index_sequence<kCount>(), [](auto&... members) {
      const std::scoped_lock set(members.mutex...);
      (add_one(members.value), ...);
    });
  }
}

template <class Mutex>
std::uint64_t sum_of_guarded() {
  std::uint64_t sum = 0;
  for (const Guarded<Mutex>& member : guarded<Mutex>) sum += member.value;
  return sum;
}

// ---- Coarsening.

constexpr std::uint32_t kBins = 4096;

std::array<volatile std::uint64_t, kBins> bins;
std::array<std::atomic<std::uint64_t>, kBins> atomic_bins;
elision::mutex histogram;

template <std::uint32_t kGranularity>
void add_coarsened(int count, workloads::CheapRandom& random) {
  elision::coarsener coarsener(kGranularity);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t bin = random.below(kBins);
    const elision::coarsener::lock_guard lock(coarsener, histogram);
    add_one(bins[bin]);
  }
}

void add_elided(int count, workloads::CheapRandom& random) {
  for (int i = 0; i < count; ++i) {
    const std::uint32_t bin = random.below(kBins);
    const std::lock_guard lock(histogram);
    add_one(bins[bin]);
  }
}

void add_atomically(int count, workloads::CheapRandom& random) {
  for (int i = 0; i < count; ++i) atomic_bins[random.below(kBins)].fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t sum_of_bins() {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < kBins; ++i) sum += bins[i];
  return sum;
}

// ---- One lock at a time.

template <class Mutex>
void add_under_lock(int count, workloads::CheapRandom& random) {
  for (int i = 0; i < count; ++i) {
    Guarded<Mutex>& member = guarded<Mutex>[random.below(kLocks)];
    const std::lock_guard lock(member.mutex);
    add_one(member.value);
  }
}

/// One addition in 16 operations; the others read.
template <class Mutex>
void read_mostly(int count, workloads::CheapRandom& random) {
  for (int i = 0; i < count; ++i) {
    Guarded<Mutex>& member = guarded<Mutex>[random.below(kLocks)];
    if (i % kReadsOfAWrite == 0) {
      const std::lock_guard lock(member.mutex);
      add_one(member.value);
    } else {
      const std::shared_lock lock(member.mutex);
      (void)member.value;
    }
  }
}

// ---- Measuring.

struct Item {
  const char* group;
  const char* name;
  void (*ours)(int count, workloads::CheapRandom&);
  void (*theirs)(int count, workloads::CheapRandom&);
  std::uint64_t (*sum)();   // of our side's additions
  std::uint64_t additions;  // of one operation
  std::uint64_t operations_of_an_addition = 1;
};

template <std::size_t kCount>
constexpr Item lockset_item(const char* name) {
  return {"lockset",
          name,
          add_under_lockset<kCount>,
          add_under_scoped_lock<kCount>,
          sum_of_guarded<elision::mutex>,
          kCount};
}
template <std::uint32_t kGranularity>
constexpr Item coarse_item(const char* name) {
  return {"coarsening", name, add_coarsened<kGranularity>, add_atomically, sum_of_bins, 1};
}

constexpr Item kItems[] = {
    {"lock", "mutex", add_under_lock<elision::mutex>, add_under_lock<std::mutex>,
     sum_of_guarded<elision::mutex>, 1},
    {"lock", "shared_mutex", read_mostly<elision::shared_mutex>, read_mostly<std::shared_mutex>,
     sum_of_guarded<elision::shared_mutex>, 1, kReadsOfAWrite},
    lockset_item<2>("2"),
    lockset_item<3>("3"),
    lockset_item<4>("4"),
    lockset_item<6>("6"),
    lockset_item<8>("8"),
    {"coarsening", "elided", add_elided, add_atomically, sum_of_bins, 1},
    coarse_item<1>("1"),
    coarse_item<2>("2"),
    coarse_item<4>("4"),
    coarse_item<8>("8"),
    coarse_item<16>("16"),
    coarse_item<32>("32"),
    coarse_item<64>("64"),
    coarse_item<ELISION_COARSENER_ADAPTS>("adapts"),
};

/// Threads that run rounds of a fixed number of operations each.
class Crew {
 public:
  Crew(const Item& item, unsigned threads, int operations) : item_(item), operations_(operations) {
    pthread_barrier_init(&barrier_, nullptr, threads + 1);
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run_rounds(i); });
  }
  ~Crew() {
    is_over_ = true;
    pthread_barrier_wait(&barrier_);
    for (std::thread& thread : threads_) thread.join();
  }

  /// Operations per nanosecond.
  double throughput(bool ours) {
    ours_ = ours;
    pthread_barrier_wait(&barrier_);
    const std::uint64_t start = workloads::now_ns();
    pthread_barrier_wait(&barrier_);
    return static_cast<double>(threads_.size()) * operations_ /
           static_cast<double>(workloads::now_ns() - start);
  }

 private:
  void run_rounds(unsigned index) {
    workloads::pin_to(index);
    workloads::CheapRandom random(index + 1);
    while (true) {
      pthread_barrier_wait(&barrier_);
      if (is_over_) return;
      (ours_ ? item_.ours : item_.theirs)(operations_, random);
      pthread_barrier_wait(&barrier_);
    }
  }

  const Item item_;
  const int operations_;
  std::vector<std::thread> threads_;
  pthread_barrier_t barrier_;
  // State of a round, set while all threads wait at the barrier.
  bool ours_ = false;
  bool is_over_ = false;
};

void print(const Item& item, const char* how, const lock_costs::Ratio& ratio) {
  std::printf("%s %s %s: %.4f %.4f %.4f\n", item.group, item.name, how, ratio.median, ratio.lower_quartile,
              ratio.upper_quartile);
  std::fflush(stdout);
}

double time_alone(void (*run)(int, workloads::CheapRandom&), int operations, workloads::CheapRandom& random) {
  const std::uint64_t start = workloads::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  run(operations, random);
  return static_cast<double>(workloads::clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

/// False: an addition got lost.
bool measure(const Item& item, const Settings& settings) {
  const std::uint64_t before = item.sum();
  Crew crew(item, settings.threads, settings.operations);  // asleep while this thread is alone
  workloads::CheapRandom random(1);
  const auto alone = [&](auto* run) { return time_alone(run, settings.operations, random); };
  alone(item.ours);
  alone(item.theirs);
  print(item, "alone",
        lock_costs::ratio_in_turns(
            settings.pairs, [&] { return alone(item.ours); }, [&] { return alone(item.theirs); }));
  crew.throughput(true);
  crew.throughput(false);
  print(item, "together",
        lock_costs::ratio_in_turns(
            settings.pairs, [&] { return crew.throughput(true); }, [&] { return crew.throughput(false); }));
  const auto rounds = static_cast<std::uint64_t>(settings.pairs + 1) * (settings.threads + 1);
  const std::uint64_t of_a_round = (static_cast<std::uint64_t>(settings.operations) * item.additions +
                                    item.operations_of_an_addition - 1) /
                                   item.operations_of_an_addition;
  const std::uint64_t expected = rounds * of_a_round;
  if (item.sum() - before == expected) return true;
  std::printf("%s %s: LOST additions\n", item.group, item.name);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> groups = {"lock", "lockset", "coarsening"};
  workloads::CommandLine line(
      "apicost",
      "What the locks of libelision-api cost beside the standard's, and coarsening beside atomic additions");
  line.add("--pairs", settings.pairs, "rounds of each side").within(1, 100000);
  line.add("--operations", settings.operations, "of a thread in a round").within(1, 100000000);
  line.add("--threads", settings.threads, "that work together (default: one a CPU)").within(1, 1024);
  line.add("GROUP", groups, "default: all").one_of({"lock", "lockset", "coarsening"});
  if (const auto code = line.parse(argc, argv)) return *code;
  if (settings.threads == 0) settings.threads = elision::usable_cpus();

  bool kept = true;
  for (const Item& item : kItems) {
    if (std::find(groups.begin(), groups.end(), item.group) != groups.end()) kept &= measure(item, settings);
  }
  return kept ? 0 : 1;
}
