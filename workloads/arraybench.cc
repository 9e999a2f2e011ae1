// SPDX-License-Identifier: Apache-2.0
// ArrayBench (Izraelevitz, Xiang, Scott: "Performance Improvement via Always-Abort HTM", II-A and IV-A1):
// threads contend for one mutex and, holding it, write to pseudo-random places of a shared int array.
// arraybench is the program with pthread's mutex, arraybench_tbb and arraybench_ck are the same with locks of
// other libraries.
//
//   --writes      10 or 100 places a section ("small", "large")
//   --contention  high: the section first touches A[0]; low: it does not
//   --opt         with high contention, a speculating thread leaves A[0] out (AAHTM "opt" variant)
//
// A write is an increment, so that a lost update shows: at the end the sum of the array must be the
// number of increments that sections did. Places are drawn before the mutex is taken. Before the
// counted window the threads first spread the array over their caches, as seconds of running would
// (--spread), then run warm-up sections; all begin together, and end together: at the same moment
// (--seconds) or when the common number of sections is used up (--sections). Only the first
// thread looks at the clock, and only now and then: where that is a system call it would end every
// speculation that runs on past unlock.
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "alternative_locks.h"
#include "elision/elision.h"
#include "support.h"

// Which lock the program is built with.
#ifndef ARRAYBENCH_LOCK
#define ARRAYBENCH_LOCK PthreadLock
#endif

namespace {

using workloads::CheapRandom;
using workloads::now_ns;
using workloads::pin_to;
using Lock = workloads::ARRAYBENCH_LOCK;

struct Options {
  unsigned writes = 10;
  std::uint32_t size = 1000000;
  std::string contention = "low";
  bool opt = false;
  unsigned threads = 1;
  double seconds = 1.0;
  std::uint64_t sections = 0;  // in total; 0: run by time
  double spread = 3;           // uncounted writes without the mutex, by all threads, a line of the array
  std::uint64_t warmup = 100;  // sections a thread
  std::uint64_t seed = 1;
  bool no_pin = false;
};

/// What all threads share. The mutex and the array have lines of their own.
struct Bench {
  explicit Bench(const Options& given) : options(given), array(given.size) {
    pthread_barrier_init(&spread, nullptr, given.threads);
    pthread_barrier_init(&barrier, nullptr, given.threads + 1);
  }

  Options options;
  std::vector<int> array;
  pthread_barrier_t spread;
  pthread_barrier_t barrier;
  alignas(128) Lock lock;
  alignas(128) std::atomic<std::uint64_t> deadline_ns{0};
  alignas(128) std::atomic<bool> time_is_up{false};
  alignas(128) std::atomic<std::int64_t> sections_left{0};
};

struct alignas(128) ThreadResult {
  std::uint64_t sections = 0;    // counted window
  std::uint64_t increments = 0;  // warm-up included
  std::uint64_t end_ns = 0;
};

class Worker {
 public:
  Worker(Bench& bench, unsigned index, ThreadResult& result)
      : bench_(bench),
        result_(result),
        keeps_time_(index == 0),
        random_(bench.options.seed * 1000003u + index),
        places_(bench.options.writes) {}

  void run() {
    spread();
    pthread_barrier_wait(&bench_.spread);  // nobody counts on an element that is still being cleared
    for (std::uint64_t i = 0; i < bench_.options.warmup; ++i) section();
    pthread_barrier_wait(&bench_.barrier);  // all are warm: the clock is set
    pthread_barrier_wait(&bench_.barrier);  // all begin
    if (bench_.options.sections != 0) {
      while (take_section()) count_section();
    } else {
      while (!time_is_up()) count_section();
    }
    result_.end_ns = now_ns();
  }

 private:
  bool time_is_up() {
    if (keeps_time_ && result_.sections % kSectionsPerLook == 0 &&
        now_ns() >= bench_.deadline_ns.load(std::memory_order_relaxed)) {
      bench_.time_is_up.store(true, std::memory_order_relaxed);
    }
    return bench_.time_is_up.load(std::memory_order_relaxed);
  }

  bool take_section() { return bench_.sections_left.fetch_sub(1, std::memory_order_relaxed) > 0; }

  /// Leaves lines of the array with this thread's core, as random sections would in the long run; the
  /// elements keep their value, zero.
  void spread() {
    constexpr double kIntsPerLine = 16;
    const double writes = bench_.options.spread * bench_.options.size / kIntsPerLine / bench_.options.threads;
    volatile int* const array = bench_.array.data();
    for (std::uint64_t left = static_cast<std::uint64_t>(writes); left > 0; --left)
      array[random_.below(bench_.options.size)] = 0;
  }

