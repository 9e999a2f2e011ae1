// SPDX-License-Identifier: Apache-2.0
// What apriori and utilitymine share: their options, and the report of the itemsets that they found.
#pragma once

#include <cstddef>
#include <cstdio>

#include "command_line.h"
#include "rms/baskets.h"
#include "rms/depth_first.h"
#include "rms/locks.h"
#include "support.h"

namespace workloads::rms {

struct MiningOptions {
  TeamOptions team;
  BasketOptions baskets;
  double share = 0;  // the least one of an itemset that is found: of the baskets, or of what they earned
  unsigned leaf = 8;
};

/// Adds all but the share, whose name is the program's.
inline void add_mining_options(CommandLine& line, MiningOptions& options) {
  add_team_options(line, options.team);
  add_basket_options(line, options.baskets);
  line.add("--leaf", options.leaf, "itemsets of a leaf before it splits").within(1, 4096);
}

/// Prints the numbers of a run and returns the exit code of its check. `candidates_are_right`: whether as
/// many candidates were counted as there are.
inline int report(const ItemsetNumbers& found, const ItemsetNumbers& expected, std::size_t candidates,
                  bool candidates_are_right) {
  std::printf("itemsets: %zu\ncandidates: %zu\n", found.size(), candidates);
  if (!candidates_are_right) return exit_code_if_wrong("number of candidates");
  return exit_code_if_wrong(found == expected ? "" : "itemsets");
}

}  // namespace workloads::rms
