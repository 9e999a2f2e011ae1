// SPDX-License-Identifier: Apache-2.0
// Each rule of an ordered access at its edge: one cycle too early, and on the cycle.
#include "machine/model.h"

#include "base/random.h"
#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

using Verdict = Reply::Verdict;
constexpr AccessKind kLoad = AccessKind::kLoad, kStore = AccessKind::kStore, kAtomic = AccessKind::kAtomic;

class ModelTest : public ::testing::Test {
 protected:
  void TearDown() override { machine().expect_sound(); }

  Description description_ = exact_description();
  /// Made on first use, so that a test may change the description before.
  TestMachine& machine() {
    if (!machine_) machine_ = std::make_unique<TestMachine>(description_);
    return *machine_;
  }

 private:
  std::unique_ptr<TestMachine> machine_;
};

// --- latencies ---

TEST_F(ModelTest, LoadTakesLatencyOfItsLevel) {
  TestMachine& m = machine();
  const Reply memory = m.load(0, 1, 1000);
  EXPECT_EQ(memory.clock.value, 1000u);  // the core does not stall
  EXPECT_EQ(memory.data_ready.value, 1200u);
  EXPECT_TRUE(m.local_hit(0, 1, kLoad, 2000));

  for (std::uint64_t i = 1; i <= 8; ++i) m.load(0, 1 + 64 * i, 2000 + 1000 * i);  // out of L1
  EXPECT_FALSE(m.local_hit(0, 1, kLoad, 20'000));
  EXPECT_EQ(m.load(0, 1, 20'000).data_ready.value, 20'012u);

  m.load(1, 777, 30'000);
  for (std::uint64_t i = 1; i <= 16; ++i) m.load(1, 777 + 512 * i, 30'000 + 1000 * i);  // out of L1 and L2
  EXPECT_EQ(m.load(1, 777, 60'000).data_ready.value, 60'050u);
  EXPECT_EQ(m.counts(1).l3_misses, 17u);
  EXPECT_EQ(m.counts(1).l2_misses, 18u);
}

TEST_F(ModelTest, LineInFlightDelaysValueThenIsPrivate) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  EXPECT_EQ(m.local_load(0, 1, 1199), Cycles(1200));
  EXPECT_FALSE(m.fast_path(0, 1, kLoad)) << "an address may rest on the value";
  EXPECT_TRUE(m.fast_path(0, 1, kLoad, false));
  EXPECT_FALSE(m.fast_path(0, 1, kStore));
  EXPECT_EQ(m.local_load(0, 1, 1200), Cycles(0));
  EXPECT_TRUE(m.fast_path(0, 1, kLoad));
}

/// A random stream of one CPU. Each line says when an access was done and when its value arrived.
std::string stream(bool alone) {
  TestMachine m(exact_description(1));
  Random random(9);
  std::uint64_t now = 1000, last = 0;
  std::string log;
  for (int i = 0; i < 20'000; ++i) {
    now += random.below(6);
    const AccessKind kind = random.below(4) == 0 ? kStore : random.below(50) == 0 ? kAtomic : kLoad;
    Request request = TestMachine::event(0, random.below(40'000), kind, now, random.below(3) == 0 ? last : 0);
    if (alone) request.first_until = kNever;
    Reply reply = m.model().access(request);
    while (reply.verdict == Reply::Verdict::kWait) {
      EXPECT_FALSE(alone) << "nobody could use the time";
      request.now = reply.clock;
      reply = m.model().access(request);
    }
    EXPECT_GE(reply.performed, request.now);
    now = reply.clock.value;
    last = reply.data_ready.value;
    log += std::to_string(now) + ' ' + std::to_string(last) + '\n';
  }
  return log;
}

TEST(Stalls, LoneCpuGetsSameTimesWithoutWaiting) { EXPECT_EQ(stream(true), stream(false)); }

TEST_F(ModelTest, DependentLoadsQueueIndependentOnesOverlap) {
  TestMachine& m = machine();
  Reply reply = m.once(0, 1, kLoad, 1000);
  reply = m.once(0, 2, kLoad, 1004, reply.data_ready.value);
  EXPECT_EQ(reply.data_ready.value, 1400u);
  EXPECT_EQ(reply.clock.value, 1004u);
  EXPECT_EQ(m.once(0, 3, kLoad, 1008).data_ready.value, 1208u);
  EXPECT_EQ(m.model().settle(CpuId(0), Cycles(1010)).value, 1400u);
  EXPECT_EQ(m.model().settle(CpuId(0), Cycles(1410)).value, 1410u);
}

TEST_F(ModelTest, ChainOfLoadsCostsLatencyPerLoad) {
  TestMachine& m = machine();
  std::uint64_t clock = 1000, ready = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Reply reply = m.access(0, 5000 + i, kLoad, clock, ready);
    clock = reply.clock.value + 4;  // the translator's cost of the load
    ready = reply.data_ready.value;
  }
  EXPECT_EQ(ready, 1000u + 100 * 200);
  EXPECT_EQ(m.model().settle(CpuId(0), Cycles(clock)).value, ready);
}

TEST_F(ModelTest, EleventhMissStallsUntilBufferIsFree) {
  TestMachine& m = machine();
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(m.once(0, 1 + i, kLoad, 1000).clock.value, 1000u);
  const Reply stalled = m.once(0, 20, kLoad, 1000);
  EXPECT_EQ(stalled.verdict, Verdict::kWait);
  EXPECT_EQ(stalled.clock.value, 1200u);
  EXPECT_EQ(m.once(0, 20, kLoad, 1200).data_ready.value, 1400u);
  EXPECT_EQ(m.counts(0).reorder_buffer_stall_cycles, 200u);
}

TEST_F(ModelTest, WorkBeyondTheReorderWindowStalls) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  EXPECT_EQ(m.once(0, 2, kLoad, 1048).verdict, Verdict::kDone);
  m.model().settle(CpuId(0), Cycles(1048));
  m.load(0, 3, 2000);
  const Reply stalled = m.once(0, 4, kLoad, 2049);
  EXPECT_EQ(stalled.verdict, Verdict::kWait);
  EXPECT_EQ(stalled.clock.value, 2201u);
}

// --- stores ---

TEST_F(ModelTest, StoresDoNotStallAndDrainInOrder) {
  TestMachine& m = machine();
  m.load(0, 9, 100);  // exclusive: a store to it drains at once
  EXPECT_EQ(m.store(0, 1, 1000).clock.value, 1000u);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(1000)).value, 1200u);
  EXPECT_TRUE(m.local_hit(0, 9, kStore, 1001));
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(1001)).value, 1200u);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(1300)).value, 1300u);
}

