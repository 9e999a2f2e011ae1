// SPDX-License-Identifier: Apache-2.0
// Contended locks: sections per second, in rounds in which the two sides take turns, and the longest wait, in
// separate rounds, since reading the clock would lengthen a section.
//
// A section writes one counter before its work and one after it. A thread that overlaps with a writer sees
// them differ.
#include <pthread.h>
#include <sched.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "base/usable_cpus.h"
#include "lock_costs/groups.h"
#include "lock_costs/ratios.h"
#include "support.h"

namespace lock_costs {
namespace {

constexpr double kLongSectionNs = 200;
constexpr double kOutsideNs = 200;  // on average, uniform between 0 and twice as much
constexpr unsigned kThreadsPerCpu = 8;
// Where threads also wait for a CPU, a wait can be longer than a normal round.
constexpr int kWaitRoundLength = 10;
constexpr int kOversubscribedRoundLength = 5;

/// A chain of multiplications, for a given time on an idle CPU.
inline void work(std::uint32_t steps) {
  std::uint64_t value = steps;
  for (std::uint32_t i = 0; i < steps; ++i) {
    value = value * 6364136223846793005u + 1;
    __asm__ volatile("" : "+r"(value));
  }
}

/// Nanoseconds per step: the fastest of many trials, since other work only slows down.
double measure_step_ns() {
  constexpr std::uint32_t kSteps = 100000;
  double fastest = 1e9;
  for (int i = 0; i < 30; ++i) {
    const std::uint64_t start = workloads::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work(kSteps);
    fastest = std::min(fastest, static_cast<double>(workloads::clock_ns(CLOCK_THREAD_CPUTIME_ID) - start));
  }
  return std::max(fastest, 1.0) / kSteps;
}

struct Kind {
  bool is_rwlock;
  std::uint32_t writers_percent;
  bool is_long;
};

std::string name_of(const Kind& kind) {
  const std::string lock =
      kind.is_rwlock ? "rwlock-" + std::to_string(kind.writers_percent) + "-writers" : "mutex";
  return lock + (kind.is_long ? " 200ns" : " short");
}

/// One side's locks and their data, each on lines of its own.
struct Protected {
  Protected(const Functions& functions, bool may_be_elided) : side(functions) {
    init_mutex(side, mutex, PTHREAD_MUTEX_NORMAL, may_be_elided);
    side.rwlock.init(&rwlock, nullptr);
  }

  const Functions side;
  alignas(128) pthread_mutex_t mutex;
  alignas(128) pthread_rwlock_t rwlock;
  alignas(128) volatile std::uint64_t first = 0;
  volatile std::uint64_t second = 0;
};

struct alignas(128) ThreadCount {
  std::uint64_t sections = 0;
  std::uint64_t writes = 0;
  std::uint64_t torn = 0;
  std::uint64_t longest_wait_ticks = 0;
};

/// The threads for all rounds of one kind of contention.
class Contest {
 public:
  Contest(const Sides& sides, const Kind& kind, unsigned threads)
      : kind_(kind), preloaded_(sides.preloaded, true), glibc_(sides.glibc, false), counts_(threads) {
    pthread_barrier_init(&barrier_, nullptr, threads + 1);
    const double step_ns = measure_step_ns();
    section_steps_ = kind.is_long ? static_cast<std::uint32_t>(kLongSectionNs / step_ns) : 0;
    outside_steps_ = static_cast<std::uint32_t>(2 * kOutsideNs / step_ns) + 1;
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run_rounds(i); });
  }

  ~Contest() {
    is_over_ = true;
    pthread_barrier_wait(&barrier_);
    for (std::thread& thread : threads_) thread.join();
  }

  Protected& preloaded() { return preloaded_; }
  Protected& glibc() { return glibc_; }

  /// Sections per second.
  double throughput(Protected& locks, int milliseconds) {
    const double seconds = round(locks, milliseconds, false);
    std::uint64_t sections = 0;
    for (const ThreadCount& count : counts_) sections += count.sections;
    return static_cast<double>(sections) / seconds;
  }

  /// The longest wait in microseconds, for a lock or for a CPU.
  double longest_wait(Protected& locks, int milliseconds) {
    const std::uint64_t start = __rdtsc();
    const double seconds = round(locks, milliseconds, true);
    const double ticks_per_us = static_cast<double>(__rdtsc() - start) / seconds / 1e6;
    std::uint64_t longest = 0;
    for (const ThreadCount& count : counts_) longest = std::max(longest, count.longest_wait_ticks);
    return static_cast<double>(longest) / ticks_per_us;
  }

  /// Whether every writer was alone in its section.
  bool excluded() const { return excluded_; }

