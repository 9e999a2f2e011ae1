// SPDX-License-Identifier: Apache-2.0
#include "machine/test_machine.h"

namespace elision::machine {
namespace {

using testing::exact_description;
using testing::TestMachine;

constexpr std::uint64_t kWay = 40;  // of a request
constexpr std::uint64_t kA = 100, kB = 301, kC = 502, kElsewhere = 703;

Description description() {
  Description d = exact_description();
  d.coherence.request_cycles = kWay;
  d.transactions.aborted_lines = AbortedLines::kInL1;
  return d;
}

class EarlyRequests : public ::testing::Test {
 protected:
  /// The transaction of `cpu` begins, touches `lines` by stores and is aborted by XABORT. When it is done.
  std::uint64_t try_in_vain(unsigned cpu, std::initializer_list<std::uint64_t> lines, std::uint64_t now) {
    now = begin(cpu, now);
    for (const std::uint64_t line : lines) now = machine_.store(cpu, line, now).clock.value;
    return machine_.model().abort(CpuId(cpu), Cycles(now), HardwareAbort::kExplicit).value;
  }
  std::uint64_t begin(unsigned cpu, std::uint64_t now) {
    return machine_.model().begin(CpuId(cpu), Cycles(now), false).value;
  }
  bool runs(unsigned cpu) { return machine_.model().in_transaction(CpuId(cpu)); }
  std::uint64_t next_arrival() { return machine_.model().next_arrival().value; }
  bool none_on_the_way() { return machine_.model().next_arrival() == kNever; }

