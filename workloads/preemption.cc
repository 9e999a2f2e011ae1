// SPDX-License-Identifier: Apache-2.0
// Sections that always conflict, for more threads than CPUs. Elision gains only because a preempted
// transaction leaves its lock free. Written from the paper on lock holder preemption (Dice et al., section
// 3), whose Figure 1 compares the designs tts and ttstle.
//
// A thread repeats: lock; increment a shared variable; advance a shared generator of pseudo-random numbers
// 200 steps; unlock; advance its own generator 100,000 steps. Each section reads and writes the one line of
// both, so no two transactions commit side by side. The lock is a pthread mutex, which a preloaded library
// replaces.
//
// Defaults are the paper's. With fewer CPUs than its 72, divide --outside accordingly to keep the lock as
// busy. Threads are not pinned, so that the operating system shares the CPUs among them.
//
// A step is one of congruence.h. At the end the shared variable must equal the number of sections, and the
// shared generator must have the state after as many steps: else "LOST ..." and exit code 1.
#include <pthread.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "command_line.h"
#include "congruence.h"
#include "support.h"
#include "timed_sections.h"

namespace {

using workloads::advance;
using workloads::jump;

struct Options {
  unsigned threads = 1;
  std::uint64_t inside = 200;      // steps of the shared generator in a section
  std::uint64_t outside = 100000;  // steps of a thread's own one between sections
  workloads::RunLength length{.seconds = 10};
  std::uint64_t warmup = 1;  // sections per thread
  std::uint64_t seed = 1;
  bool pin = false;
};

/// What all threads share. The lock, and what it guards, have lines of their own.
struct Bench {
  explicit Bench(const Options& given)
      : options(given), generator(given.seed), sections(given.threads, given.length) {}

  const Options options;
  alignas(128) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  alignas(128) volatile std::uint64_t counter = 0;
  std::uint64_t generator;
  alignas(128) workloads::TimedSections sections;
};

struct Generator {
  std::uint64_t state = 0;  // the thread's own, and its result
};
using ThreadResult = workloads::ThreadResult<Generator>;

void section(Bench& bench) {
  pthread_mutex_lock(&bench.lock);
  bench.counter = bench.counter + 1;
  bench.generator = advance(bench.generator, bench.options.inside);
  pthread_mutex_unlock(&bench.lock);
}

void work(Bench& bench, unsigned thread, ThreadResult& result) {
  if (bench.options.pin) workloads::pin_to(thread);
  for (std::uint64_t i = 0; i < bench.options.warmup; ++i) section(bench);
  std::uint64_t own = result.state;
  bench.sections.repeat(thread, result, [&] {
    section(bench);
    own = advance(own, bench.options.outside);
  });
  result.state = own;
}

/// Returns the exit code. The threads' own generators are checked too, so that no compiler leaves their steps
/// out.
int check(const Bench& bench, const std::vector<ThreadResult>& results) {
  const Options& options = bench.options;
  std::uint64_t sections = options.threads * options.warmup;
  for (unsigned thread = 0; thread < options.threads; ++thread) {
    const ThreadResult& result = results[thread];
    sections += result.sections;
    if (result.state == jump(options.seed + 1 + thread, result.sections * options.outside)) continue;
    std::printf("WRONG: thread %u left out steps of its generator\n", thread);
    return 1;
  }
  const bool is_right = bench.generator == jump(options.seed, sections * options.inside);
  if (bench.counter == sections && is_right) return 0;
  std::printf("LOST %" PRId64 " updates, and the shared generator's state is %s\n",
              static_cast<std::int64_t>(sections - bench.counter), is_right ? "right" : "wrong");
  return 1;
}

int run(const Options& options) {
  const auto bench = std::make_unique<Bench>(options);
  std::vector<ThreadResult> results(options.threads);
  for (unsigned thread = 0; thread < options.threads; ++thread)
    results[thread].state = options.seed + 1 + thread;
  const std::uint64_t run_ns = bench->sections.run(
      results, [&bench](unsigned thread, ThreadResult& result) { work(*bench, thread, result); });
  workloads::print_throughput(results, run_ns);
  return check(*bench, results);
}

void add_options(workloads::CommandLine& line, Options& options) {
  line.add("--threads", options.threads, "also more than there are CPUs").within(1, 1024);
  line.add("--inside", options.inside, "steps of the shared generator in a section");
  line.add("--outside", options.outside, "steps of a thread's own generator between sections");
  workloads::add_length(line, options.length);
  line.add("--warmup", options.warmup, "uncounted sections of each thread");
  line.add("--seed", options.seed);
  line.add_flag("--pin", options.pin, "bind each thread to a CPU");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("preemption", "Sections that conflict by design, for more threads than CPUs");
  add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  return run(options);
}
