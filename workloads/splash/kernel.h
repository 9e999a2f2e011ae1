// SPDX-License-Identifier: Apache-2.0
// The main function that the SPLASH-2 kernels share. Each computes its result twice, with threads and
// alone, and both must be the same to the bit.
//
// `Kernel` has
//
//   struct Options { unsigned threads; std::uint64_t seed; bool no_pin; ... }
//   kName, kDescription, kWhat        its name, its purpose, the unit of its throughput
//   static void add_options(CommandLine&, Options&)
//   explicit Kernel(const Options&)   makes the input
//   void work(unsigned thread, TeamBarrier& barrier)
//   std::uint64_t amount() const      the work of a run, in that unit
//   bool operator==(const Kernel&) const, std::string complaint() const
//                                     whether results are equal; the error in a result, or empty
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "case_studies/case_study.h"
#include "command_line.h"
#include "support.h"
#include "team.h"

namespace workloads::splash {

struct KernelOptions {
  unsigned threads = 1;
  std::uint64_t seed = 1;
  bool no_pin = false;
};

template <class Kernel, class Options>
std::uint64_t run_kernel(Kernel& kernel, const Options& options) {
  return run_team(
      options.threads, !options.no_pin, [](unsigned) { return std::monostate{}; },
      [&](unsigned thread, std::monostate, TeamBarrier& barrier) { kernel.work(thread, barrier); });
}

template <class Kernel>
int kernel_main(int argc, char** argv) {
  typename Kernel::Options options;
  CommandLine line(Kernel::kName, Kernel::kDescription);
  line.add("--threads", options.threads).within(1, 256);
  line.add("--seed", options.seed, "of the input");
  line.add_flag("--no-pin", options.no_pin, "threads may move between CPUs");
  Kernel::add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  const auto kernel = std::make_unique<Kernel>(options);
  const std::uint64_t run_ns = run_kernel(*kernel, options);
  print_throughput(Kernel::kWhat, kernel->amount(), run_ns);
  if (const std::string wrong = kernel->complaint(); !wrong.empty()) return exit_code("WRONG " + wrong);
  options.threads = 1;
  const auto alone = std::make_unique<Kernel>(options);
  run_kernel(*alone, options);
  return exit_code(*kernel == *alone ? "" : "WRONG: another result than that of one thread");
}

}  // namespace workloads::splash