TEST_F(ModelTest, OnlySoManyStoreMissesOverlap) {
  TestMachine& m = machine();
  for (std::uint64_t i = 0; i < 3; ++i) m.store(0, 1 + i, 1000);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(1000)).value, 1200u);
  m.store(0, 4, 1000);  // the fourth starts when the first has arrived
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(1000)).value, 1400u);
}

TEST_F(ModelTest, FullStoreBufferStallsUntilOldestEntryDrains) {
  TestMachine& m = machine();
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(m.once(0, 1 + i, kStore, 1000).verdict, Verdict::kDone);
  const Reply stalled = m.once(0, 20, kStore, 1000);
  EXPECT_EQ(stalled.verdict, Verdict::kWait);
  EXPECT_EQ(stalled.clock.value, 1200u);
  EXPECT_EQ(m.counts(0).store_buffer_stall_cycles, 200u);
  EXPECT_EQ(m.once(0, 20, kStore, 1200).verdict, Verdict::kDone);
}

TEST_F(ModelTest, AtomicWaitsForDrainLoadsAndLine) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  Reply reply = m.once(0, 2, kAtomic, 1100);
  EXPECT_EQ(reply.verdict, Verdict::kWait);
  EXPECT_EQ(reply.clock.value, 1200u);
  reply = m.once(0, 2, kAtomic, 1200);
  EXPECT_EQ(reply.verdict, Verdict::kDone);
  // The line was fetched from 1100 on. L1's latency is part of the instruction's cost.
  EXPECT_EQ(reply.clock.value, 1100u + 200 - 4);
  EXPECT_EQ(reply.data_ready, reply.clock);
  EXPECT_EQ(m.once(0, 2, kAtomic, 1400).clock.value, 1400u);  // hits

  m.load(0, 3, 2000);
  EXPECT_EQ(m.once(0, 2, kAtomic, 2010).clock.value, 2200u);
  EXPECT_EQ(m.once(0, 2, kAtomic, 2200).verdict, Verdict::kDone);
}

TEST_F(ModelTest, OthersGetInBetweenAStoreAndAnAtomicBehindIt) {
  description_.instructions.locked_cycles = 20;
  TestMachine& m = machine();
  m.store(0, 1, 1000);  // visible at 1200
  EXPECT_EQ(m.once(0, 1, kAtomic, 1001).clock.value, 1220u);
  EXPECT_EQ(m.load(1, 1, 1201).data_ready.value, 1301u);
  const Reply late = m.once(0, 1, kAtomic, 1220);
  EXPECT_EQ(late.verdict, Verdict::kWait) << "CPU 1 gets the line first";
  EXPECT_EQ(m.atomic(0, 1, late.clock.value).verdict, Verdict::kDone);
  EXPECT_EQ(m.once(0, 2, kAtomic, 5000).verdict, Verdict::kDone) << "nothing to wait for";
}

