// SPDX-License-Identifier: Apache-2.0
// ArrayBench (Izraelevitz, Xiang, Scott: "Performance Improvement via Always-Abort HTM", II-A and IV-A1):
// threads contend for one mutex and, holding it, write to pseudo-random places of a shared int array.
// arraybench uses pthread's mutex; arraybench_tbb and arraybench_ck are the same program with other
// libraries' locks.
//
//   --writes      10 or 100 places per section ("small", "large")
//   --contention  high: the section first touches A[0]; low: it does not
//   --opt         with high contention, a speculating thread leaves A[0] out (AAHTM "opt" variant)
//
// A write is an increment, so that lost updates show: at the end the sum of the array must be the number of
// increments. Places are drawn before the mutex is taken. Before the run
// (timed_sections.h) the threads spread the array over their caches as a long run would (--spread), and run
// warm-up sections.
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "alternative_locks.h"
#include "elision/elision.h"
#include "support.h"
#include "timed_sections.h"

// The lock that the program is built with.
#ifndef ARRAYBENCH_LOCK
#define ARRAYBENCH_LOCK PthreadLock
#endif

namespace {

using workloads::CheapRandom;
using workloads::pin_to;
using Lock = workloads::ARRAYBENCH_LOCK;

struct Options {
  unsigned writes = 10;
  std::uint32_t size = 1000000;
  std::string contention = "low";
  bool opt = false;
  unsigned threads = 1;
  workloads::RunLength length;
  double spread = 3;           // uncounted writes without the mutex, by all threads, per line of the array
  std::uint64_t warmup = 100;  // sections per thread
  std::uint64_t seed = 1;
  bool no_pin = false;
};

/// What all threads share. The mutex and the array have lines of their own.
struct Bench {
  explicit Bench(const Options& given)
      : options(given), array(given.size), sections(given.threads, given.length) {
    pthread_barrier_init(&spread, nullptr, given.threads);
  }

  Options options;
  std::vector<int> array;
  pthread_barrier_t spread;
  alignas(128) Lock lock;
  workloads::TimedSections sections;
};

struct Increments {
  std::uint64_t increments = 0;  // warm-up included
};
using ThreadResult = workloads::ThreadResult<Increments>;

class Worker {
 public:
  Worker(Bench& bench, unsigned index, ThreadResult& result)
      : bench_(bench),
        result_(result),
        index_(index),
        random_(bench.options.seed * 1000003u + index),
        places_(bench.options.writes) {}

  void run() {
    spread();
    pthread_barrier_wait(&bench_.spread);  // no thread increments an element that another still clears
    for (std::uint64_t i = 0; i < bench_.options.warmup; ++i) section();
    bench_.sections.repeat(index_, result_, [this] { section(); });
  }

 private:
  /// Brings lines of the array to this thread's core, as random sections would in the long run. The elements
  /// stay zero.
  void spread() {
    constexpr double kIntsPerLine = 16;
    const double writes = bench_.options.spread * bench_.options.size / kIntsPerLine / bench_.options.threads;
    volatile int* const array = bench_.array.data();
    for (std::uint64_t left = static_cast<std::uint64_t>(writes); left > 0; --left)
      array[random_.below(bench_.options.size)] = 0;
  }

  /// A load and then a store, not one read-modify-write instruction. An overlapping section in between loses
  /// an update, which the sum shows.
  static void increment(int& element) {
    volatile int& memory = element;
    const unsigned value = static_cast<unsigned>(memory);
    memory = static_cast<int>(value + 1);
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

  Bench& bench_;
  ThreadResult& result_;
  const unsigned index_;
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
  auto* seconds = app.add_option("--seconds", options.length.seconds, "length of the counted window");
  app.add_option("--sections", options.length.sections, "run this many sections in total instead")
      ->excludes(seconds);
  app.add_option("--spread", options.spread, "uncounted writes without the mutex, a line of the array")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--warmup", options.warmup, "uncounted sections of each thread");
  app.add_option("--seed", options.seed);
  app.add_flag("--no-pin", options.no_pin, "leave threads to the scheduler");
}

int report(const Bench& bench, const std::vector<ThreadResult>& results, std::uint64_t run_ns) {
  std::uint64_t expected = 0;
  for (const ThreadResult& result : results) expected += result.increments;
  // Elements may wrap around, so sums are compared modulo 2^32.
  std::uint32_t sum = 0;
  for (const int element : bench.array) sum += static_cast<std::uint32_t>(element);
  workloads::print_throughput(results, run_ns);
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
  const std::uint64_t run_ns = bench->sections.run(results, [&bench](unsigned index, ThreadResult& result) {
    if (!bench->options.no_pin) pin_to(index);
    Worker(*bench, index, result).run();
  });
  return report(*bench, results, run_ns);
}
