// SPDX-License-Identifier: Apache-2.0
// Prefetching: which other lines a load brings, when they arrive, and what a prefetch never does.
#include "machine/prefetcher.h"
#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

constexpr AccessKind kLoad = AccessKind::kLoad, kStore = AccessKind::kStore;

TEST(StridePrefetcher, BelievesAStrideThatItSawTwice) {
  StridePrefetcher strides;
  EXPECT_EQ(strides.observe(0x400, LineAddr(100)), 0);
  EXPECT_EQ(strides.observe(0x400, LineAddr(103)), 0);
  EXPECT_EQ(strides.observe(0x400, LineAddr(106)), 3);
  EXPECT_EQ(strides.observe(0x400, LineAddr(109)), 3);
  EXPECT_EQ(strides.observe(0x400, LineAddr(113)), 0);
  EXPECT_EQ(strides.observe(0x400, LineAddr(117)), 4);
}

TEST(StridePrefetcher, GoesBackwardsAndNotFar) {
  StridePrefetcher strides;
  for (std::uint64_t line : {500, 468}) EXPECT_EQ(strides.observe(1, LineAddr(line)), 0);
  EXPECT_EQ(strides.observe(1, LineAddr(436)), -32);
  for (std::uint64_t line : {1000, 1033, 1066, 1099}) EXPECT_EQ(strides.observe(2, LineAddr(line)), 0);
}

TEST(StridePrefetcher, KeepsInstructionsApart) {
  StridePrefetcher strides;
  for (std::uint64_t i = 0; i < 2; ++i) {
    strides.observe(0x400, LineAddr(100 + i));
    strides.observe(0x404, LineAddr(900 - 2 * i));
  }
  EXPECT_EQ(strides.observe(0x400, LineAddr(102)), 1);
  EXPECT_EQ(strides.observe(0x404, LineAddr(896)), -2);
}

class PrefetchTest : public ::testing::Test {
 protected:
  void TearDown() override { machine().expect_sound(); }
  TestMachine& machine() {
    if (!machine_) machine_ = std::make_unique<TestMachine>(description_);
    return *machine_;
  }
  Reply load_by(std::uint64_t instruction, std::uint64_t line, std::uint64_t now) {
    Request request = TestMachine::event(0, line, kLoad, now);
    request.instruction = instruction;
    machine().rest(0);
    return machine().model().access(request);
  }

  Description description_ = exact_description();

 private:
  std::unique_ptr<TestMachine> machine_;
};

TEST_F(PrefetchTest, NextLineIsPrefetched) {
  description_.prefetch.next_line = true;
  TestMachine& m = machine();
  m.load(0, 130, 1000);
  EXPECT_EQ(m.counts(0).prefetches, 0u) << "129 is not there: no stream";
  m.load(0, 131, 2000);
  EXPECT_EQ(m.counts(0).prefetches, 1u);
  // 132 is in flight. Its first use calls the model, which prefetches 133.
  EXPECT_FALSE(m.local_hit(0, 132, kLoad, 2100));
  EXPECT_EQ(m.load(0, 132, 2150).data_ready.value, 2200u);
  EXPECT_EQ(m.counts(0).l1_misses, 2u);
  EXPECT_EQ(m.counts(0).prefetches, 2u);
  EXPECT_TRUE(m.local_hit(0, 132, kLoad, 2200));
  EXPECT_EQ(m.load(0, 133, 3000).data_ready.value, 3000u);
}

TEST_F(PrefetchTest, NoneCrossesAPage) {
  description_.prefetch.next_line = true;
  TestMachine& m = machine();
  m.load(0, 62, 1000);
  m.load(0, 63, 2000);
  EXPECT_EQ(m.counts(0).prefetches, 0u);
}

TEST_F(PrefetchTest, StrideIsPrefetched) {
  description_.prefetch.stride = true;
  TestMachine& m = machine();
  load_by(0x400, 128, 1000);
  load_by(0x400, 133, 2000);
  EXPECT_EQ(m.counts(0).prefetches, 0u);
  load_by(0x400, 138, 3000);
  EXPECT_EQ(m.counts(0).prefetches, 1u);
  EXPECT_EQ(load_by(0x400, 143, 4000).data_ready.value, 4000u);
  EXPECT_EQ(m.counts(0).prefetches, 2u);
}

