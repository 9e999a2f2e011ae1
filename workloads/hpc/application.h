// SPDX-License-Identifier: Apache-2.0
// What the applications of the TSX paper (section 5) share: options, variants, the run and its report.
//
// An application is a class:
//
//   struct Options : hpc::Options { ... };
//   static constexpr const char *kName, *kDescription, *kUnit      kUnit: what a pass counts
//   static void add_options(CommandLine&, Options&)
//   static std::string complaint(const Options&)           what is wrong with them together; empty: nothing
//   static std::span<const Variant<Application>> variants()
//   explicit Application(const Options&)                   builds the input
//   std::uint64_t units() const                            of a pass
//   std::string error(unsigned passes)                     what is wrong with the result; empty: nothing
//
// A variant does one thread's part of a pass. Passes follow each other without a barrier unless the variant
// has one.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "command_line.h"
#include "conflict_free.h"
#include "elision/elision.hpp"
#include "spin_barrier.h"
#include "support.h"
#include "team.h"
#include "team_options.h"

namespace workloads::hpc {

struct Options : TeamOptions {
  std::string variant = "baseline";
  std::uint32_t granularity = 8;
  unsigned repeats = 1;
  unsigned warmup = 1;
};

/// One of the threads that run a variant.
struct Thread {
  unsigned index, threads;
  std::uint32_t granularity;
  elision::mutex& mutex;  // the one lock of all sections
  SpinBarrier& barrier;

  Share share(std::size_t count) const { return share_of(count, index, threads); }
  void wait_for_all() const { barrier.wait(); }
};

template <class Application>
struct Variant {
  const char* name;
  void (*pass)(Application&, const Thread&);
};

/// Runs the passes, and returns the nanoseconds of those that count. `counts`: their commits and fallbacks of
/// all threads are added to it.
template <class Application>
std::uint64_t run_passes(Application& application, const Options& options,
                         void (*pass)(Application&, const Thread&), elision_counts& counts) {
  struct Shared {
    explicit Shared(unsigned threads) : barrier(threads) {}
    alignas(128) elision::mutex mutex;
    SpinBarrier barrier;
  };
  const auto shared = std::make_unique<Shared>(options.threads);
  std::vector<elision_counts> of_threads(options.threads);
  const auto thread_of = [&](unsigned index) {
    return Thread{index, options.threads, options.granularity, shared->mutex, shared->barrier};
  };
  const auto warm_up = [&](unsigned index) {
    for (unsigned i = 0; i < options.warmup; ++i) pass(application, thread_of(index));
    return elision::thread_counts();
  };
  const std::uint64_t run_ns = run_team(options.threads, !options.no_pin, warm_up,
                                        [&](unsigned index, const elision_counts& before, TeamBarrier&) {
                                          for (unsigned i = 0; i < options.repeats; ++i)
                                            pass(application, thread_of(index));
                                          const elision_counts after = elision::thread_counts();
                                          of_threads[index].commits = after.commits - before.commits;
                                          of_threads[index].fallbacks = after.fallbacks - before.fallbacks;
                                        });
  elision::simulation_stop();  // the check is no part of the run
  for (const elision_counts& one : of_threads) {
    counts.commits += one.commits;
    counts.fallbacks += one.fallbacks;
  }
  return run_ns;
}

inline void add_common_options(CommandLine& line, Options& options,
                               const std::vector<std::string>& variants) {
  line.add("--variant", options.variant, "how sections exclude each other").one_of(variants);
  add_team_options(line, options).within(1, 1024);
  line.add("--granularity", options.granularity, "sections in a transaction of tsx-coarsen")
      .within(1, 1 << 20);
  line.add("--repeats", options.repeats, "passes").within(1, 1 << 20);
  line.add("--warmup", options.warmup, "uncounted passes").within(0, 1 << 20);
}

template <class Application>
int run(const typename Application::Options& options) {
  const auto application = std::make_unique<Application>(options);
  const auto variants = Application::variants();
  const auto variant = std::ranges::find(variants, options.variant, &Variant<Application>::name);
  elision_counts counts{};
  const std::uint64_t run_ns = run_passes(*application, options, variant->pass, counts);
  std::printf("commits: %" PRIu64 "\nfallbacks: %" PRIu64 "\n", counts.commits, counts.fallbacks);
  print_throughput(Application::kUnit, application->units() * options.repeats, run_ns);
  return exit_code_if_wrong(application->error(options.warmup + options.repeats));
}

/// The main function of an application.
template <class Application>
int program(int argc, char** argv) {
  typename Application::Options options;
  std::vector<std::string> names;
  for (const Variant<Application>& variant : Application::variants()) names.emplace_back(variant.name);
  CommandLine line(Application::kName, Application::kDescription);
  add_common_options(line, options, names);
  Application::add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (const std::string wrong = Application::complaint(options); !wrong.empty()) return line.refuse(wrong);
  return run<Application>(options);
}

}  // namespace workloads::hpc