  TestMachine machine_{description()};
};

TEST_F(EarlyRequests, SecondTryReadsLinesOfFirstAtItsBegin) {
  std::uint64_t now = try_in_vain(0, {kA, kB}, 1000);
  now = begin(0, now);
  EXPECT_TRUE(none_on_the_way());  // the core has both lines
  machine_.store(1, kB, now + 1000);
  EXPECT_FALSE(runs(0));
  machine_.expect_sound();
}

TEST_F(EarlyRequests, FirstTryReadsNothingBeforeItsAccesses) {
  std::uint64_t now = machine_.store(0, kB, 1000).clock.value;
  now = begin(0, now + 1000);
  machine_.store(1, kB, now + 1000);
  EXPECT_TRUE(runs(0));
}

TEST_F(EarlyRequests, AnAtomicInBetweenIsTheLockAndEndsTheTries) {
  std::uint64_t now = try_in_vain(0, {kA, kB}, 1000);
  now = machine_.atomic(0, kC, now).clock.value;
  now = begin(0, now + 1000);
  machine_.store(1, kB, now + 1000);
  EXPECT_TRUE(runs(0));
}

TEST_F(EarlyRequests, ACommitEndsTheTries) {
  std::uint64_t now = try_in_vain(0, {kA, kB}, 1000);
  now = begin(0, now);
  now = machine_.model().begin_commit(CpuId(0), Cycles(now)).value;
  now = machine_.model().hold_written_lines(CpuId(0)).value;
  machine_.model().finish_commit(CpuId(0));
  now = begin(0, now + 1000);
  machine_.store(1, kB, now + 1000);
  EXPECT_TRUE(runs(0));
}

TEST_F(EarlyRequests, AnotherThreadOnTheCpuEndsTheTries) {
  std::uint64_t now = try_in_vain(0, {kA, kB}, 1000);
  machine_.model().forget_tries(CpuId(0));
  now = begin(0, now);
  machine_.store(1, kB, now + 1000);
  EXPECT_TRUE(runs(0));
}

TEST_F(EarlyRequests, LinesBehindTheReorderWindowAreNotTouchedEarly) {
  constexpr std::uint64_t kWindow = 192 / 4;
  for (const bool behind : {false, true}) {
    std::uint64_t now = begin(0, 1000 + 100'000 * behind);
    machine_.rest(0);
    now = machine_.store(0, kA, now).clock.value;
    now = machine_.store(0, kB + behind, now + (behind ? kWindow + 1 : 1)).clock.value;
    now = machine_.model().abort(CpuId(0), Cycles(now), HardwareAbort::kExplicit).value;
    now = begin(0, now);
    machine_.store(1, kB + behind, now + 1000);
    EXPECT_EQ(runs(0), behind);
    if (runs(0)) machine_.model().abort(CpuId(0), Cycles(now + 2000), HardwareAbort::kExplicit);
    machine_.atomic(0, kC, now + 3000);
  }
}

TEST_F(EarlyRequests, SecondTryAsksForLinesOfAnotherCore) {
  std::uint64_t now = try_in_vain(0, {kA, kB}, 1000);
  machine_.store(1, kB, now + 1000);
  begin(1, now + 2000);
  machine_.store(1, kB, now + 2100);
  now = begin(0, now + 3000);
  ASSERT_FALSE(none_on_the_way());
  EXPECT_GE(next_arrival(), now + kWay);
  EXPECT_LE(next_arrival(), now + kWay + 10);  // a store comes a few cycles behind the other one
  EXPECT_TRUE(runs(1));

  const std::uint64_t due = next_arrival();
  const Reply early = machine_.once(0, kB, AccessKind::kLoad, now);
  EXPECT_EQ(early.verdict, Reply::Verdict::kWait);
  EXPECT_EQ(early.clock.value, due);

  machine_.model().arrive();
  EXPECT_TRUE(none_on_the_way());
  EXPECT_FALSE(runs(1));
  ASSERT_FALSE(machine_.aborts().empty());
  EXPECT_EQ(machine_.aborts().back().victim, 1u);
  EXPECT_EQ(machine_.aborts().back().requester, 0u);
  EXPECT_EQ(machine_.aborts().back().now, due);
  EXPECT_TRUE(runs(0));
  EXPECT_TRUE(machine_.local_hit(0, kB, AccessKind::kLoad, due));
  machine_.expect_sound();

  machine_.store(2, kB, due + 1000);  // the line that came early is in the read set
  EXPECT_FALSE(runs(0));
  machine_.expect_sound();
}

TEST_F(EarlyRequests, RequestArrivesAfterItsTransactionIsAborted) {
  machine_.store(1, kA, 1000);
  begin(1, 2000);
  machine_.store(1, kA, 2100);
  std::uint64_t now = begin(0, 3000);
  now = machine_.load(0, kElsewhere, now).clock.value;
  machine_.rest(0);
  const Reply standing = machine_.once(0, kA, AccessKind::kStore, now);
  ASSERT_EQ(standing.verdict, Reply::Verdict::kWait);
  ASSERT_GT(standing.clock.value, now + 1);
  EXPECT_TRUE(none_on_the_way());  // an access waits for it

  machine_.model().abort(CpuId(0), Cycles(now + 1), HardwareAbort::kInterrupt);
  EXPECT_EQ(next_arrival(), standing.clock.value);
  EXPECT_TRUE(runs(1));
  machine_.model().arrive();
  EXPECT_FALSE(runs(1));
  EXPECT_TRUE(none_on_the_way());
  machine_.expect_sound();
}

TEST_F(EarlyRequests, TwoTriesThatHoldALineOfEachOtherBothAbort) {
  std::uint64_t now = try_in_vain(0, {kA, kB}, 1000);
  now = try_in_vain(1, {kA, kB}, now + 1000);
  machine_.store(0, kA, now + 1000);  // each core has one of the lines
  now += 2000;
  const std::uint64_t first = begin(0, now), second = begin(1, now + 1);
  EXPECT_LT(first, second);
  machine_.model().arrive();
  machine_.model().arrive();
  EXPECT_FALSE(runs(0));
  EXPECT_FALSE(runs(1));
  EXPECT_TRUE(none_on_the_way());
  machine_.expect_sound();
}

TEST_F(EarlyRequests, RequestWaitsForALineOnItsWay) {
  std::uint64_t now = try_in_vain(0, {kA}, 1000);
  machine_.store(1, kA, now + 1000);
  now = begin(0, now + 20'000);
  const std::uint64_t due = next_arrival();
  ASSERT_NE(due, kNever.value);
  machine_.store(2, kA, due - 5);  // its data takes longer than five cycles
  machine_.model().arrive();
  EXPECT_GT(next_arrival(), due);
  EXPECT_FALSE(none_on_the_way());
  machine_.model().arrive();
  EXPECT_TRUE(none_on_the_way());
  machine_.expect_sound();
}

TEST_F(EarlyRequests, ForgottenRequestsDoNotArrive) {
  std::uint64_t now = try_in_vain(0, {kA}, 1000);
  machine_.store(1, kA, now + 1000);
  begin(1, now + 2000);
  machine_.store(1, kA, now + 2100);
  begin(0, now + 3000);
  ASSERT_FALSE(none_on_the_way());
  machine_.model().forget_tries();
  EXPECT_TRUE(none_on_the_way());
  machine_.model().arrive();
  EXPECT_TRUE(runs(1));
}

}  // namespace
}  // namespace elision::machine
