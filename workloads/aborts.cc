// SPDX-License-Identifier: Apache-2.0
// Sections of one lock that abort, if elided, for a known reason and as often as asked: to hold a profiler
// against exact counts. Written from the TxSampler paper's description (section 7.2).
//
//   --cause   true-sharing   one in --every sections increments a counter that all threads share
//             false-sharing  the same with a counter of the thread's own, beside those of others in one line
//             instruction    the same with CPUID, which no transaction may execute
//   --every   1: each section does; 0: none
//   --inside  steps of a loop in each section, behind the increment; sections with CPUID have no loop
//
// All other sections increment a counter on a line of the thread's own. At the end the counters must have the
// number of all sections: else "LOST ..." and exit code 1.
#include <cpuid.h>
#include <pthread.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "support.h"
#include "timed_sections.h"

namespace {

constexpr unsigned kMostThreads = 64;

struct Options {
  std::string cause = "true-sharing";
  unsigned threads = 4;
  std::uint64_t every = 10;
  std::uint64_t inside = 20;
  workloads::RunLength length;
};

struct alignas(128) Line {
  volatile std::uint64_t counter = 0;
};

/// What all threads share. The lock has lines of its own.
struct Bench {
  explicit Bench(const Options& given) : options(given), sections(given.threads, given.length) {}

  const Options options;
  alignas(128) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  alignas(128) Line shared;
  alignas(128) volatile std::uint64_t beside[kMostThreads] = {};  // eight threads in a line
  alignas(128) Line own[kMostThreads];
  alignas(128) workloads::TimedSections sections;
};

struct Done {
  std::uint64_t begun = 0;
};
using ThreadResult = workloads::ThreadResult<Done>;

void work(std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) __asm__ volatile("" : : "r"(i));
}

[[gnu::noinline]] void share(Bench& bench) {
  bench.shared.counter = bench.shared.counter + 1;
  work(bench.options.inside);
}

[[gnu::noinline]] void share_line(Bench& bench, unsigned thread) {
  bench.beside[thread] = bench.beside[thread] + 1;
  work(bench.options.inside);
}

[[gnu::noinline]] void execute(Bench& bench, unsigned thread) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __cpuid(0, eax, ebx, ecx, edx);
  bench.own[thread].counter = bench.own[thread].counter + (eax != 0 ? 1 : 0);
}

[[gnu::noinline]] void work_alone(Bench& bench, unsigned thread) {
  bench.own[thread].counter = bench.own[thread].counter + 1;
  work(bench.options.inside);
}

void section(Bench& bench, unsigned thread, bool aborts, char cause) {
  pthread_mutex_lock(&bench.lock);
  if (!aborts)
    work_alone(bench, thread);
  else if (cause == 't')
    share(bench);
  else if (cause == 'f')
    share_line(bench, thread);
  else
    execute(bench, thread);
  pthread_mutex_unlock(&bench.lock);
}

int run(const Options& options) {
  const auto bench = std::make_unique<Bench>(options);
  std::vector<ThreadResult> results(options.threads);
  const char cause = options.cause.front();
  const std::uint64_t run_ns = bench->sections.run(results, [&](unsigned thread, ThreadResult& result) {
    workloads::pin_to(thread);
    bench->sections.repeat(thread, result, [&] {
      // Threads are not in step.
      const bool aborts = options.every != 0 && (result.begun++ + thread) % options.every == 0;
      section(*bench, thread, aborts, cause);
    });
  });
  workloads::print_throughput(results, run_ns);
  std::uint64_t sections = 0, found = bench->shared.counter;
  for (unsigned thread = 0; thread < options.threads; ++thread) {
    sections += results[thread].sections;
    found += bench->own[thread].counter + bench->beside[thread];
  }
  if (found == sections) return 0;
  std::printf("LOST %" PRId64 " updates\n", static_cast<std::int64_t>(sections - found));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("aborts", "Sections that abort for a known reason, as often as asked");
  line.add("--cause", options.cause).one_of({"true-sharing", "false-sharing", "instruction"});
  line.add("--threads", options.threads).within(1, kMostThreads);
  line.add("--every", options.every, "one in so many sections aborts; 0: none");
  line.add("--inside", options.inside, "steps of work in a section");
  workloads::add_length(line, options.length);
  if (const auto code = line.parse(argc, argv)) return *code;
  return run(options);
}