TEST_F(ModelTest, WorkOfAnAtomicBeginsWhenTheLastStoreIsVisible) {
  description_.instructions.locked_cycles = 20;
  TestMachine& m = machine();
  m.store(0, 1, 1000);  // visible at 1200
  // `now` contains the atomic's 20 cycles: one that begins before 1200 ends at 1220, one that begins then,
  // too.
  EXPECT_EQ(m.once(0, 1, kAtomic, 1199).clock.value, 1220u);
  EXPECT_EQ(m.once(0, 1, kAtomic, 1219).clock.value, 1220u);
  EXPECT_EQ(m.once(0, 1, kAtomic, 1220).verdict, Verdict::kDone);
  m.store(0, 1, 5000);  // hits, and is visible at once
  EXPECT_EQ(m.once(0, 1, kAtomic, 5001).verdict, Verdict::kDone);
}

TEST_F(ModelTest, WhatFollowsAnAtomicCloselyIsFetchedMeanwhile) {
  TestMachine& m = machine();
  const std::uint64_t end = m.atomic(0, 1, 1000).clock.value;
  EXPECT_EQ(end, 1200u - 4);
  EXPECT_EQ(m.once(0, 2, kLoad, end + 10).data_ready.value, 1010u + 200);
  EXPECT_EQ(m.once(0, 3, kAtomic, end + 20).clock.value, 1020u + 200 - 4) << "behind the load, with it";
}

TEST_F(ModelTest, WhatDependsOnTheAtomicsValueIsNot) {
  TestMachine& m = machine();
  const std::uint64_t end = m.atomic(0, 1, 1000).clock.value;
  EXPECT_EQ(m.once(0, 2, kLoad, end + 10, end).data_ready.value, end + 200);
}

TEST_F(ModelTest, WhatLiesBeyondTheWindowIsNot) {
  TestMachine& m = machine();  // the window is 192 / 4 cycles
  const std::uint64_t end = m.atomic(0, 1, 1000).clock.value;
  EXPECT_EQ(m.once(0, 2, kLoad, end + 49, 0).data_ready.value, end + 49 + 200);
}

TEST_F(ModelTest, AtomicsFollowEachOtherWithinOneWindow) {
  TestMachine& m = machine();
  std::uint64_t now = 1000, ends[4];
  for (unsigned i = 0; i < 4; ++i) {
    ends[i] = m.access(0, 1 + i, kAtomic, now).clock.value;
    now = ends[i] + 20;
  }
  EXPECT_EQ(ends[1], 1020u + 200 - 4);
  EXPECT_EQ(ends[2], 1040u + 200 - 4);
  EXPECT_EQ(ends[3], ends[2] + 20 + 200 - 4) << "60 cycles of work behind the first one";
}

TEST_F(ModelTest, AFenceOrTransactionWaitsForTheAtomic) {
  TestMachine& m = machine();
  std::uint64_t end = m.atomic(0, 1, 1000).clock.value;
  m.rest(0);
  EXPECT_EQ(m.once(0, 2, kLoad, end + 10).data_ready.value, end + 10 + 200);
  end = m.atomic(0, 3, 5000).clock.value;
  const std::uint64_t begun = m.model().begin(CpuId(0), Cycles(end), false).value;
  EXPECT_EQ(m.once(0, 4, kLoad, begun).data_ready.value, begun + 200);
}

TEST_F(ModelTest, ALineThatAnotherCpuHadMeanwhileComesFromThere) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);  // until 1200
  EXPECT_EQ(m.once(0, 2, kAtomic, 1000).clock.value, 1200u);
  EXPECT_EQ(m.load(1, 2, 1050).data_ready.value, 1250u);  // CPU 1 brings it from memory
  const Reply reply = m.access(0, 2, kAtomic, 1200);
  EXPECT_GE(reply.clock.value, 1250u + 70 - 4);
}

TEST_F(ModelTest, AtomicsAreNeverPrivate) {
  machine().store(0, 1, 1000);
  EXPECT_TRUE(machine().local_hit(0, 1, kStore, 5000));
  EXPECT_FALSE(machine().local_hit(0, 1, kAtomic, 5000));
}

TEST_F(ModelTest, StoreToLineInFlightDrainsOnArrival) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);  // exclusive, arrives at 1200
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 1010));
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(1010)).value, 1200u);
}

// --- coherence ---

