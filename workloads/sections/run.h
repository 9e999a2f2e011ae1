// SPDX-License-Identifier: Apache-2.0
// The threads of a program over sections, and how it ends.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "sections/plain.h"
#include "support.h"
#include "team.h"
#include "team_options.h"

namespace workloads::sections {

using workloads::TeamOptions;

/// Runs `work(thread of the back end, index, barrier)` on as many threads as asked, which begin together.
/// Prints the throughput as the other workloads do, and "aborts:" if the back end counts them. `Sections`:
/// the back end.
template <class Sections, class Work>
void run_sections(Sections& shared, const TeamOptions& options, Work work) {
  std::vector<Counts> counts(options.threads);
  const std::uint64_t run_ns = run_team(
      options.threads, !options.no_pin, [&](unsigned) { return typename Sections::Thread(shared); },
      [&](unsigned index, auto& thread, TeamBarrier& barrier) {
        work(thread, index, barrier);
        counts[index] = thread.counts;
      });
  Counts sum;
  for (const Counts& one : counts) sum += one;
  print_throughput("sections", sum.commits, run_ns);
  if (Sections::kCountsAborts) std::printf("aborts: %" PRIu64 "\n", sum.aborts);
}

/// Returns whether a program's check found an error, and prints it as one line. `complaint`: the error, or
/// null.
inline bool is_wrong(const char* complaint) {
  return exit_code_if_wrong(complaint != nullptr ? complaint : "") != 0;
}

}  // namespace workloads::sections