TEST_F(PrefetchTest, MissInL2PrefetchesPairLine) {
  description_.prefetch.adjacent_line = true;
  TestMachine& m = machine();
  m.load(0, 131, 1000);
  EXPECT_EQ(m.counts(0).prefetches, 1u);
  EXPECT_EQ(m.load(0, 130, 2000).data_ready.value, 2012u);
  EXPECT_EQ(m.counts(0).prefetches, 1u) << "a hit in L2 suggests nothing";
}

TEST_F(PrefetchTest, StoreTrainsNoPrefetcher) {
  description_.prefetch = {true, true, true};
  TestMachine& m = machine();
  m.store(0, 130, 1000);
  m.store(0, 131, 2000);
  EXPECT_EQ(m.counts(0).prefetches, 0u);
}

TEST_F(PrefetchTest, WithoutSnoopsNothingIsTakenFromAnotherCore) {
  description_.prefetch.adjacent_line = true;
  TestMachine& m = machine();
  m.store(1, 130, 1000);
  m.load(0, 131, 20'000);
  EXPECT_EQ(m.counts(0).prefetches, 0u);
  EXPECT_TRUE(m.local_hit(1, 130, kStore, 30'000)) << "still its own";
  m.load(2, 140, 40'000);
  EXPECT_EQ(m.counts(2).prefetches, 1u);
  EXPECT_EQ(m.load(1, 141, 60'000).data_ready.value, 60'090u) << "CPU 2 has it alone, unmodified";
}

TEST_F(PrefetchTest, WithSnoopsItIsAReadLikeOthers) {
  description_.prefetch = {.adjacent_line = true, .snoops = true};
  TestMachine& m = machine();
  m.store(1, 130, 1000);
  m.load(0, 131, 20'000);
  EXPECT_EQ(m.counts(0).prefetches, 1u);
  EXPECT_EQ(m.counts(0).cache_to_cache, 1u);
  EXPECT_FALSE(m.local_hit(1, 130, kStore, 30'000)) << "CPU 1 shares it now, and it is hot";
  EXPECT_EQ(m.load(0, 130, 30'000).data_ready.value, 30'012u);
}

TEST_F(PrefetchTest, SnoopingPrefetchEndsWritersButNotReaders) {
  description_.prefetch = {.adjacent_line = true, .snoops = true};
  TestMachine& m = machine();
  m.model().begin(CpuId(1), Cycles(900), false);
  m.store(1, 130, 1000);
  m.model().begin(CpuId(2), Cycles(5'000), false);
  m.load(2, 140, 5'100);
  m.load(0, 141, 20'000);
  EXPECT_TRUE(m.aborts().empty());
  m.load(0, 131, 30'000);
  ASSERT_EQ(m.aborts().size(), 1u);
  EXPECT_EQ(m.aborts()[0].victim, 1u);
  EXPECT_EQ(m.aborts()[0].cause, HardwareAbort::kConflict);
}

TEST_F(PrefetchTest, PrefetchEvictsNoTransactionalLine) {
  description_.prefetch = {true, true, true, true};
  TestMachine& m = machine();
  m.load(0, 131, 1000);
  m.model().begin(CpuId(0), Cycles(2000), false);
  // All ways of the set of line 133 are written.
  for (std::uint64_t i = 1; i <= 8; ++i) m.store(0, 133 + 64 * i, 2000 + 1000 * i);
  m.load(0, 132, 20'000);
  EXPECT_TRUE(m.model().in_transaction(CpuId(0)));
  EXPECT_FALSE(m.local_hit(0, 133, kLoad, 30'000));
  EXPECT_TRUE(m.aborts().empty());
}

TEST_F(PrefetchTest, PrefetchedLineIsInNoReadSet) {
  description_.prefetch.adjacent_line = true;
  TestMachine& m = machine();
  m.model().begin(CpuId(0), Cycles(1000), false);
  m.load(0, 131, 1100);
  ASSERT_EQ(m.counts(0).prefetches, 1u);
  m.store(1, 130, 5000);
  EXPECT_TRUE(m.aborts().empty());
  m.store(1, 131, 9000);
  EXPECT_EQ(m.aborts().size(), 1u);
}

TEST_F(PrefetchTest, WithoutAFreeBufferItIsDropped) {
  description_.prefetch.next_line = true;
  description_.core.fill_buffers = 1;
  TestMachine& m = machine();
  m.load(0, 130, 1000);
  m.load(0, 131, 2000);  // has the only buffer until 2200
  EXPECT_EQ(m.counts(0).prefetches, 0u);
}

}  // namespace
}  // namespace elision::machine::testing
