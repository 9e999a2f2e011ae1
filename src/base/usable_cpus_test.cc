// SPDX-License-Identifier: Apache-2.0
#include "base/usable_cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace elision {
namespace {

TEST(UsableCpus, AreThoseInThreadAffinity) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(usable_cpus(), static_cast<unsigned>(CPU_COUNT(&all)));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cpus(), 1u);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    EXPECT_EQ(UsableCpus().contains(cpu), CPU_ISSET(cpu, &one) != 0) << cpu;
  EXPECT_FALSE(UsableCpus().contains(1u << 20));
  EXPECT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

}  // namespace
}  // namespace elision
