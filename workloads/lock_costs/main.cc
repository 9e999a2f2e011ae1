// SPDX-License-Identifier: Apache-2.0
// The cost of locks beside glibc's (README.md).
#include <algorithm>
#include <string>
#include <vector>

#include "command_line.h"
#include "lock_costs/groups.h"

int main(int argc, char** argv) {
  lock_costs::Settings settings{.pairs = 30, .milliseconds = 20};
  std::vector<std::string> groups = {"uncontended"};
  workloads::CommandLine line("lockcost", "What the preloaded locks cost beside glibc's own");
  line.add("--pairs", settings.pairs, "rounds of each side").within(1, 100000);
  line.add("--milliseconds", settings.milliseconds, "length of a round with contention").within(1, 60000);
  bool jump = false;
  line.add_flag("--jump", jump, "compare glibc with itself behind one jump, in place of a preloaded library");
  line.add("GROUP", groups, "default: uncontended").one_of({"uncontended", "contended", "oversubscribed"});
  if (const auto code = line.parse(argc, argv)) return *code;

  const auto asked_for = [&groups](const char* name) {
    return std::find(groups.begin(), groups.end(), name) != groups.end();
  };
  const lock_costs::Sides sides = jump ? lock_costs::find_jump_and_glibc() : lock_costs::find_sides();
  bool excluded = true;
  if (asked_for("uncontended")) lock_costs::measure_uncontended(sides, settings);
  if (asked_for("contended")) excluded &= lock_costs::measure_contended(sides, settings);
  if (asked_for("oversubscribed")) excluded &= lock_costs::measure_oversubscribed(sides, settings);
  return excluded ? 0 : 1;
}