 private:
  /// Runs all threads until the time is up and each has finished its last section. Returns seconds.
  double round(Protected& locks, int milliseconds, bool times_waits) {
    locks_ = &locks;
    times_waits_ = times_waits;
    stop_ = false;
    for (ThreadCount& count : counts_) count = {};
    const std::uint64_t writes_before = locks.first;
    pthread_barrier_wait(&barrier_);
    const std::uint64_t start = workloads::now_ns();
    const timespec length{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
    nanosleep(&length, nullptr);
    stop_ = true;
    pthread_barrier_wait(&barrier_);
    const std::uint64_t end = workloads::now_ns();
    check(locks, writes_before);
    return static_cast<double>(end - start) / 1e9;
  }

  void check(const Protected& locks, std::uint64_t writes_before) {
    std::uint64_t writes = writes_before;
    for (const ThreadCount& count : counts_) {
      writes += count.writes;
      excluded_ = excluded_ && count.torn == 0;
    }
    excluded_ = excluded_ && locks.first == writes && locks.second == writes;
  }

  void run_rounds(unsigned index) {
    workloads::pin_to(index);
    workloads::CheapRandom random(index + 1);
    while (true) {
      pthread_barrier_wait(&barrier_);
      if (is_over_) return;
      // Counts in a local variable, to avoid contention for the threads' counts.
      ThreadCount count;
      do {
        if (times_waits_)
          section<true>(*locks_, random, count);
        else
          section<false>(*locks_, random, count);
      } while (!stop_.load(std::memory_order_relaxed));
      counts_[index] = count;
      pthread_barrier_wait(&barrier_);
    }
  }

  template <bool kTimesWaits>
  void section(Protected& locks, workloads::CheapRandom& random, ThreadCount& count) {
    work(random.below(outside_steps_));
    const bool writes = !kind_.is_rwlock || random.below(100) < kind_.writers_percent;
    const std::uint64_t asked = kTimesWaits ? __rdtsc() : 0;
    if (!kind_.is_rwlock)
      locks.side.mutex.lock(&locks.mutex);
    else if (writes)
      locks.side.rwlock.wrlock(&locks.rwlock);
    else
      locks.side.rwlock.rdlock(&locks.rwlock);
    const std::uint64_t got = kTimesWaits ? __rdtsc() : 0;
    const std::uint64_t first = locks.first;
    if (writes) locks.first = first + 1;
    work(section_steps_);
    const std::uint64_t second = locks.second;
    if (writes) locks.second = second + 1;
    if (!kind_.is_rwlock)
      locks.side.mutex.unlock(&locks.mutex);
    else
      locks.side.rwlock.unlock(&locks.rwlock);
    ++count.sections;
    count.writes += writes;
    count.torn += first != second;
    count.longest_wait_ticks = std::max(count.longest_wait_ticks, got - asked);
  }

  const Kind kind_;
  Protected preloaded_;
  Protected glibc_;
  std::uint32_t section_steps_ = 0;
  std::uint32_t outside_steps_ = 0;
  std::vector<ThreadCount> counts_;
  std::vector<std::thread> threads_;
  pthread_barrier_t barrier_;
  // State of a round, set while all threads wait at the barrier.
  Protected* locks_ = nullptr;
  bool times_waits_ = false;
  bool is_over_ = false;
  bool excluded_ = true;
  alignas(128) std::atomic<bool> stop_{false};
};

/// Prints one kind's line.
bool measure(const Sides& sides, const char* group, const Kind& kind, unsigned threads, int pairs,
             int milliseconds, int wait_milliseconds) {
  Contest contest(sides, kind, threads);
  contest.throughput(contest.preloaded(), 1);  // uncounted, as is the first of the other side
  contest.throughput(contest.glibc(), 1);
  const Ratio ratio = ratio_in_turns(
      pairs, [&] { return contest.throughput(contest.preloaded(), milliseconds); },
      [&] { return contest.throughput(contest.glibc(), milliseconds); });
  double preloaded_wait = 0, glibc_wait = 0;
  for (int i = 0; i < (pairs + 7) / 8; ++i) {
    preloaded_wait = std::max(preloaded_wait, contest.longest_wait(contest.preloaded(), wait_milliseconds));
    glibc_wait = std::max(glibc_wait, contest.longest_wait(contest.glibc(), wait_milliseconds));
  }
  std::printf("%s %s: %.6g %.6g %.6g %.1f %.1f\n", group, name_of(kind).c_str(), ratio.median,
              ratio.lower_quartile, ratio.upper_quartile, preloaded_wait, glibc_wait);
  std::fflush(stdout);
  if (!contest.excluded()) std::printf("%s %s: LOST exclusion\n", group, name_of(kind).c_str());
  return contest.excluded();
}

bool is_replaced(const Sides& sides, const Kind& kind) {
  return kind.is_rwlock ? sides.preloaded.rwlock != sides.glibc.rwlock
                        : sides.preloaded.mutex != sides.glibc.mutex;
}

}  // namespace

bool measure_contended(const Sides& sides, const Settings& settings) {
  constexpr Kind kKinds[] = {{false, 100, false}, {false, 100, true}, {true, 0, false},   {true, 0, true},
                             {true, 10, false},   {true, 10, true},   {true, 100, false}, {true, 100, true}};
  bool excluded = true;
  for (const Kind& kind : kKinds) {
    if (!is_replaced(sides, kind) && !sides.nothing_preloaded()) continue;
    excluded &= measure(sides, "contended", kind, elision::usable_cpus(), settings.pairs,
                        settings.milliseconds, kWaitRoundLength * settings.milliseconds);
  }
  return excluded;
}

bool measure_oversubscribed(const Sides& sides, const Settings& settings) {
  constexpr Kind kKinds[] = {{false, 100, false}, {false, 100, true}};
  bool excluded = true;
  for (const Kind& kind : kKinds) {
    if (!is_replaced(sides, kind) && !sides.nothing_preloaded()) continue;
    excluded &= measure(sides, "oversubscribed", kind, kThreadsPerCpu * elision::usable_cpus(),
                        std::max(3, settings.pairs / 3), kOversubscribedRoundLength * settings.milliseconds,
                        kWaitRoundLength * settings.milliseconds);
  }
  return excluded;
}

}  // namespace lock_costs
