// SPDX-License-Identifier: Apache-2.0
// The main function that the SPLASH-2 kernels share. Each computes its result twice, with threads and
// alone, and both must be the same to the bit.
//
// `Kernel` has
//
//   struct Options : TeamOptions { ... }
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

#include "command_line.h"
#include "support.h"
#include "team.h"
#include "team_options.h"

namespace workloads::splash {

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
  add_team_options(line, options).within(1, 256);
  Kernel::add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  const auto kernel = std::make_unique<Kernel>(options);
  const std::uint64_t run_ns = run_kernel(*kernel, options);
  print_throughput(Kernel::kWhat, kernel->amount(), run_ns);
  if (const std::string wrong = kernel->complaint(); !wrong.empty()) return exit_code_if_wrong(wrong);
  options.threads = 1;
  const auto alone = std::make_unique<Kernel>(options);
  run_kernel(*alone, options);
  return exit_code_if_wrong(*kernel == *alone ? "" : "result: not that of one thread");
}

}  // namespace workloads::splash
