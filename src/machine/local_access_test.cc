// SPDX-License-Identifier: Apache-2.0
// Local accesses, which only the core's own caches serve, and how other CPUs see them later.
#include <random>

#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

constexpr AccessKind kLoad = AccessKind::kLoad, kStore = AccessKind::kStore, kAtomic = AccessKind::kAtomic;
constexpr std::uint64_t kL1Sets = 64, kL1Ways = 8;

class LocalAccessTest : public ::testing::Test {
 protected:
  void TearDown() override { machine().expect_sound(); }
  TestMachine& machine() {
    if (!machine_) machine_ = std::make_unique<TestMachine>(description_);
    return *machine_;
  }
  /// Makes an access that misses L1, if it stays within the core. True if it did.
  bool stays_in_core(unsigned cpu, std::uint64_t line, AccessKind kind, std::uint64_t now,
                     std::uint64_t instruction = 0) {
    Request request = TestMachine::request(cpu, line, kind, now);
    request.instruction = instruction;
    request.most = Reach::kL1;
    EXPECT_EQ(machine().model().access(request).verdict, Reply::Verdict::kNeedsOrder);
    request.most = Reach::kCore;
    reply_ = machine().model().access(request);
    if (reply_.verdict == Reply::Verdict::kNeedsOrder) return false;
    EXPECT_EQ(reply_.verdict, Reply::Verdict::kDone);
    EXPECT_EQ(reply_.reach, Reach::kCore);
    return true;
  }
  /// The reply to that access.
  const Reply& reply() const { return reply_; }
  /// CPU 0 has `line` in L2 and no longer in L1. Ends before cycle 10,000.
  void leave_in_l2(std::uint64_t line, AccessKind kind = kLoad) {
    machine().access(0, line, kind, 100);
    for (std::uint64_t way = 1; way <= kL1Ways; ++way)
      machine().load(0, line + way * kL1Sets * 8 + way, 1000 * way);
    for (std::uint64_t way = 1; way <= kL1Ways; ++way)
      machine().load(0, line + way * kL1Sets, 1000 * way + 500);
  }

  Description description_ = exact_description(2);

 private:
  std::unique_ptr<TestMachine> machine_;
  Reply reply_{};
};

