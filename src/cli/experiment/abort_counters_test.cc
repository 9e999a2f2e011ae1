// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/abort_counters.h"

#include <gtest/gtest.h>

namespace elision::cli::experiment {
namespace {

/// The thread ran on the first CPU while the event of the second was not yet enabled.
TEST(AbortCounters, EventsThatAreEnabledOneAfterTheOtherCountAllTheTime) {
  const EventCount counts[] = {{.count = 3, .enabled_ns = 1000, .running_ns = 600},
                               {.count = 4, .enabled_ns = 900, .running_ns = 300}};
  const EventCount all = over_cpus(counts);
  EXPECT_EQ(all.count, 7u);
  EXPECT_GE(all.running_ns, all.enabled_ns);
}

TEST(AbortCounters, EventsThatShareTheirCountersCountAPartOfTheTime) {
  const EventCount counts[] = {{.count = 3, .enabled_ns = 1000, .running_ns = 300},
                               {.count = 4, .enabled_ns = 1000, .running_ns = 200}};
  const EventCount all = over_cpus(counts);
  EXPECT_EQ(all.enabled_ns, 1000u);
  EXPECT_EQ(all.running_ns, 500u);
}

}  // namespace
}  // namespace elision::cli::experiment