TEST_F(ModelTest, WaitingCpusGetTheLineInTheOrderInWhichTheyAsked) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  std::vector<std::pair<std::uint64_t, unsigned>> waiting;  // when each asks again
  for (const unsigned cpu : {3u, 1u, 2u}) {
    const Reply reply = m.once(cpu, 1, kStore, 1010 + waiting.size());
    ASSERT_EQ(reply.verdict, Verdict::kWait);
    waiting.emplace_back(reply.clock.value, cpu);
  }
  std::vector<unsigned> served;
  while (!waiting.empty()) {
    const auto next = std::min_element(waiting.begin(), waiting.end());
    const Reply reply = m.once(next->second, 1, kStore, next->first);
    if (reply.verdict == Verdict::kWait) {
      next->first = reply.clock.value;
    } else {
      served.push_back(next->second);
      waiting.erase(next);
    }
  }
  EXPECT_EQ(served, (std::vector<unsigned>{3, 1, 2}));
}

TEST_F(ModelTest, WaitThatGrowsCountsTheWaitingCpusAnew) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  EXPECT_EQ(m.once(1, 1, kStore, 1010).clock.value, 1200u);
  EXPECT_EQ(m.once(2, 1, kStore, 1011).clock.value, 1201u);
  m.store(0, 2, 1100);  // from memory: the next one drains behind it
  m.store(0, 1, 1150);
  EXPECT_EQ(m.once(1, 1, kStore, 1200).clock.value, 1300u) << "the first again";
  EXPECT_EQ(m.once(2, 1, kStore, 1201).clock.value, 1301u);
}

TEST_F(ModelTest, TransferLatenciesDependOnWhatTheOwnerDid) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  EXPECT_EQ(m.load(1, 1, 5000).data_ready.value, 5100u);  // modified
  EXPECT_EQ(m.load(2, 1, 6000).data_ready.value, 6050u);  // now in L3
  m.load(0, 2, 1000);
  EXPECT_EQ(m.load(1, 2, 7000).data_ready.value, 7090u);  // exclusive, unmodified
  EXPECT_EQ(m.counts(1).cache_to_cache, 2u);
  EXPECT_EQ(m.counts(2).cache_to_cache, 0u);
  m.load(0, 3, 1000);
  m.local_hit(0, 3, kStore, 1500);  // silently modified
  EXPECT_EQ(m.load(1, 3, 8000).data_ready.value, 8100u);
}

class LoadsTakeModified : public ModelTest {
 protected:
  LoadsTakeModified() { description_.coherence.loads_take_modified = true; }
};