  /// A load, then a store, never one read-modify-write instruction: between the two a section that is not
  /// excluded can do damage that the sum shows.
  static void increment(int& element) {
    volatile int& memory = element;
    const unsigned value = static_cast<unsigned>(memory);
    memory = static_cast<int>(value + 1);
  }

  void count_section() {
    section();
    ++result_.sections;
  }

  void section() {
    for (std::uint32_t& place : places_) place = random_.below(bench_.options.size);
    int* const array = bench_.array.data();
    const bool touches_first = bench_.options.contention == "high";
    {
      const Lock::Guard guard(bench_.lock, own_);
      if (touches_first && !(bench_.options.opt && elision_speculating())) increment(array[0]);
      for (const std::uint32_t place : places_) increment(array[place]);
    }
    result_.increments += places_.size() + (touches_first ? 1 : 0);
  }

  static constexpr std::uint64_t kSectionsPerLook = 8;

  Bench& bench_;
  ThreadResult& result_;
  const bool keeps_time_;
  CheapRandom random_;
  std::vector<std::uint32_t> places_;
  [[no_unique_address]] Lock::PerThread own_;
};

void parse(CLI::App& app, Options& options) {
  app.add_option("--writes", options.writes, "places written in each section")
      ->check(CLI::Range(1u, 1000000u));
  app.add_option("--size", options.size, "ints in the array")->check(CLI::Range(1u, 1u << 31));
  app.add_option("--contention", options.contention, "high: each section first touches A[0]")
      ->check(CLI::IsMember({"low", "high"}));
  app.add_flag("--opt", options.opt, "leave A[0] out while speculating");
  app.add_option("--threads", options.threads)->check(CLI::Range(1u, 1024u));
  auto* seconds = app.add_option("--seconds", options.seconds, "length of the counted window");
  app.add_option("--sections", options.sections, "run this many sections in total instead")
      ->excludes(seconds);
  app.add_option("--spread", options.spread, "uncounted writes without the mutex, a line of the array")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--warmup", options.warmup, "uncounted sections of each thread");
  app.add_option("--seed", options.seed);
  app.add_flag("--no-pin", options.no_pin, "leave threads to the scheduler");
}

/// Runs the threads; returns the length of the counted window in nanoseconds.
std::uint64_t run_threads(Bench& bench, std::vector<ThreadResult>& results) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < bench.options.threads; ++i) {
    threads.emplace_back([&bench, &results, i] {
      if (!bench.options.no_pin) pin_to(i);
      Worker(bench, i, results[i]).run();
    });
  }
  pthread_barrier_wait(&bench.barrier);
  bench.sections_left = static_cast<std::int64_t>(bench.options.sections);
  const std::uint64_t start = now_ns();
  bench.deadline_ns = start + static_cast<std::uint64_t>(bench.options.seconds * 1e9);
  pthread_barrier_wait(&bench.barrier);
  for (std::thread& thread : threads) thread.join();
  std::uint64_t end = start;
  for (const ThreadResult& result : results) end = std::max(end, result.end_ns);
  return end - start;
}

int report(const Bench& bench, const std::vector<ThreadResult>& results, std::uint64_t window_ns) {
  std::uint64_t sections = 0;
  std::uint64_t expected = 0;
  for (const ThreadResult& result : results) {
    sections += result.sections;
    expected += result.increments;
  }
  // An element may wrap around: sums are compared modulo 2^32, by unsigned arithmetic.
  std::uint32_t sum = 0;
  for (const int element : bench.array) sum += static_cast<std::uint32_t>(element);
  const double seconds = static_cast<double>(window_ns) / 1e9;
  std::printf("sections: %" PRIu64 "\n", sections);
  std::printf("seconds: %.6f\n", seconds);
  std::printf("throughput: %.1f sections/s\n", static_cast<double>(sections) / seconds);
  const std::uint32_t lost = static_cast<std::uint32_t>(expected) - sum;
  if (lost == 0) return 0;
  std::printf("LOST %d updates\n", static_cast<int>(lost));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"ArrayBench: pseudo-random writes to a shared array under one mutex"};
  parse(app, options);
  CLI11_PARSE(app, argc, argv);
  if (!Lock::is_usable()) {
    std::puts("this CPU has no RTM");
    return 77;
  }
  const auto bench = std::make_unique<Bench>(options);
  std::vector<ThreadResult> results(options.threads);
  const std::uint64_t window_ns = run_threads(*bench, results);
  return report(*bench, results, window_ns);
}
