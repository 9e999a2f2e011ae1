// SPDX-License-Identifier: Apache-2.0
// Prefetching: which other lines an access brings, when they arrive, and what a prefetch never does.
#include "machine/prefetcher.h"
#include "machine/streamer.h"
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

void expect_equal(const Streamer::Lines& a, const Streamer::Lines& b) {
  EXPECT_EQ(a.first, b.first);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.step, b.step);
}

/// The lines that the streamer asks for, 20 ahead at most. In one part or in two, it does the same.
std::vector<std::uint64_t> lines_for(Streamer& streamer, std::uint64_t line) {
  constexpr unsigned kAhead = 20;
  Streamer in_parts = streamer;
  const Streamer::Step step = in_parts.expect(LineAddr(line), kAhead);
  in_parts.take(LineAddr(line), step);
  const Streamer::Lines lines = streamer.observe(LineAddr(line), kAhead);
  expect_equal(step.lines, lines);
  for (const std::uint64_t next : {line - 1, line + 1, line + 2})
    expect_equal(in_parts.expect(LineAddr(next), kAhead).lines,
                 streamer.expect(LineAddr(next), kAhead).lines);
  std::vector<std::uint64_t> found;
  for (int i = 0; i < lines.count; ++i)
    found.push_back(lines.first + static_cast<std::uint64_t>(std::int64_t{lines.step} * i));
  return found;
}
using Lines = std::vector<std::uint64_t>;

TEST(Streamer, RunsAheadOfTwoStepsInOneDirection) {
  Streamer streamer{};
  EXPECT_EQ(lines_for(streamer, 640), Lines{});
  EXPECT_EQ(lines_for(streamer, 641), Lines{});
  EXPECT_EQ(lines_for(streamer, 642), (Lines{643, 644}));
  EXPECT_EQ(lines_for(streamer, 643), (Lines{645, 646}));
  EXPECT_EQ(lines_for(streamer, 643), Lines{}) << "the same line again";
  EXPECT_EQ(lines_for(streamer, 650), (Lines{651, 652})) << "it skips what was passed";
}

TEST(Streamer, GoesBackwardsToo) {
  Streamer streamer{};
  for (std::uint64_t line : {700, 698}) EXPECT_EQ(lines_for(streamer, line), Lines{});
  EXPECT_EQ(lines_for(streamer, 695), (Lines{694, 693}));
  EXPECT_EQ(lines_for(streamer, 696), Lines{}) << "turned";
  EXPECT_EQ(lines_for(streamer, 697), (Lines{698, 699}));
}

TEST(Streamer, StopsAtThePageAndAtTheDistance) {
  Streamer streamer{};
  for (std::uint64_t line : {697, 698}) lines_for(streamer, line);
  EXPECT_EQ(lines_for(streamer, 701), (Lines{702, 703}));
  EXPECT_EQ(lines_for(streamer, 702), Lines{});
  for (std::uint64_t line : {642, 641}) lines_for(streamer, line);
  EXPECT_EQ(lines_for(streamer, 640), Lines{});
  for (std::uint64_t line : {1280, 1281}) streamer.observe(LineAddr(line), 3);
  EXPECT_EQ(streamer.observe(LineAddr(1282), 3).count, 2);
  EXPECT_EQ(streamer.observe(LineAddr(1283), 3).count, 2);
  EXPECT_EQ(streamer.observe(LineAddr(1284), 3).count, 1);
}

TEST(Streamer, KeepsPagesApartAndForgetsTheOldOne) {
  Streamer streamer{};
  for (std::uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(lines_for(streamer, 640 + i), Lines{});
    EXPECT_EQ(lines_for(streamer, 760 - i), Lines{});
  }
  EXPECT_EQ(lines_for(streamer, 642), (Lines{643, 644}));
  EXPECT_EQ(lines_for(streamer, 758), (Lines{757, 756}));
  lines_for(streamer, 640 + 32 * 64);
  EXPECT_EQ(lines_for(streamer, 643), Lines{}) << "another page had its place";
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

TEST_F(PrefetchTest, StoreTrainsNoPrefetcherOfL1) {
  description_.prefetch = {true, true};
  TestMachine& m = machine();
  for (std::uint64_t i = 0; i < 4; ++i) m.store(0, 130 + i, 1000 * (i + 1));
  EXPECT_EQ(m.counts(0).prefetches, 0u);
}

TEST_F(PrefetchTest, StoreThatMissesL2PrefetchesPairLine) {
  description_.prefetch.adjacent_line = true;
  TestMachine& m = machine();
  m.store(0, 130, 1000);
  EXPECT_EQ(m.counts(0).prefetches, 1u);
  EXPECT_EQ(m.load(0, 131, 2000).data_ready.value, 2012u);
}

TEST_F(PrefetchTest, StreamOfLoadsAndStoresIsPrefetchedIntoL2) {
  description_.prefetch.stream_lines = 20;
  TestMachine& m = machine();
  m.load(0, 130, 1000);
  m.store(0, 131, 2000);
  EXPECT_EQ(m.counts(0).prefetches, 0u);
  m.load(0, 132, 3000);
  EXPECT_EQ(m.counts(0).prefetches, 2u);
  EXPECT_EQ(m.load(0, 133, 4000).data_ready.value, 4012u);
  EXPECT_EQ(m.counts(0).prefetches, 4u) << "a hit in L2 goes on";
  m.store(0, 134, 5000);
  EXPECT_EQ(m.counts(0).prefetches, 6u) << "a store, too";
  m.load(0, 134, 6000);
  EXPECT_EQ(m.counts(0).prefetches, 6u) << "a hit in L1 does not";
}

TEST_F(PrefetchTest, AtomicsAreAStreamToo) {
  description_.prefetch.stream_lines = 20;
  TestMachine& m = machine();
  for (std::uint64_t i = 0; i < 3; ++i) m.access(0, 130 + i, AccessKind::kAtomic, 1000 * (i + 1));
  EXPECT_EQ(m.counts(0).prefetches, 2u);
}

TEST_F(PrefetchTest, FirstLoadOfAPrefetchedLineGoesOnWithTheStream) {
  description_.prefetch = {.next_line = true, .stream_lines = 20};
  TestMachine& m = machine();
  for (std::uint64_t i = 0; i < 3; ++i) m.load(0, 130 + i, 1000 * (i + 1));
  const std::uint64_t before = m.counts(0).prefetches;
  EXPECT_EQ(m.load(0, 133, 8000).data_ready.value, 8000u) << "L1 has it";
  EXPECT_EQ(m.counts(0).prefetches, before + 3) << "the next line, and two of the stream";
}

TEST_F(PrefetchTest, StreamTakesNoFillBuffer) {
  description_.prefetch.stream_lines = 20;
  description_.core.fill_buffers = 1;
  TestMachine& m = machine();
  for (std::uint64_t i = 0; i < 3; ++i) m.load(0, 130 + i, 1000 * (i + 1));
  EXPECT_EQ(m.counts(0).prefetches, 2u);
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
  EXPECT_EQ(m.counts(0).cache_to_cache, 2u) << "the store had brought 131, too";
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
  EXPECT_TRUE(m.aborts()[0].by_prefetch);
  m.store(0, 140, 40'000);
  ASSERT_EQ(m.aborts().size(), 2u);
  EXPECT_FALSE(m.aborts()[1].by_prefetch);
}

TEST_F(PrefetchTest, PrefetchEvictsNoTransactionalLine) {
  description_.prefetch = {true, true, true, 20, true};
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