TEST_F(LocalAccessTest, HitInL2CostsSameAsInOrder) {
  leave_in_l2(7, kStore);
  machine().rest(0);
  ASSERT_TRUE(stays_in_core(0, 7, kLoad, 20'000));
  EXPECT_EQ(reply().data_ready.value, 20'012u);
  EXPECT_EQ(machine().counts(0).l2_misses, 1 + 2 * kL1Ways);
}

TEST_F(LocalAccessTest, AccessBeyondL1FollowsChargeForSharedCore) {
  leave_in_l2(7);
  machine().rest(0);
  Request request = TestMachine::request(0, 7, kLoad, 20'000);
  request.charged = Cycles(20'050);
  const Reply in_l2 = machine().model().access(request);
  EXPECT_EQ(in_l2.performed, Cycles(20'050));
  EXPECT_EQ(in_l2.data_ready, Cycles(20'062));
  request.now = Cycles(20'100);
  request.charged = Cycles(20'150);
  const Reply in_l1 = machine().model().access(request);
  EXPECT_EQ(in_l1.reach, Reach::kL1);
  EXPECT_EQ(in_l1.clock, Cycles(20'100)) << "a hit is not charged";
}

TEST_F(LocalAccessTest, MissOfL2AndAtomicNeedOrder) {
  leave_in_l2(7, kStore);
  EXPECT_FALSE(stays_in_core(0, 9999, kLoad, 20'000));
  EXPECT_FALSE(stays_in_core(0, 7, kAtomic, 20'000));
}

TEST_F(LocalAccessTest, StoreNeedsPermissionToWrite) {
  leave_in_l2(7);
  leave_in_l2(9);
  EXPECT_TRUE(stays_in_core(0, 9, kStore, 20'000)) << "nobody else has it";
  machine().load(1, 7, 25'000);
  EXPECT_FALSE(stays_in_core(0, 7, kStore, 40'000));
  EXPECT_TRUE(stays_in_core(0, 7, kLoad, 40'000));
}

TEST_F(LocalAccessTest, HotLineNeedsOrderUntilItCools) {
  leave_in_l2(7, kStore);
  machine().load(1, 7, 15'000);  // moved: hot for 10,000 cycles
  EXPECT_FALSE(stays_in_core(0, 7, kLoad, 24'999));
  EXPECT_TRUE(stays_in_core(0, 7, kLoad, 25'000));
}

TEST_F(LocalAccessTest, AccessInTransactionNeedsOrder) {
  leave_in_l2(7);
  machine().model().begin(CpuId(0), Cycles(19'000), false);
  EXPECT_FALSE(stays_in_core(0, 7, kLoad, 20'000)) << "the line joins a set that others look at";
  machine().model().abort(CpuId(0), Cycles(20'000), HardwareAbort::kExplicit);
  EXPECT_TRUE(stays_in_core(0, 7, kLoad, 21'000));
}

TEST_F(LocalAccessTest, AccessBesideTransactionOfSiblingNeedsOrder) {
  description_ = exact_description(1, 2);
  leave_in_l2(7);
  machine().model().begin(CpuId(1), Cycles(19'000), false);
  EXPECT_FALSE(stays_in_core(0, 7, kLoad, 20'000)) << "it might lose a line";
  machine().model().abort(CpuId(1), Cycles(20'000), HardwareAbort::kExplicit);
  EXPECT_TRUE(stays_in_core(0, 7, kLoad, 21'000));
}

TEST_F(LocalAccessTest, StallForFillBufferNeedsNoOrder) {
  leave_in_l2(7);
  machine().rest(0);
  for (std::uint64_t line = 5000; line < 5010; ++line) machine().access(0, line, kLoad, 20'000);
  ASSERT_TRUE(stays_in_core(0, 7, kLoad, 20'000)) << "all fill buffers are busy";
  EXPECT_EQ(reply().clock.value, 20'200u);
  EXPECT_EQ(reply().data_ready.value, 20'212u);
}

TEST_F(LocalAccessTest, OtherCpuWaitsForLocalStoreToDrain) {
  leave_in_l2(7);
  machine().rest(0);
  ASSERT_TRUE(stays_in_core(0, 7, kStore, 20'000));
  ASSERT_EQ(machine().model().drain_time(CpuId(0), Cycles(20'000)).value, 20'012u);
  const Reply early = machine().once(1, 7, kLoad, 20'005);
  EXPECT_EQ(early.verdict, Reply::Verdict::kWait);
  EXPECT_EQ(early.clock.value, 20'012u);
  EXPECT_EQ(machine().once(1, 7, kLoad, 20'012).verdict, Reply::Verdict::kDone);
}

TEST_F(LocalAccessTest, OtherCpuWaitsForLocalStoreEvictedToL2) {
  leave_in_l2(7);
  machine().store(0, 9000, 19'990);  // from memory: later stores drain with it, at 20,190
  machine().access(0, 7, kStore, 20'000);
  for (std::uint64_t way = 1; way <= kL1Ways + 1; ++way)
    machine().access(0, 7 + way * kL1Sets, kLoad, 20'001);
  ASSERT_EQ(machine().model().drain_time(CpuId(0), Cycles(20'000)).value, 20'190u);
  ASSERT_FALSE(machine().local_hit(0, 7, kLoad, 20'100)) << "L1 should have lost it";
  EXPECT_EQ(machine().once(1, 7, kLoad, 20'100).clock.value, 20'190u);
}

TEST_F(LocalAccessTest, LocalStoreAheadDoesNotDelayOtherCpu) {
  leave_in_l2(7);
  machine().rest(0);
  ASSERT_TRUE(stays_in_core(0, 7, kStore, 20'000)) << "CPU 0 runs ahead";
  EXPECT_EQ(machine().once(1, 7, kLoad, 19'999).verdict, Reply::Verdict::kDone);
}

TEST_F(LocalAccessTest, AbortKeepsDrainTimeOfStoreBeforeTransaction) {
  for (const AbortedLines lines : {AbortedLines::kInL1, AbortedLines::kInL2, AbortedLines::kLost}) {
    description_.transactions.aborted_lines = lines;
    TestMachine m(description_);
    m.access(0, 7, kStore, 100);
    m.access(0, 9000, kStore, 19'900);  // from memory: later stores drain with it, at 20,100
    m.access(0, 7, kStore, 19'950);
    m.model().begin(CpuId(0), Cycles(19'960), false);
    m.access(0, 9001, kStore, 19'980);  // and this one never
    m.access(0, 7, kStore, 19'985);
    m.model().abort(CpuId(0), Cycles(20'000), HardwareAbort::kExplicit);
    const Reply reply = m.once(1, 7, kLoad, 20'050);
    EXPECT_EQ(reply.verdict, Reply::Verdict::kWait);
    EXPECT_EQ(reply.clock.value, 20'100u);
    m.expect_sound();
  }
}

TEST_F(LocalAccessTest, LoadWithPrefetchFromOutsideCoreNeedsOrder) {
  description_.prefetch.next_line = true;
  machine().load(0, 700, 100);
  machine().load(0, 701, 1000);  // prefetches 702
  EXPECT_FALSE(stays_in_core(0, 702, kLoad, 5000)) << "703 is nowhere near";
  leave_in_l2(703);
  EXPECT_TRUE(stays_in_core(0, 702, kLoad, 20'000)) << "703 is in L2";
}

TEST_F(LocalAccessTest, StoreToPrefetchedLinePrefetchesNothing) {
  description_.prefetch.next_line = true;
  machine().load(0, 700, 100);
  machine().load(0, 701, 1000);  // prefetches 702
  EXPECT_TRUE(stays_in_core(0, 702, kStore, 5000));
}

TEST_F(LocalAccessTest, AccessWithStreamFromOutsideCoreNeedsOrder) {
  description_.prefetch.stream_lines = 20;
  for (const std::uint64_t line : {712, 715, 716}) leave_in_l2(line);
  machine().load(0, 710, 10'000);
  machine().load(0, 711, 11'000);
  for (const AccessKind kind : {kLoad, kStore})
    EXPECT_FALSE(stays_in_core(0, 712, kind, 12'000)) << "713 and 714 are nowhere near";
  machine().load(0, 712, 13'000);  // prefetches them
  EXPECT_TRUE(stays_in_core(0, 713, kStore, 20'000)) << "715 and 716 are in L2";
}

TEST_F(LocalAccessTest, StreamWithOneLineFromOutsideCoreNeedsOrder) {
  description_.prefetch.stream_lines = 20;
  leave_in_l2(713);
  machine().load(0, 710, 10'000);
  machine().load(0, 711, 11'000);
  EXPECT_FALSE(stays_in_core(0, 712, kLoad, 12'000)) << "714 is nowhere near";
}

TEST_F(LocalAccessTest, PrefetchWithFewSetsNeedsOrder) {
  description_.prefetch.next_line = true;
  description_.l1d.size_kb /= 2;  // 32 sets
  for (const std::uint64_t line : {700, 701, 702}) machine().load(0, line, 10 * line);
  leave_in_l2(703);
  leave_in_l2(702);
  machine().load(0, 701, 15'000);
  EXPECT_FALSE(stays_in_core(0, 702, kLoad, 20'000)) << "the lines of a page may evict each other";
}

TEST_F(LocalAccessTest, LoadWithStridePrefetchFromL2StaysInCore) {
  description_.prefetch.stride = true;
  for (const std::uint64_t line : {808, 804}) {
    machine().load(0, line, 10 * line);
    leave_in_l2(line);
  }
  const auto by_instruction = [&](std::uint64_t line, std::uint64_t now) {
    Request request = TestMachine::event(0, line, kLoad, now);
    request.instruction = 0x400;
    machine().rest(0);
    machine().model().access(request);
  };
  by_instruction(796, 30'000);
  by_instruction(800, 31'000);
  EXPECT_TRUE(stays_in_core(0, 804, kLoad, 32'000, 0x400)) << "808 is in L2";
  by_instruction(804, 32'000);
  EXPECT_FALSE(stays_in_core(0, 808, kLoad, 33'000, 0x400)) << "812 is nowhere near";
}

/// An access of CPU 0 that waits as often as the model tells it to.
Reply finished(Model& model, Request request) {
  Reply reply = model.access(request);
  while (reply.verdict == Reply::Verdict::kWait) {
    request.now = reply.clock;
    reply = model.access(request);
  }
  return reply;
}

/// An access within the core plans its prefetches and carries them out later. An ordered event looks them up
/// when it makes them.
TEST(LocalAccess, HasTheSameEffectAsAnOrderedEvent) {
  Description description = exact_description(1);
  description.prefetch = {.next_line = true, .stride = true, .adjacent_line = true, .stream_lines = 8};
  TestMachine local(description), ordered(description);
  std::mt19937_64 random(1);
  std::uint64_t now = 1000, stream = 0, within_core = 0;
  for (unsigned i = 0; i < 200'000; ++i) {
    const bool in_stream = random() % 2 == 0;
    const std::uint64_t line = in_stream ? 100'000 + stream++ / 2 % 6000 : 1000 + random() % 3000;
    Request request = TestMachine::request(0, line, random() % 4 == 0 ? kStore : kLoad, now);
    request.instruction = in_stream ? 0x400 : 0x500 + random() % 8;
    // What hits L1 is never an event.
    request.most = Reach::kL1;
    const Reply hit = local.model().access(request);
    ASSERT_EQ(hit.verdict, ordered.model().access(request).verdict) << i;
    now += random() % 30;
    if (hit.verdict == Reply::Verdict::kDone) continue;
    request.most = Reach::kMachine;
    const Reply mine = finished(local.model(), request);
    request.least = Reach::kMachine;
    const Reply others = finished(ordered.model(), request);
    within_core += mine.reach == Reach::kCore;
    ASSERT_EQ(mine.data_ready, others.data_ready) << i;
    ASSERT_EQ(mine.clock, others.clock) << i;
    now = mine.clock.value;
  }
  EXPECT_GT(within_core, 20'000u);
  const CpuCounts &a = local.counts(0), &b = ordered.counts(0);
  EXPECT_EQ(a.l1_misses, b.l1_misses);
  EXPECT_EQ(a.l2_misses, b.l2_misses);
  EXPECT_EQ(a.l3_misses, b.l3_misses);
  EXPECT_EQ(a.prefetches, b.prefetches);
  EXPECT_EQ(a.tlb_misses, b.tlb_misses);
  EXPECT_EQ(a.reorder_buffer_stall_cycles, b.reorder_buffer_stall_cycles);
  EXPECT_EQ(a.store_buffer_stall_cycles, b.store_buffer_stall_cycles);
  local.expect_sound();
  ordered.expect_sound();
}

}  // namespace
}  // namespace elision::machine::testing
