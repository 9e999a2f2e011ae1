// SPDX-License-Identifier: Apache-2.0
// ArrayBench (Izraelevitz, Xiang, Scott: "Performance Improvement via Always-Abort HTM", II-A and IV-A1):
// threads contend for one mutex and, holding it, write to pseudo-random places of a shared int array.
// arraybench uses pthread's mutex; arraybench_tbb and arraybench_ck are the same program with other
// libraries' locks.
//
//   --writes      10 or 100 places per section ("small", "large")
//   --contention  high: the section first touches A[0]; low: it does not
//   --opt         with high contention, a speculating thread leaves A[0] out (AAHTM "opt" variant)
//   --update      increment: a write is a load and a store of one more; store: a store alone
//
// Increments show lost updates: at the end the sum of the array must be their number. A store writes the
// thread's number. Who overlapped cannot be told at the end, and reading in the counted sections would make
// them other sections. So only the warm-up sections are checked: each reads its places again before it leaves
// the mutex, and all must have its number. Without warm-up, stores are refused.
//
// Places are drawn before the mutex is taken. Before the run (timed_sections.h) the threads spread the array
// over their caches as a long run would (--spread), and run warm-up sections.
#include <pthread.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "alternative_locks.h"
#include "command_line.h"
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
  std::string update = "increment";
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

struct Updates {
  std::uint64_t increments = 0;   // warm-up included
  std::uint64_t overwritten = 0;  // stores of a warm-up section that another section overwrote meanwhile
};
using ThreadResult = workloads::ThreadResult<Updates>;

class Worker {
 public:
  Worker(Bench& bench, unsigned index, ThreadResult& result)
      : bench_(bench),
        result_(result),
        index_(index),
        touches_first_(bench.options.contention == "high"),
        random_(bench.options.seed * 1000003u + index),
        places_(bench.options.writes) {}

  void run() {
    spread();
    pthread_barrier_wait(&bench_.spread);  // no thread increments an element that another still clears
    if (bench_.options.update == "store") {
      const int mine = static_cast<int>(index_) + 1;
      run_sections([mine](int& element) { store(element, mine); }, [this, mine] { check(mine); });
    } else {
      run_sections([](int& element) { increment(element); }, [] {});
    }
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

  template <class Update, class Check>
  void run_sections(Update update, Check check) {
    for (std::uint64_t i = 0; i < bench_.options.warmup; ++i) section(update, check);
    bench_.sections.repeat(index_, result_, [this, update] { section(update, [] {}); });
  }

  /// A load and then a store, not one read-modify-write instruction. An overlapping section in between loses
  /// an update, which the sum shows.
  static void increment(int& element) {
    volatile int& memory = element;
    const unsigned value = static_cast<unsigned>(memory);
    memory = static_cast<int>(value + 1);
  }

  static void store(int& element, int value) {
    volatile int& memory = element;
    memory = value;
  }

  /// Inside a section that has stored `mine`. A speculation may have left A[0] out, but what it counts is
  /// undone.
  void check(int mine) {
    const volatile int* const array = bench_.array.data();
    if (touches_first_) result_.overwritten += array[0] != mine;
    for (const std::uint32_t place : places_) result_.overwritten += array[place] != mine;
  }

  template <class Update, class Check>
  void section(Update update, Check check) {
    for (std::uint32_t& place : places_) place = random_.below(bench_.options.size);
    int* const array = bench_.array.data();
    const bool touches_first = touches_first_;
    {
      const Lock::Guard guard(bench_.lock, own_);
      if (touches_first && !(bench_.options.opt && elision_speculating())) update(array[0]);
      for (const std::uint32_t place : places_) update(array[place]);
      check();
    }
    result_.increments += places_.size() + (touches_first ? 1 : 0);
  }

  Bench& bench_;
  ThreadResult& result_;
  const unsigned index_;
  const bool touches_first_;
  CheapRandom random_;
  std::vector<std::uint32_t> places_;
  [[no_unique_address]] Lock::PerThread own_;
};

void parse(workloads::CommandLine& line, Options& options) {
  line.add("--writes", options.writes, "places written in each section").within(1, 1000000);
  line.add("--size", options.size, "ints in the array").within(1, 1LL << 31);
  line.add("--contention", options.contention, "high: each section first touches A[0]")
      .one_of({"low", "high"});
  line.add_flag("--opt", options.opt, "leave A[0] out while speculating");
  line.add("--update", options.update, "a write is a load and a store of one more, or a store alone")
      .one_of({"increment", "store"});
  line.add("--threads", options.threads).within(1, 1024);
  workloads::add_length(line, options.length);
  line.add("--spread", options.spread, "uncounted writes without the mutex, a line of the array")
      .within_real(0, 1e6);
  line.add("--warmup", options.warmup, "uncounted sections of each thread");
  line.add("--seed", options.seed);
  line.add_flag("--no-pin", options.no_pin, "leave threads to the scheduler");
}

/// How many updates show that sections overlapped.
std::uint32_t lost_updates(const Bench& bench, const std::vector<ThreadResult>& results) {
  std::uint64_t increments = 0, overwritten = 0;
  for (const ThreadResult& result : results) {
    increments += result.increments;
    overwritten += result.overwritten;
  }
  if (bench.options.update == "store") return static_cast<std::uint32_t>(overwritten);
  // Elements may wrap around, so sums are compared modulo 2^32.
  std::uint32_t sum = 0;
  for (const int element : bench.array) sum += static_cast<std::uint32_t>(element);
  return static_cast<std::uint32_t>(increments) - sum;
}

int report(const Bench& bench, const std::vector<ThreadResult>& results, std::uint64_t run_ns) {
  workloads::print_throughput(results, run_ns);
  const std::uint32_t lost = lost_updates(bench, results);
  if (lost == 0) return 0;
  std::printf("LOST %d updates\n", static_cast<int>(lost));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("arraybench",
                              "ArrayBench: pseudo-random writes to a shared array under one mutex");
  parse(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (options.update == "store" && options.warmup == 0)
    return line.refuse("--update store: only warm-up sections are checked, and --warmup is 0");
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