TEST_F(LoadsTakeModified, ItLeavesTheCoreThatHadModifiedIt) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  EXPECT_EQ(m.load(1, 1, 5000).data_ready.value, 5100u);
  EXPECT_EQ(m.counts(0).invalidations_received, 1u);
  EXPECT_FALSE(m.local_hit(0, 1, kLoad, 50'000));
  EXPECT_TRUE(m.local_hit(1, 1, kLoad, 50'000));
  EXPECT_TRUE(m.local_hit(1, 1, kStore, 50'000)) << "no other core has it";
}

TEST_F(LoadsTakeModified, TheNextReaderSharesIt) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  m.load(1, 1, 5000);
  EXPECT_EQ(m.load(0, 1, 20'000).data_ready.value, 20'090u) << "it is not modified any more";
  EXPECT_TRUE(m.local_hit(1, 1, kLoad, 50'000));
  EXPECT_FALSE(m.local_hit(1, 1, kStore, 50'000));
}

TEST_F(LoadsTakeModified, UnmodifiedLinesStay) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  EXPECT_EQ(m.load(1, 1, 5000).data_ready.value, 5090u);
  EXPECT_TRUE(m.local_hit(0, 1, kLoad, 50'000));
}

/// CPU 0 stores to line 1, which has moved lately, while an older store of it waits for line 9 until 15'200.
/// CPU 1's load arrives meanwhile.
class UnseenStores : public ModelTest {
 protected:
  UnseenStores() { description_.coherence.loads_take_modified = true; }

  TestMachine& stored() {
    TestMachine& m = machine();
    m.store(0, 1, 1000);
    m.store(1, 1, 5000);
    m.store(0, 1, 10'000);
    m.store(0, 9, 15'000);
    EXPECT_TRUE(access(0, 1, kStore, 15'010).hides);
    return m;
  }
  Reply access(unsigned cpu, std::uint64_t line, AccessKind kind, std::uint64_t now) {
    Request event = TestMachine::event(cpu, line, kind, now);
    event.in_one_line = true;
    return machine().model().access(event);
  }
};

TEST_F(UnseenStores, ALoadFindsTheValueFromBefore) {
  stored();
  const Reply reply = access(1, 1, kLoad, 15'100);
  EXPECT_EQ(reply.verdict, Verdict::kDone);
  EXPECT_EQ(reply.hidden_by, 0u);
  EXPECT_EQ(reply.data_ready.value, 15'200u);
}

TEST_F(UnseenStores, TheStoreGetsItsLineBack) {
  TestMachine& m = stored();
  access(1, 1, kLoad, 15'100);
  // CPU 1 has the line at 15'200, and 100 cycles later CPU 0 has it again.
  EXPECT_EQ(m.once(0, 1, kAtomic, 15'150).clock.value, 15'300u);
  const Reply next = access(1, 1, kLoad, 15'250);
  EXPECT_EQ(next.verdict, Verdict::kWait) << "the line is on its way to CPU 0";
  EXPECT_NEAR(static_cast<double>(next.clock.value), 15'300, 4);
}

TEST_F(UnseenStores, VisibleStoresAreSeen) {
  stored();
  const Reply reply = access(1, 1, kLoad, 15'200);
  EXPECT_EQ(reply.verdict, Verdict::kDone);
  EXPECT_EQ(reply.hidden_by, Reply::kNobody);
}

TEST_F(UnseenStores, ASecondStoreIsHiddenWithTheFirst) {
  stored();
  EXPECT_FALSE(access(0, 1, kStore, 15'020).hides) << "the value from before the first one is kept";
  EXPECT_EQ(access(1, 1, kLoad, 15'100).hidden_by, 0u);
}

TEST_F(UnseenStores, CpusThatSeeALaterStoreSeeThisOne) {
  TestMachine& m = stored();
  m.load(1, 9, 15'050);  // any line of CPU 0
  const Reply reply = access(1, 1, kLoad, 15'100);
  EXPECT_EQ(reply.verdict, Verdict::kWait);
}

TEST_F(UnseenStores, ForgottenStoresAreWaitedFor) {
  stored().model().forget_unseen_stores();
  EXPECT_EQ(access(1, 1, kLoad, 15'100).verdict, Verdict::kWait);
}

TEST_F(UnseenStores, OnlyLoadsWithinALinePassThem) {
  TestMachine& m = stored();
  EXPECT_EQ(m.once(1, 1, kLoad, 15'100).verdict, Verdict::kWait);
  EXPECT_EQ(access(2, 1, kAtomic, 15'101).verdict, Verdict::kWait);
  EXPECT_EQ(access(3, 1, kStore, 15'102).verdict, Verdict::kWait);
}

TEST_F(UnseenStores, TransactionsNeitherPassNorHideThem) {
  TestMachine& m = stored();
  m.model().begin(CpuId(1), Cycles(15'050), false);
  EXPECT_EQ(access(1, 1, kLoad, 15'100).verdict, Verdict::kWait);
  m.model().begin(CpuId(2), Cycles(16'000), false);
  m.store(2, 8, 16'100);
  access(2, 1, kStore, 16'110);
  EXPECT_FALSE(access(2, 1, kStore, 17'000).hides);
}

TEST_F(ModelTest, UpgradeInvalidatesEverySharer) {
  TestMachine& m = machine();
  for (unsigned cpu = 0; cpu < 3; ++cpu) m.load(cpu, 1, 1000 + 1000 * cpu);
  m.store(0, 1, 20'000);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(20'000)).value, 20'070u);
  EXPECT_EQ(m.counts(0).upgrades, 1u);
  EXPECT_EQ(m.counts(1).invalidations_received, 1u);
  EXPECT_EQ(m.counts(2).invalidations_received, 1u);
  EXPECT_FALSE(m.local_hit(1, 1, kLoad, 50'000));
  EXPECT_EQ(m.load(1, 1, 50'000).data_ready.value, 50'100u);
}

TEST_F(ModelTest, StoreMissWaitsForDataAndAcknowledgement) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  m.load(1, 1, 2000);
  m.store(2, 1, 20'000);
  EXPECT_EQ(m.model().drain_time(CpuId(2), Cycles(20'000)).value, 20'070u);
}

TEST_F(ModelTest, LoadOfUnsharedLineAllowsStore) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 2000));
  m.load(1, 2, 1000);
  m.load(0, 2, 2000);
  EXPECT_FALSE(m.local_hit(0, 2, kStore, 50'000));
  EXPECT_FALSE(m.local_hit(1, 2, kStore, 50'000));
}

TEST_F(ModelTest, FormerOwnerIsNotAsked) {
  TestMachine& m = machine();
  m.load(0, 777, 1000);
  for (std::uint64_t i = 1; i <= 16; ++i) m.load(0, 777 + 512 * i, 1000 + 1000 * i);  // out of L1 and L2
  EXPECT_EQ(m.load(1, 777, 50'000).data_ready.value, 50'050u);
  EXPECT_TRUE(m.local_hit(1, 777, kStore, 51'000));
}

// --- a line is busy until its data arrives ---

TEST_F(ModelTest, BusyLineMakesOthersWaitRepeatedly) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);        // from memory, arrives at 1200
  std::uint64_t turn = 1200;  // each counts as a CPU that waits
  for (const AccessKind kind : {kLoad, kStore, kAtomic}) {
    const Reply reply = m.once(1, 1, kind, 1199);
    EXPECT_EQ(reply.verdict, Verdict::kWait);
    EXPECT_EQ(reply.clock.value, turn++);
  }
  EXPECT_EQ(m.once(1, 1, kStore, 1200).verdict, Verdict::kDone);  // on its way to CPU 1 until 1300
  const Reply again = m.once(2, 1, kStore, 1200);
  EXPECT_EQ(again.verdict, Verdict::kWait);
  EXPECT_EQ(again.clock.value, 1300u);
  EXPECT_EQ(m.once(2, 1, kStore, 1300).verdict, Verdict::kDone);
}

TEST_F(ModelTest, LineStaysBusyUntilStoreDrains) {
  TestMachine& m = machine();
  for (std::uint64_t now : {1000, 2000}) m.store(0, 1, now), m.load(1, 1, now + 500);  // hot, shared
  m.store(0, 1, 20'000);                                            // upgraded: CPU 0 owns it, hot
  m.store(0, 500, 21'000);                                          // misses, drains at 21,200
  EXPECT_EQ(m.once(0, 1, kStore, 21'001).verdict, Verdict::kDone);  // hits, but must drain after it
  m.rest(1);
  const Reply reply = m.once(1, 1, kLoad, 21'199);
  EXPECT_EQ(reply.verdict, Verdict::kWait);
  EXPECT_EQ(reply.clock.value, 21'200u);
  EXPECT_EQ(m.once(1, 1, kLoad, 21'200).verdict, Verdict::kDone);
}

TEST_F(ModelTest, ReadersOfAnUnmodifiedLineAreServedTogether) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  m.load(1, 1, 2000);  // shared from here on
  EXPECT_EQ(m.once(2, 1, kLoad, 3000).data_ready.value, 3050u);
  EXPECT_EQ(m.once(3, 1, kLoad, 3010).data_ready.value, 3060u);
}

TEST_F(ModelTest, WaitingWriterPrecedesLaterReaders) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  m.load(1, 1, 2000);
  m.once(2, 1, kLoad, 3000);
  m.rest(0);
  const Reply writer = m.once(0, 1, kStore, 3010);
  EXPECT_EQ(writer.verdict, Verdict::kWait);
  EXPECT_EQ(writer.clock.value, 3050u);
  EXPECT_EQ(m.once(3, 1, kLoad, 3020).verdict, Verdict::kWait);
  EXPECT_EQ(m.once(0, 1, kStore, 3050).verdict, Verdict::kDone);
}

// A load and then a store of a line that another core has modified: the store waits in the store buffer for
// the core's own load; the core does not stall.
TEST_F(ModelTest, StoreAfterOwnLoadDoesNotStall) {
  TestMachine& m = machine();
  m.store(1, 1, 1000);
  EXPECT_EQ(m.once(0, 1, kLoad, 5000).data_ready.value, 5100u);  // CPU 1 keeps a copy
  const Reply store = m.once(0, 1, kStore, 5001);
  EXPECT_EQ(store.verdict, Verdict::kDone);
  EXPECT_EQ(store.clock.value, 5001u);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(5001)).value, 5170u);  // then the upgrade
  EXPECT_EQ(m.once(1, 1, kLoad, 5169).verdict, Verdict::kWait);
}

TEST_F(ModelTest, StoreAfterOwnLoadOnContendedLineYields) {
  TestMachine& m = machine();
  m.store(1, 1, 1000);
  m.store(0, 1, 5000);
  m.store(1, 1, 6000);        // a second transfer within the hot window
  m.once(0, 1, kLoad, 7000);  // arrives at 7100
  const Reply store = m.once(0, 1, kStore, 7001);
  EXPECT_EQ(store.verdict, Verdict::kWait);
  EXPECT_EQ(store.clock.value, 7100u);
}

TEST_F(ModelTest, StoreBehindTwoReadersWaitsForBoth) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  m.load(1, 1, 2000);
  m.once(2, 1, kLoad, 3000);
  m.once(3, 1, kLoad, 3010);
  EXPECT_EQ(m.once(2, 1, kStore, 3020).verdict, Verdict::kWait);
}

TEST_F(ModelTest, OwnTrafficNeverWaitsForItself) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  EXPECT_EQ(m.once(0, 1, kLoad, 1001).verdict, Verdict::kDone);
  EXPECT_EQ(m.once(0, 1, kStore, 1002).verdict, Verdict::kDone);
}

TEST_F(ModelTest, WaitForLineIsNoReorderWork) {
  TestMachine& m = machine();
  m.store(1, 1, 1000);
  m.load(0, 50, 1100);                                            // outstanding until 1300
  EXPECT_EQ(m.once(0, 1, kLoad, 1110).clock.value, 1200u);        // waits 90 cycles
  EXPECT_EQ(m.once(0, 1, kLoad, 1200).verdict, Verdict::kDone);   // only 10 cycles of work were done
  EXPECT_EQ(m.once(0, 51, kLoad, 1238).verdict, Verdict::kDone);  // 48 cycles of work
}

// --- hot lines ---

TEST_F(ModelTest, MovedLineIsHotOnBothSides) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 2000, true));
  EXPECT_TRUE(m.fast_path(0, 1, kStore));
  m.load(1, 1, 3000);  // moves
  for (unsigned cpu : {0u, 1u}) {
    EXPECT_FALSE(m.fast_path(cpu, 1, kLoad));
    EXPECT_FALSE(m.local_hit(cpu, 1, kLoad, 12'999, true));
    EXPECT_FALSE(m.fast_path(cpu, 1, kLoad));
    EXPECT_TRUE(m.local_hit(cpu, 1, kLoad, 13'000, true));
    EXPECT_TRUE(m.fast_path(cpu, 1, kLoad));
  }
}

TEST_F(ModelTest, LateReaderOfHotLineFindsItHot) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  m.load(1, 1, 3000);
  m.load(2, 1, 5000);  // from L3: no move, but the line is hot
  EXPECT_FALSE(m.local_hit(2, 1, kLoad, 12'999));
  EXPECT_TRUE(m.local_hit(2, 1, kLoad, 13'000));
}

TEST_F(ModelTest, UpgradeMakesHotAndClosesFastPath) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  m.load(1, 1, 2000);
  for (unsigned cpu : {0u, 1u}) EXPECT_TRUE(m.local_hit(cpu, 1, kLoad, 15'000, true));
  m.store(0, 1, 20'000);
  EXPECT_FALSE(m.fast_path(0, 1, kLoad));
  EXPECT_FALSE(m.fast_path(1, 1, kLoad));
  EXPECT_FALSE(m.local_hit(0, 1, kStore, 29'999));
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 30'000));
}

TEST_F(ModelTest, HotnessSurvivesL1) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  m.load(1, 1, 3000);
  for (std::uint64_t i = 1; i <= 8; ++i) m.load(1, 1 + 64 * i, 3000 + 500 * i);
  m.load(1, 1, 9000);  // back from L2
  EXPECT_EQ(m.counts(1).l2_misses, 9u);
  EXPECT_FALSE(m.local_hit(1, 1, kLoad, 12'999));
  EXPECT_TRUE(m.local_hit(1, 1, kLoad, 13'000));
}

TEST_F(ModelTest, PrivateDataIsNeverHot) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 1200));
}

// --- the fast path's permissions ---

TEST_F(ModelTest, FastPathTakesStoresAfterFirst) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  EXPECT_TRUE(m.local_hit(0, 1, kLoad, 2000, true));
  EXPECT_TRUE(m.fast_path(0, 1, kLoad));
  EXPECT_FALSE(m.fast_path(0, 1, kStore));
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 2001, true));
  EXPECT_TRUE(m.fast_path(0, 1, kStore));
  EXPECT_TRUE(m.fast_path(0, 1, kLoad));
}

TEST_F(ModelTest, LinesThatLeaveL1LeaveTheFastPath) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  m.local_hit(0, 1, kLoad, 1500, true);
  for (std::uint64_t i = 1; i <= 8; ++i) m.load(0, 1 + 64 * i, 2000 + 1000 * i);
  EXPECT_FALSE(m.fast_path(0, 1, kLoad));
}

// --- the last level is inclusive ---

TEST_F(ModelTest, EvictionFromL3TakesTheLineFromEverybody) {
  description_.l3 = {640, 20, 50};  // 512 sets
  TestMachine& m = machine();
  m.load(1, 5, 1000);
  // Three CPUs fill the set; each keeps fewer of its lines than L2 has ways.
  std::uint64_t now = 2000;
  for (std::uint64_t line = 1; m.local_hit(1, 5, kLoad, now) && line < 100'000; ++line) {
    m.load(2 + line % 2, 100 + line, now += 1000);
  }
  EXPECT_FALSE(m.local_hit(1, 5, kLoad, now));
  EXPECT_EQ(m.load(1, 5, now + 1000).data_ready.value, now + 1200);
}

TEST_F(ModelTest, L3KeepsWhatWasAskedForLately) {
  description_.l3 = {640, 20, 50};  // 512 sets; lines 512 apart share one
  TestMachine& m = machine();
  std::uint64_t now = 1000;
  for (std::uint64_t i = 0; i <= 20; ++i)
    m.load(0, 5 + 512 * i, now += 1000);                                   // 21 lines: the first is evicted
  m.load(1, 5 + 512, now += 1000);                                         // used again
  m.load(0, 5 + 512 * 21, now += 1000);                                    // replaces the third
  EXPECT_EQ(m.load(2, 5 + 512, now + 1000).data_ready.value, now + 1090);  // CPU 1 has it
  EXPECT_EQ(m.load(3, 5 + 512 * 2, now + 2000).data_ready.value, now + 2200);
}

TEST_F(ModelTest, ModifiedLineLeavingL1ReturnsToL2) {
  description_.l1d = {64, 16, 4};  // more ways than L2
  TestMachine& m = machine();
  std::uint64_t now = 1000;
  m.store(0, 1, now);
  for (std::uint64_t i = 1; i <= 8; ++i) m.load(0, 1 + 512 * i, now += 1000);  // the same set of L1 and of L2
  EXPECT_TRUE(m.local_hit(0, 1, kStore, now + 500));
  for (std::uint64_t i = 1; i <= 64; ++i) {
    if (i % 8 != 0) m.load(0, 1 + 64 * i, now += 1000);  // the same set of L1, other sets of L2
  }
  EXPECT_FALSE(m.local_hit(0, 1, kLoad, now));
  EXPECT_EQ(m.load(0, 1, now + 1000).data_ready.value, now + 1012);
}

TEST_F(ModelTest, UpgradeOfLineOnlyInL1IsNoMiss) {
  description_.l1d = {64, 16, 4};
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  m.load(1, 1, 2000);
  for (std::uint64_t i = 1; i <= 8; ++i) m.load(0, 1 + 512 * i, 2000 + 1000 * i);  // evicts it from L2
  const CpuCounts before = m.counts(0);
  m.store(0, 1, 20'000);
  EXPECT_EQ(m.counts(0).l1_misses, before.l1_misses);
  EXPECT_EQ(m.counts(0).l2_misses, before.l2_misses);
  EXPECT_EQ(m.counts(0).upgrades, before.upgrades + 1);
}

// --- jitter ---

TEST_F(ModelTest, JitterStaysInItsBoundsAndReachesThem) {
  description_.jitter = {10, 20};
  TestMachine& m = machine();
  std::uint64_t least = ~0ull, most = 0, least_cost = ~0ull, most_cost = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::uint64_t now = 1000 * i;
    const std::uint64_t latency = m.load(0, 10'000 + i, now).data_ready.value - now;
    least = std::min(least, latency), most = std::max(most, latency);
    const std::uint64_t cost = m.model().abort_cost().value;
    least_cost = std::min(least_cost, cost), most_cost = std::max(most_cost, cost);
  }
  EXPECT_EQ(least, 180u);
  EXPECT_EQ(most, 220u);
  EXPECT_EQ(least_cost, 120u);
  EXPECT_EQ(most_cost, 180u);
}

// --- hyperthreads ---

TEST(Siblings, SiblingsShareL1AndOrderVisibleAccesses) {
  TestMachine m(exact_description(2, 2));  // CPUs 0 and 2 share a core
  m.store(0, 1, 1000);
  const Reply reply = m.load(2, 1, 5000);
  EXPECT_EQ(reply.data_ready.value, 5000u);  // in the same L1
  EXPECT_EQ(m.counts(2).l1_misses, 0u);
  EXPECT_FALSE(m.local_hit(0, 1, kStore, 50'000));  // CPU 2 would not see it in order
  EXPECT_FALSE(m.local_hit(2, 1, kLoad, 14'999));   // moved between CPUs: hot
  EXPECT_TRUE(m.local_hit(2, 1, kLoad, 15'000));
  m.store(0, 1, 60'000);
  EXPECT_FALSE(m.local_hit(2, 1, kLoad, 90'000));
  m.expect_sound();
}

TEST(Siblings, CompeteForL1) {
  TestMachine m(exact_description(2, 2));
  m.load(0, 1, 1000);
  for (std::uint64_t i = 1; i <= 8; ++i) m.load(2, 1 + 64 * i, 2000 + 1000 * i);
  EXPECT_FALSE(m.local_hit(0, 1, kLoad, 50'000));
  m.expect_sound();
}

}  // namespace
}  // namespace elision::machine::testing
