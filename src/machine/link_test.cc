// SPDX-License-Identifier: Apache-2.0
#include "machine/link.h"

#include <gtest/gtest.h>

#include "machine/test_machine.h"

namespace elision::machine {
namespace {

using testing::exact_description;
using testing::TestMachine;

TEST(Link, LinesWaitForThoseBeforeThem) {
  Link link;
  link.configure(10 << Link::kFractionBits);
  EXPECT_EQ(link.enter(100), 0u);
  EXPECT_EQ(link.enter(100), 10u);
  EXPECT_EQ(link.enter(105), 15u);
  EXPECT_EQ(link.enter(130), 0u);
  EXPECT_EQ(link.enter(139), 1u);
}

TEST(Link, SeveralLinesACycle) {
  Link link;
  link.configure(64);  // four lines a cycle
  std::uint64_t waited = 0;
  for (int i = 0; i < 400; ++i) waited = link.enter(1000);
  EXPECT_EQ(waited, 99u);
}

TEST(Link, WithoutABoundNothingWaits) {
  Link link;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(link.enter(5), 0u);
}

/// The latencies of three loads of lines that nobody has, at the same time from three cores.
std::vector<std::uint64_t> three_misses(std::uint32_t l3_line_time, std::uint32_t memory_line_time) {
  Description description = exact_description();
  description.l3_line_time = l3_line_time;
  description.memory_line_time = memory_line_time;
  TestMachine m(description);
  std::vector<std::uint64_t> latencies;
  for (unsigned cpu = 0; cpu < 3; ++cpu)
    latencies.push_back(m.load(cpu, 100 + cpu, 1000).data_ready.value - 1000);
  return latencies;
}

TEST(Link, MissesOfAllCoresShareIt) {
  using Latencies = std::vector<std::uint64_t>;
  EXPECT_EQ(three_misses(0, 0), (Latencies{200, 200, 200}));
  EXPECT_EQ(three_misses(0, 30 << Link::kFractionBits), (Latencies{200, 230, 260}));
  EXPECT_EQ(three_misses(5 << Link::kFractionBits, 0), (Latencies{200, 205, 210}));
}

TEST(Link, HitsInTheCoreTakeNone) {
  Description description = exact_description();
  description.l3_line_time = 100 << Link::kFractionBits;
  TestMachine m(description);
  m.load(0, 1, 1000);
  for (std::uint64_t i = 1; i <= 8; ++i) m.load(0, 1 + 64 * i, 10'000 * (i + 1));  // line 1 leaves L1
  EXPECT_EQ(m.load(0, 1, 200'000).data_ready.value, 200'012u);
  m.load(1, 500, 200'000);
  EXPECT_EQ(m.load(0, 1 + 64, 200'001).data_ready.value, 200'013u) << "from L2, while the link is busy";
}

TEST(Link, LinesFromOtherCoresTakeIt) {
  Description description = exact_description();
  description.l3_line_time = 40 << Link::kFractionBits;
  TestMachine m(description);
  m.store(0, 1, 1000);
  m.store(0, 2, 1500);
  EXPECT_EQ(m.load(1, 1, 5000).data_ready.value, 5100u);
  EXPECT_EQ(m.load(2, 2, 5000).data_ready.value, 5140u);
}

TEST(Link, LinesOfInstructionsTakeIt) {
  Description description = exact_description();
  description.l3_line_time = 40 << Link::kFractionBits;
  TestMachine m(description);
  m.model().fetch(CpuId(0), LineAddr(100), Cycles(1000), Reach::kMachine);  // and prefetches the next one
  EXPECT_EQ(m.load(1, 500, 1000).data_ready.value, 1280u);
}

TEST(Link, MemoryOfAnotherNodeHasItsOwn) {
  for (const bool same_node : {true, false}) {
    Description description = exact_description(2);
    description.topology.sockets = 2;
    description.memory_line_time = 30 << Link::kFractionBits;
    TestMachine m(description);
    const unsigned other = 2;  // the first CPU of the second socket
    m.load(0, 64, 1000);
    m.load(other, 6400, 1000);
    m.load(0, 65, 5000);
    const std::uint64_t line = same_node ? 66 : 6401;
    EXPECT_EQ(m.load(other, line, 5000).data_ready.value, same_node ? 5230u : 5200u);
  }
}

}  // namespace
}  // namespace elision::machine
