// SPDX-License-Identifier: Apache-2.0
// Two sockets: only transfers between them cost a hop. And a non-inclusive L3.
#include "machine/numa.h"

#include "machine/directory.h"
#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

constexpr std::uint64_t kHop = 1000;

/// CPUs 0 and 1 are on the first socket, 2 and 3 on the second.
Description two_sockets() {
  Description d = exact_description(2);
  d.topology.sockets = 2;
  d.hop_cycles = kHop;
  return d;
}

class NumaTest : public ::testing::Test {
 protected:
  void TearDown() override { m.expect_sound(); }
  std::uint64_t load(unsigned cpu, std::uint64_t line) {
    now_ += 50'000;
    return m.load(cpu, line, now_).data_ready.value - now_;
  }
  std::uint64_t atomic(unsigned cpu, std::uint64_t line) {
    now_ += 50'000;
    return m.atomic(cpu, line, now_).clock.value - now_ + 4;  // the clock is less L1's latency
  }

  TestMachine m{two_sockets()};

 private:
  std::uint64_t now_ = 1000;
};

TEST_F(NumaTest, MemoryBelongsToWhoTouchesThePageFirst) {
  EXPECT_EQ(load(0, 64), 200u);
  EXPECT_EQ(load(2, 65), 200 + kHop) << "the other socket's page";
  EXPECT_EQ(load(2, 128), 200u);
  EXPECT_EQ(load(0, 129), 200 + kHop);
}

TEST_F(NumaTest, LineInRemoteL3CostsHopUntilLocal) {
  load(0, 64);
  load(1, 64);  // shared: no owner
  EXPECT_EQ(load(2, 64), 50 + kHop);
  EXPECT_EQ(load(3, 64), 50u) << "a copy is in this socket";
}

TEST_F(NumaTest, TransferAndInvalidationAcrossSocketsCostHop) {
  atomic(0, 64);
  EXPECT_EQ(load(1, 64), 100u);
  atomic(0, 64);
  EXPECT_EQ(load(2, 64), 100 + kHop);
  EXPECT_EQ(atomic(0, 64), 70 + kHop) << "CPU 2 must give up its copy";
  EXPECT_EQ(atomic(3, 64), 100 + kHop);
  EXPECT_EQ(atomic(2, 64), 100u);
}

TEST(Numa, LinuxNumbersThreadsAfterAllCores) {
  Description d = exact_description(18, 2);
  d.topology.sockets = 2;
  EXPECT_EQ(d.topology.cpus(), 72u);
  EXPECT_EQ(d.topology.socket_of(17), 0u);
  EXPECT_EQ(d.topology.socket_of(18), 1u);
  EXPECT_EQ(d.topology.socket_of(36), 0u);
  EXPECT_EQ(d.topology.core_of(36), 0u);
  EXPECT_EQ(d.topology.socket_of(71), 1u);
}

TEST(Numa, ApicNumberHasSocketCoreAndThreadFields) {
  const Topology topology{2, 18, 2};
  EXPECT_EQ(topology.apic_id(0), 0u);
  EXPECT_EQ(topology.apic_id(17), 17u << 1);
  EXPECT_EQ(topology.apic_id(18), 1u << 6);
  EXPECT_EQ(topology.apic_id(71), 1u << 6 | 17u << 1 | 1u);
}

TEST(Directory, EachSocketHasItsOwnRoom) {
  Description d = two_sockets();
  EXPECT_EQ(Directory::lines(d), 2u * d.l3.lines());
  TestMachine m(d);
  for (std::uint64_t line = 0; line < 3 * d.l3.lines(); ++line) m.load(0, line, 1000 * line);
  const std::uint64_t misses = m.counts(2).l3_misses;
  for (std::uint64_t line = 1 << 20; line < (1 << 20) + d.l3.lines() / 2; ++line)
    m.load(2, line, (1ull << 40) + 1000 * line);
  for (std::uint64_t line = 1 << 20; line < (1 << 20) + d.l3.lines() / 2; ++line)
    m.load(2, line, (1ull << 41) + 1000 * line);
  EXPECT_EQ(m.counts(2).l3_misses - misses, d.l3.lines() / 2) << "the second time all were there";
  m.expect_sound();
}

TEST(Directory, WithoutInclusionThereIsRoomForL2Too) {
  Description d = exact_description(4);
  d.l3_inclusive = false;
  d.l2 = {640, 10, 12};
  EXPECT_EQ(Directory::lines(d), 2u * d.l3.lines());  // 4 x 640 KB beside 2,560 KB
  d.l3_inclusive = true;
  EXPECT_EQ(Directory::lines(d), d.l3.lines());
}

}  // namespace
}  // namespace elision::machine::testing
