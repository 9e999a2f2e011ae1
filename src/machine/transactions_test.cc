// SPDX-License-Identifier: Apache-2.0
// Transactions: conflicts, capacity, the lines of an aborted transaction, costs, the filter's epochs.
#include <ostream>

#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

using Verdict = Reply::Verdict;
constexpr AccessKind kLoad = AccessKind::kLoad, kStore = AccessKind::kStore, kAtomic = AccessKind::kAtomic;

class TransactionTest : public ::testing::Test {
 protected:
  void TearDown() override { machine().expect_sound(); }

  Description description_ = exact_description();
  TestMachine& machine() {
    if (!machine_) machine_ = std::make_unique<TestMachine>(description_);
    return *machine_;
  }
  void begin(unsigned cpu, std::uint64_t now, bool always_abort = false) {
    machine().model().begin(CpuId(cpu), Cycles(now), always_abort);
  }
  bool running(unsigned cpu) { return machine().model().in_transaction(CpuId(cpu)); }
  std::uint64_t commit(unsigned cpu, std::uint64_t now) {
    const std::uint64_t when = start_commit(cpu, now);
    machine().model().finish_commit(CpuId(cpu));
    return when;
  }
  /// Lets the commit hold its lines at once. Returns when it takes place.
  std::uint64_t start_commit(unsigned cpu, std::uint64_t now) {
    machine().model().begin_commit(CpuId(cpu), Cycles(now));
    return machine().model().hold_written_lines(CpuId(cpu)).value;
  }

 private:
  std::unique_ptr<TestMachine> machine_;
};

// --- accesses by devices and the kernel ---

TEST_F(TransactionTest, OutsideReadEndsWritersOfItsLinesAlone) {
  begin(0, 1000);
  machine().access(0, 10, kStore, 1100);
  begin(1, 1000);
  machine().access(1, 11, kLoad, 1100);
  begin(2, 1000);
  machine().access(2, 13, kStore, 1100);
  machine().model().end_conflicting(LineAddr(9), LineAddr(12), false, Cycles(5000));
  EXPECT_FALSE(running(0));
  EXPECT_TRUE(running(1)) << "it has only read";
  EXPECT_TRUE(running(2)) << "another line";
}

TEST_F(TransactionTest, OutsideWriteEndsReadersAndWriters) {
  begin(0, 1000);
  machine().access(0, 10, kStore, 1100);
  begin(1, 1000);
  machine().access(1, 11, kLoad, 1100);
  machine().model().end_conflicting(LineAddr(10), LineAddr(11), true, Cycles(5000));
  EXPECT_FALSE(running(0));
  EXPECT_FALSE(running(1));
  ASSERT_EQ(machine().aborts().size(), 2u);
}

// --- conflicts ---

TEST_F(TransactionTest, LoadThatTakesAModifiedLineEndsItsReader) {
  for (const bool takes : {false, true}) {
    for (const bool modified : {false, true}) {
      description_.coherence.loads_take_modified = takes;
      TestMachine m(description_);
      m.access(0, 10, modified ? kStore : kLoad, 1000);
      m.model().begin(CpuId(0), Cycles(50'000), false);
      m.access(0, 10, kLoad, 50'100);
      m.access(1, 10, kLoad, 60'000);
      EXPECT_EQ(m.model().in_transaction(CpuId(0)), !(takes && modified)) << takes << modified;
      m.expect_sound();
    }
  }
}

TEST_F(TransactionTest, LoadThatUndoesAWriteDoesNotTakeTheLine) {
  description_.coherence.loads_take_modified = true;
  machine().load(0, 10, 1000);
  begin(0, 50'000);
  machine().access(0, 10, kStore, 50'100);
  machine().access(1, 10, kLoad, 60'000);
  EXPECT_FALSE(running(0));
  EXPECT_TRUE(machine().local_hit(0, 10, kLoad, 200'000)) << "what the core had is not modified";
}

TEST_F(TransactionTest, LoadThatTakesALineTravelsToIt) {
  description_.coherence.loads_take_modified = true;
  description_.coherence.request_cycles = 40;
  machine().store(0, 10, 1000);
  begin(0, 50'000);
  machine().access(0, 10, kLoad, 50'100);
  const Reply reply = machine().once(1, 10, kLoad, 60'000);
  EXPECT_EQ(reply.verdict, Verdict::kWait) << "until then the transaction may commit";
  EXPECT_EQ(reply.clock.value, 60'040u);
  EXPECT_TRUE(running(0));
}

struct ConflictCase {
  const char* name;
  AccessKind first, second;
  bool second_transactional;
  bool aborts_first;
};

void PrintTo(const ConflictCase& conflict, std::ostream* out) { *out << conflict.name; }

class ConflictTest : public ::testing::TestWithParam<ConflictCase> {};

TEST_P(ConflictTest, RequesterWins) {
  const ConflictCase& c = GetParam();
  TestMachine m(exact_description());
  m.model().begin(CpuId(0), Cycles(1000), false);
  m.access(0, 1, c.first, 1100);
  if (c.second_transactional) m.model().begin(CpuId(1), Cycles(4000), false);
  const Reply reply = m.access(1, 1, c.second, 5000);
  EXPECT_EQ(reply.verdict, Verdict::kDone);
  ASSERT_EQ(m.aborts().size(), c.aborts_first ? 1u : 0u);
  EXPECT_EQ(m.model().in_transaction(CpuId(0)), !c.aborts_first);
  EXPECT_EQ(m.model().in_transaction(CpuId(1)), c.second_transactional);
  if (c.aborts_first) {
    const AbortRecord& record = m.aborts()[0];
    EXPECT_EQ(record.victim, 0u);
    EXPECT_EQ(record.requester, 1u);
    EXPECT_EQ(record.cause, HardwareAbort::kConflict);
    EXPECT_EQ(record.line, LineAddr(1));
    EXPECT_EQ(record.now, 5000u);
    EXPECT_EQ(m.counts(0).aborts[static_cast<unsigned>(HardwareAbort::kConflict)], 1u);
  }
  m.expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Matrix, ConflictTest,
                         ::testing::Values(ConflictCase{"ReadRead", kLoad, kLoad, true, false},
                                           ConflictCase{"ReadWrite", kLoad, kStore, true, true},
                                           ConflictCase{"WriteRead", kStore, kLoad, true, true},
                                           ConflictCase{"WriteWrite", kStore, kStore, true, true},
                                           ConflictCase{"ReadAtomic", kLoad, kAtomic, true, true},
                                           ConflictCase{"AtomicRead", kAtomic, kLoad, true, true},
                                           ConflictCase{"ReadPlainRead", kLoad, kLoad, false, false},
                                           ConflictCase{"ReadPlainWrite", kLoad, kStore, false, true},
                                           ConflictCase{"WritePlainRead", kStore, kLoad, false, true},
                                           ConflictCase{"WritePlainWrite", kStore, kStore, false, true},
                                           ConflictCase{"WritePlainAtomic", kStore, kAtomic, false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(TransactionTest, WriterAbortsEveryReader) {
  for (unsigned cpu = 0; cpu < 3; ++cpu) {
    begin(cpu, 1000);
    machine().load(cpu, 1, 2000 + 500 * cpu);
  }
  machine().store(3, 1, 9000);
  EXPECT_EQ(machine().aborts().size(), 3u);
}

TEST_F(TransactionTest, OtherLinesOfAbortedTransactionComeWhenItsCoreHasRolledBack) {
  machine().access(1, 12, kLoad, 500);
  begin(0, 1000);
  machine().access(0, 10, kStore, 1100);
  machine().access(0, 11, kStore, 1100);
  machine().access(0, 12, kLoad, 1100);  // L3 supplies it, too
  machine().store(2, 10, 5000);
  ASSERT_FALSE(running(0));
  const std::uint64_t conflict = machine().aborts().back().now;
  const std::uint64_t resume = machine().aborts().back().resume;
  ASSERT_GT(resume, conflict + 1);
  machine().rest(1);
  const Reply other = machine().once(1, 11, kLoad, conflict + 1);
  EXPECT_EQ(other.verdict, Verdict::kWait);
  EXPECT_EQ(other.clock.value, resume);
  machine().rest(3);
  EXPECT_EQ(machine().once(3, 12, kLoad, conflict + 1).verdict, Verdict::kDone);
  EXPECT_EQ(machine().once(1, 11, kLoad, resume).verdict, Verdict::kDone);
}

TEST_F(TransactionTest, OwnReAccessNeverConflicts) {
  begin(0, 1000);
  for (const AccessKind kind : {kLoad, kStore, kLoad, kAtomic, kStore}) machine().access(0, 1, kind, 5000);
  EXPECT_TRUE(running(0));
}

TEST_F(TransactionTest, LineInFlightToWriterDoesNotAbortIt) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.store(0, 1, 1000);  // arrives at 1200
  EXPECT_EQ(m.once(1, 1, kStore, 1100).verdict, Verdict::kWait);
  EXPECT_TRUE(running(0));
  EXPECT_EQ(commit(0, 1150), 1200u);                              // the drain
  EXPECT_EQ(m.once(1, 1, kStore, 1200).verdict, Verdict::kWait);  // the commit comes first
  EXPECT_EQ(m.once(1, 1, kStore, 1201).verdict, Verdict::kDone);
  EXPECT_TRUE(m.aborts().empty());
}

// Between XEND and the commit, other CPUs can still take a line that was read, but not one that was written.
TEST_F(TransactionTest, ReadLineConflictsUntilCommit) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.load(0, 1, 1000);
  const std::uint64_t when = start_commit(0, 2000);
  EXPECT_GE(when, 2025u);
  m.store(1, 1, when - 1);
  EXPECT_FALSE(running(0));
  EXPECT_EQ(m.aborts().size(), 1u);
}

// Before that, XEND is like the instructions before it.
TEST_F(TransactionTest, WrittenLineConflictsUntilTheCommitHoldsIt) {
  description_.transactions.commit_hold_cycles = 10;
  for (const AccessKind kind : {kLoad, kStore, kAtomic}) {
    TestMachine m(description_);
    m.model().begin(CpuId(0), Cycles(1000), false);
    m.access(0, 1, kStore, 1100);
    EXPECT_EQ(m.model().begin_commit(CpuId(0), Cycles(1500)).value, 1515u);
    EXPECT_EQ(m.once(1, 1, kind, 1514).verdict, Verdict::kDone);
    EXPECT_FALSE(m.model().in_transaction(CpuId(0)));
    EXPECT_EQ(m.aborts().size(), 1u);
  }
}

TEST_F(TransactionTest, HoldIsNoLongerThanTheCommit) {
  for (const auto& [hold, held_from] : {std::pair{0u, 2025u}, {24u, 2001u}, {25u, 2000u}, {26u, 2000u}}) {
    description_.transactions.commit_hold_cycles = hold;
    TestMachine held(description_);
    held.model().begin(CpuId(0), Cycles(1000), false);
    EXPECT_EQ(held.model().begin_commit(CpuId(0), Cycles(2000)).value, held_from);
    EXPECT_EQ(held.model().hold_written_lines(CpuId(0)).value, 2025u);
    held.model().finish_commit(CpuId(0));
  }
}

TEST_F(TransactionTest, WrittenLineIsHeldFromThenToCommit) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.store(0, 1, 1000);
  const std::uint64_t when = start_commit(0, 2000);
  std::uint64_t turn = when;
  for (const AccessKind kind : {kLoad, kStore, kAtomic}) {
    const Reply reply = m.once(1, 1, kind, 2001);
    EXPECT_EQ(reply.verdict, Verdict::kWait);
    EXPECT_EQ(reply.clock.value, ++turn);
  }
  EXPECT_TRUE(running(0));
  m.model().finish_commit(CpuId(0));
  EXPECT_EQ(m.once(1, 1, kLoad, when + 1).verdict, Verdict::kDone);
  EXPECT_TRUE(m.aborts().empty());
}

TEST_F(TransactionTest, DisjointLinesDoNotConflict) {
  begin(0, 1000);
  machine().store(0, 1, 1100);
  machine().store(1, 2, 5000);
  EXPECT_TRUE(running(0));
}

TEST_F(TransactionTest, AfterTheEndNothingConflicts) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.store(0, 1, 1100);
  m.load(0, 2, 1200);
  commit(0, 5000);
  begin(0, 6000);
  m.store(1, 1, 7000);
  m.store(1, 2, 8000);
  EXPECT_TRUE(running(0));
  EXPECT_TRUE(m.aborts().empty());
}

TEST_F(TransactionTest, WithoutConflictDetectionNothingConflicts) {
  description_.conflict_detection = false;
  begin(0, 1000);
  machine().store(0, 1, 1100);
  machine().load(0, 2, 1200);
  machine().store(1, 1, 7000);
  machine().store(1, 2, 8000);
  EXPECT_TRUE(running(0));
  EXPECT_EQ(machine().store(0, 1, 9000).first_write_in_transaction, true);
  machine().expect_sound();
  commit(0, 9500);
}

TEST_F(TransactionTest, SiblingsConflictInTheirSharedL1) {
  description_ = exact_description(2, 2);
  begin(0, 1000);
  machine().store(0, 1, 1100);
  machine().load(2, 1, 5000);
  EXPECT_FALSE(running(0));
  begin(0, 10'000);
  machine().load(0, 2, 11'000);
  machine().load(2, 2, 12'000);
  EXPECT_TRUE(running(0));
  machine().store(2, 2, 13'000);
  EXPECT_FALSE(running(0));
}

// --- first accesses ---

TEST_F(TransactionTest, OnlyFirstAccessToLineIsOrdered) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 2000, true));
  begin(0, 3000);
  EXPECT_FALSE(m.fast_path(0, 1, kLoad));
  EXPECT_FALSE(m.local_hit(0, 1, kLoad, 3100, true));
  m.load(0, 1, 3100);
  EXPECT_TRUE(m.local_hit(0, 1, kLoad, 3200, true));
  EXPECT_TRUE(m.fast_path(0, 1, kLoad));
  EXPECT_FALSE(m.fast_path(0, 1, kStore));
  EXPECT_FALSE(m.local_hit(0, 1, kStore, 3300, true));
  EXPECT_TRUE(m.store(0, 1, 3300).first_write_in_transaction);
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 3400, true));
  EXPECT_TRUE(m.fast_path(0, 1, kStore));
  commit(0, 4000);
  EXPECT_FALSE(m.fast_path(0, 1, kLoad));
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 4100));
}

TEST_F(TransactionTest, FirstWriteIsToldOncePerLine) {
  begin(0, 1000);
  EXPECT_FALSE(machine().load(0, 1, 1100).first_write_in_transaction);
  EXPECT_TRUE(machine().store(0, 1, 5000).first_write_in_transaction);
  EXPECT_FALSE(machine().store(0, 1, 6000).first_write_in_transaction);
  EXPECT_FALSE(machine().load(0, 1, 6500).first_write_in_transaction);
  EXPECT_TRUE(machine().atomic(0, 2, 7000).first_write_in_transaction);
  commit(0, 8000);
  EXPECT_FALSE(machine().store(0, 1, 9000).first_write_in_transaction);
  begin(0, 10'000);
  EXPECT_TRUE(machine().store(0, 1, 11'000).first_write_in_transaction);
}

// --- capacity ---

TEST_F(TransactionTest, WriteSetIsSetsTimesWays) {
  TestMachine& m = machine();
  begin(0, 1000);
  std::uint64_t now = 2000;
  for (std::uint64_t line = 0; line < 512; ++line) {
    ASSERT_EQ(m.store(0, 10'240 + line, now += 1000).verdict, Verdict::kDone) << line;
  }
  EXPECT_TRUE(running(0));
  const Reply reply = m.store(0, 10'240 + 512, now += 1000);
  EXPECT_EQ(reply.verdict, Verdict::kAborted);
  EXPECT_EQ(reply.cause, HardwareAbort::kCapacity);
  EXPECT_EQ(reply.clock.value, now + 150);
  EXPECT_FALSE(running(0));
  EXPECT_TRUE(m.aborts().empty());  // the sink is called for other CPUs only
  EXPECT_EQ(m.counts(0).aborts[static_cast<unsigned>(HardwareAbort::kCapacity)], 1u);
  // The access was not performed.
  EXPECT_FALSE(m.local_hit(0, 10'240 + 512, kLoad, now + 5000));
}

TEST_F(TransactionTest, WriteSetIsBoundBySet) {
  begin(0, 1000);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(machine().store(0, 3 + 64 * i, 2000 + 1000 * i).verdict, Verdict::kDone);
  }
  EXPECT_EQ(machine().store(0, 3 + 64 * 8, 20'000).verdict, Verdict::kAborted);
}

TEST_F(TransactionTest, ReadsCanPushOutWrittenLines) {
  begin(0, 1000);
  machine().store(0, 3, 2000);
  Reply reply{};
  for (std::uint64_t i = 1; i <= 8; ++i) reply = machine().load(0, 3 + 64 * i, 2000 + 1000 * i);
  EXPECT_EQ(reply.verdict, Verdict::kAborted);
  EXPECT_EQ(reply.cause, HardwareAbort::kCapacity);
}

TEST_F(TransactionTest, ReadSetOutlivesL1AndL2) {
  TestMachine& m = machine();
  begin(0, 1000);
  std::uint64_t now = 2000;
  for (std::uint64_t line = 0; line < 8000; ++line) m.load(0, 50'000 + line, now += 1000);  // 500 KB
  EXPECT_TRUE(running(0));
  EXPECT_FALSE(m.local_hit(0, 50'000, kLoad, now));
  m.expect_sound();
  m.store(1, 50'000, now += 1000);
  EXPECT_FALSE(running(0));
}

TEST_F(TransactionTest, LineInReadSetIsNotGivenExclusively) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.load(0, 777, 1500);
  for (std::uint64_t i = 1; i <= 16; ++i) m.load(0, 777 + 512 * i, 2000 + 1000 * i);  // out of L1 and L2
  m.load(1, 777, 50'000);
  EXPECT_FALSE(m.local_hit(1, 777, kStore, 60'000));
  m.store(1, 777, 60'000);
  EXPECT_FALSE(running(0));
}

TEST_F(TransactionTest, RereadLineIsNoNewMember) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.load(0, 1, 1500);
  for (std::uint64_t i = 1; i <= 8; ++i) m.load(0, 1 + 64 * i, 2000 + 1000 * i);
  m.load(0, 1, 20'000);
  m.expect_sound();
  EXPECT_TRUE(m.local_hit(0, 1, kLoad, 21'000));
}

TEST_F(TransactionTest, LosingAReadLineFromL3Aborts) {
  description_.l3 = {640, 20, 50};
  TestMachine& m = machine();
  begin(0, 1000);
  m.load(0, 5, 1500);
  std::uint64_t now = 2000;
  for (std::uint64_t line = 0; running(0) && line < 100'000; ++line)
    m.load(1 + line % 3, 100 + line, now += 1000);
  ASSERT_EQ(m.aborts().size(), 1u);
  EXPECT_EQ(m.aborts()[0].cause, HardwareAbort::kCapacity);
  EXPECT_EQ(m.aborts()[0].line, LineAddr(5));
}

TEST_F(TransactionTest, OwnReadsBeyondL3AbortTheReader) {
  description_.l3 = {640, 20, 50};  // 10,240 lines
  TestMachine& m = machine();
  begin(0, 1000);
  Reply reply{};
  std::uint64_t read = 0;
  for (; read < 20'000; ++read) {
    reply = m.load(0, 100 + read, 2000 + 1000 * read);
    if (reply.verdict != Verdict::kDone) break;
  }
  EXPECT_EQ(reply.verdict, Verdict::kAborted);
  EXPECT_EQ(reply.cause, HardwareAbort::kCapacity);
  EXPECT_GT(read, 9000u);
  EXPECT_LE(read, 10'240u);
}

TEST_F(TransactionTest, SiblingsSqueezeEachOthersWriteSets) {
  description_ = exact_description(2, 2);
  begin(0, 1000);
  for (std::uint64_t i = 0; i < 4; ++i) machine().store(0, 3 + 64 * i, 2000 + 1000 * i);
  for (std::uint64_t i = 4; i < 8; ++i) machine().load(2, 3 + 64 * i, 2000 + 1000 * i);
  EXPECT_TRUE(running(0));
  machine().load(2, 3 + 64 * 8, 20'000);
  ASSERT_EQ(machine().aborts().size(), 1u);
  EXPECT_EQ(machine().aborts()[0].cause, HardwareAbort::kCapacity);
}

// --- the lines after an abort ---

TEST_F(TransactionTest, AfterACommitLinesAreOrdinary) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.store(0, 1, 1100);
  m.load(0, 2, 1200);
  commit(0, 5000);
  EXPECT_TRUE(m.local_hit(0, 1, kStore, 5100));
  EXPECT_TRUE(m.local_hit(0, 2, kLoad, 5100));
}

TEST_F(TransactionTest, AbortedWritesFollowPolicyAndReadsStay) {
  for (const AbortedLines fate : {AbortedLines::kInL1, AbortedLines::kInL2, AbortedLines::kLost}) {
    Description d = exact_description();
    d.transactions.aborted_lines = fate;
    TestMachine m(d);
    m.load(0, 3, 100);
    m.model().begin(CpuId(0), Cycles(1000), false);
    m.store(0, 1, 1100);
    m.load(0, 2, 1200);
    m.store(0, 3, 1300);
    EXPECT_EQ(m.model().abort(CpuId(0), Cycles(5000), HardwareAbort::kExplicit).value, 5150u);
    EXPECT_TRUE(m.local_hit(0, 2, kLoad, 6000));
    for (std::uint64_t line : {1u, 3u})
      EXPECT_EQ(m.local_hit(0, line, kLoad, 6000), fate == AbortedLines::kInL1);
    const std::uint64_t latency = fate == AbortedLines::kInL1 ? 0 : fate == AbortedLines::kInL2 ? 12 : 50;
    EXPECT_EQ(m.load(0, 1, 6000).data_ready.value, 6000 + latency);
    EXPECT_EQ(m.load(0, 3, 7000).data_ready.value, 7000 + latency);
    EXPECT_TRUE(m.local_hit(0, 1, kStore, 8000)) << "owned either way: nobody else has it";
    m.expect_sound();
  }
}

TEST_F(TransactionTest, AbortedLineKeepsEarlierDirtyContents) {
  for (const AbortedLines fate : {AbortedLines::kInL1, AbortedLines::kInL2}) {
    Description d = exact_description();
    d.transactions.aborted_lines = fate;
    TestMachine m(d);
    m.store(0, 1, 500);  // modified before the transaction
    m.model().begin(CpuId(0), Cycles(1000), false);
    m.store(0, 1, 2000);
    m.store(0, 2, 2100);  // not modified before
    m.model().abort(CpuId(0), Cycles(5000), HardwareAbort::kExplicit);
    EXPECT_EQ(m.load(1, 1, 20'000).data_ready.value, 20'100u);  // modified in CPU 0's L2
    EXPECT_EQ(m.load(1, 2, 30'000).data_ready.value, 30'090u);  // clean in its core
  }
}

TEST_F(TransactionTest, AbortedLineIsKeptWithoutL2Copy) {
  description_.l1d = {64, 16, 4};  // more ways than L2
  description_.transactions.aborted_lines = AbortedLines::kInL2;
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  for (std::uint64_t i = 1; i <= 8; ++i) m.load(0, 1 + 512 * i, 1000 + 1000 * i);  // evicts it from L2
  begin(0, 20'000);
  m.store(0, 1, 20'100);
  m.model().abort(CpuId(0), Cycles(21'000), HardwareAbort::kExplicit);
  EXPECT_EQ(m.load(0, 1, 30'000).data_ready.value, 30'012u);
}

// --- costs ---

TEST_F(TransactionTest, CommitWaitsForCostDrainAndLoads) {
  TestMachine& m = machine();
  EXPECT_EQ(m.model().begin(CpuId(0), Cycles(1000), false).value, 1020u);
  EXPECT_EQ(commit(0, 1020), 1045u);
  begin(0, 2000);
  m.store(0, 1, 2020);  // arrives at 2220
  EXPECT_EQ(commit(0, 2194), 2220u);
  begin(0, 3000);
  m.store(0, 2, 3020);
  EXPECT_EQ(commit(0, 3196), 3221u);
  begin(0, 4000);
  m.load(0, 3, 4020);
  EXPECT_EQ(commit(0, 4030), 4245u);  // XEND executes after the load
}

/// A transaction of CPU 0 whose load arrives at 1220. XEND is reached at 1030 and done at 1245.
class BehindACommit : public TransactionTest {
 protected:
  static constexpr std::uint64_t kEnd = 1245, kWindow = 192 / 4;

  void commit_late() {
    begin(0, 1000);
    machine().load(0, 1, 1020);
    EXPECT_EQ(machine().model().settle(CpuId(0), Cycles(1030)).value, 1220u);
    EXPECT_EQ(commit(0, 1220), kEnd);
  }
  std::uint64_t begin_of_work(std::uint64_t now) {
    return machine().model().begin_of_work(CpuId(0), Cycles(now)).value;
  }
};

TEST_F(BehindACommit, LoadsBeginWhenXendIsReached) {
  commit_late();
  EXPECT_EQ(machine().once(0, 2, kLoad, kEnd + 10).data_ready.value, 1040u + 200);
}

TEST_F(BehindACommit, AWindowOfWorkIsDoneDuringIt) {
  commit_late();
  EXPECT_EQ(begin_of_work(kEnd + 30), kEnd);
  EXPECT_EQ(begin_of_work(kEnd + 30), kEnd + 30) << "once";
}

TEST_F(BehindACommit, MoreThanTheWindowIsDoneAfterIt) {
  commit_late();
  EXPECT_EQ(begin_of_work(kEnd + 100), kEnd + 100 - kWindow);
}

TEST_F(BehindACommit, NothingIsDoneDuringAnAbort) {
  begin(0, 1000);
  machine().load(0, 1, 1020);
  machine().model().settle(CpuId(0), Cycles(1030));
  machine().model().begin_commit(CpuId(0), Cycles(1220));
  machine().model().abort(CpuId(0), Cycles(1230), HardwareAbort::kInterrupt);
  EXPECT_EQ(begin_of_work(1400), 1400u);
}

// --- CLFLUSH ---

TEST_F(TransactionTest, FlushedLinesComeFromMemory) {
  TestMachine& m = machine();
  m.load(0, 1, 1000);
  m.load(1, 1, 2000);
  m.model().flush(LineAddr(1), Cycles(3000));
  EXPECT_FALSE(m.local_hit(1, 1, kLoad, 50'000));
  EXPECT_EQ(m.load(0, 1, 60'000).data_ready.value, 60'200u);
  m.model().flush(LineAddr(7), Cycles(70'000));  // nobody has it
}

TEST_F(TransactionTest, AFlushEndsTheTransactionsThatHaveTheLine) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.load(0, 1, 1020);
  begin(1, 1000);
  m.load(1, 2, 1020);
  m.model().flush(LineAddr(1), Cycles(2000));
  EXPECT_FALSE(running(0));
  EXPECT_TRUE(running(1));
}

TEST_F(TransactionTest, AFlushLeavesLinesOfTransactionsThatDetectNoConflicts) {
  description_.conflict_detection = false;
  begin(0, 1000);
  machine().load(0, 1, 1020);
  machine().model().flush(LineAddr(1), Cycles(2000));
  EXPECT_TRUE(running(0));
  EXPECT_TRUE(machine().local_hit(0, 1, kLoad, 2500));
  machine().rest(0);
  EXPECT_EQ(commit(0, 3000), 3025u);
}

TEST_F(TransactionTest, EachWrittenLineLengthensTheCommit) {
  description_.transactions.commit_line_cycles = 3;
  TestMachine& m = machine();
  for (std::uint64_t line = 1; line <= 4; ++line) m.store(0, line, 1000);
  begin(0, 2000);
  m.load(0, 4, 2100);
  EXPECT_EQ(commit(0, 2200), 2225u);
  begin(0, 3000);
  for (std::uint64_t line = 1; line <= 3; ++line) m.store(0, line, 3100);
  m.store(0, 1, 3150);
  EXPECT_EQ(commit(0, 3200), 3234u);
  begin(0, 4000);
  EXPECT_EQ(commit(0, 4200), 4225u) << "the count begins anew";
}

TEST_F(TransactionTest, AbortedStoresDoNotDelayDrain) {
  TestMachine& m = machine();
  m.store(0, 1, 1000);
  begin(0, 1010);
  m.store(0, 2, 1100);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(1100)).value, 1300u);
  m.model().abort(CpuId(0), Cycles(1110), HardwareAbort::kExplicit);
  EXPECT_EQ(m.model().drain_time(CpuId(0), Cycles(1110)).value, 1200u);
}

TEST_F(TransactionTest, AbortedLoadsDoNotStall) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.load(0, 1, 1000);  // arrives at 1200
  m.model().abort(CpuId(0), Cycles(1010), HardwareAbort::kExplicit);
  EXPECT_EQ(m.once(0, 2, kLoad, 1160).verdict, Verdict::kDone);
}

TEST_F(TransactionTest, CountsTellCausesApart) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.model().abort(CpuId(0), Cycles(1100), HardwareAbort::kInterrupt);
  begin(0, 2000, true);
  EXPECT_TRUE(m.model().always_abort(CpuId(0)));
  m.model().abort(CpuId(0), Cycles(2100), HardwareAbort::kCommitInAlwaysAbort);
  begin(0, 3000);
  EXPECT_FALSE(m.model().always_abort(CpuId(0)));
  commit(0, 3100);
  const CpuCounts& counts = m.counts(0);
  EXPECT_EQ(counts.begins, 3u);
  EXPECT_EQ(counts.always_abort_begins, 1u);
  EXPECT_EQ(counts.commits, 1u);
  EXPECT_EQ(counts.aborts[static_cast<unsigned>(HardwareAbort::kInterrupt)], 1u);
  EXPECT_EQ(counts.aborts[static_cast<unsigned>(HardwareAbort::kCommitInAlwaysAbort)], 1u);
}

TEST_F(TransactionTest, SpuriousAbortsComeAtTheirRate) {
  description_.transactions.spurious_aborts_per_million = 2000;
  unsigned due = 0;
  for (int i = 0; i < 100'000; ++i) {
    begin(0, 1000 * i);
    due += machine().model().spurious_abort_due(CpuId(0), Cycles(1000 * i + 10));
    EXPECT_FALSE(machine().model().spurious_abort_due(CpuId(0), Cycles(1000 * i + 20)));
    commit(0, 1000 * i + 30);
  }
  EXPECT_GT(due, 140u);  // 200 expected, standard deviation 14
  EXPECT_LT(due, 260u);
}

// --- epochs ---

TEST_F(TransactionTest, ReusedEpochFindsNoOldEntries) {
  TestMachine& m = machine();
  m.load(0, 1, 500);
  begin(0, 1000);
  m.load(0, 1, 1100);
  EXPECT_TRUE(m.local_hit(0, 1, kLoad, 1200, true));
  EXPECT_TRUE(m.fast_path(0, 1, kLoad));
  const std::uint64_t epoch = m.filter(0).epoch;
  EXPECT_NE(epoch, 0u);
  commit(0, 1300);
  for (int i = 0; i < 65534; ++i) {
    begin(0, 2000);
    EXPECT_NE(m.filter(0).epoch, epoch);
    ASSERT_FALSE(m.fast_path(0, 1, kLoad));
    commit(0, 2100);
  }
  begin(0, 3000);
  EXPECT_EQ(m.filter(0).epoch, epoch);
  EXPECT_FALSE(m.fast_path(0, 1, kLoad));
}

// --- always-abort options ---

TEST_F(TransactionTest, AlwaysAbortCanIgnoreReadConflicts) {
  description_.always_abort.detects_read_conflicts = false;
  TestMachine& m = machine();
  begin(0, 1000, true);
  m.load(0, 1, 1100);
  m.store(0, 2, 1200);
  m.store(1, 1, 5000);
  EXPECT_TRUE(running(0));
  m.expect_sound();
  m.load(1, 2, 6000);  // a line that it wrote must never be seen
  EXPECT_FALSE(running(0));

  begin(2, 10'000, false);  // ordinary transactions detect conflicts
  m.load(2, 3, 11'000);
  m.store(1, 3, 12'000);
  EXPECT_FALSE(running(2));
}

TEST_F(TransactionTest, AlwaysAbortCanIgnoreWriteConflicts) {
  description_.always_abort.detects_write_conflicts = false;
  TestMachine& m = machine();
  const auto lost = [&] { return m.lost_lines().size(); };
  begin(0, 1000, true);
  m.store(0, 1, 1100);
  m.store(0, 2, 1200);
  m.load(1, 1, 5000);
  EXPECT_TRUE(running(0));
  ASSERT_EQ(lost(), 1u);
  EXPECT_EQ(m.lost_lines()[0], std::pair(0u, std::uint64_t{1}));
  m.expect_sound();
  m.store(1, 2, 6000);
  EXPECT_TRUE(running(0));
  EXPECT_EQ(lost(), 2u);
  m.expect_sound();

  EXPECT_TRUE(m.store(0, 1, 7000).first_write_in_transaction) << "it may write the line again";
  m.load(0, 3, 7100);
  m.store(0, 3, 7200);
  m.load(1, 3, 8000);
  EXPECT_TRUE(running(0)) << "to load a line is no conflict with a read of it";
  m.expect_sound();
  m.store(1, 3, 8500);
  EXPECT_FALSE(running(0)) << "but to store to it is, also later";
  begin(0, 9000, true);
  m.load(0, 4, 9100);
  m.store(0, 4, 9200);
  m.store(1, 4, 10'000);
  EXPECT_FALSE(running(0));
  m.expect_sound();

  begin(2, 20'000, false);  // ordinary transactions detect conflicts
  m.store(2, 5, 21'000);
  m.load(1, 5, 22'000);
  EXPECT_FALSE(running(2));
}

TEST_F(TransactionTest, AlwaysAbortCanEndWhenReadLineLeavesL1) {
  description_.always_abort.abort_on_read_eviction = ReadEviction::kL1;
  for (const bool always_abort : {false, true}) {
    const std::uint64_t first = always_abort ? 2 : 1;  // another set
    begin(0, 1000, always_abort);
    for (std::uint64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(machine().load(0, first + 64 * i, 2000 + 1000 * i).verdict, Verdict::kDone);
    }
    const Reply reply = machine().load(0, first + 64 * 8, 20'000);
    EXPECT_EQ(reply.verdict, always_abort ? Verdict::kAborted : Verdict::kDone);
    EXPECT_EQ(running(0), !always_abort);
    if (running(0)) commit(0, 30'000);
  }
}

TEST_F(TransactionTest, AlwaysAbortCanOutliveL3Evictions) {
  for (const ReadEviction level : {ReadEviction::kL3, ReadEviction::kNever}) {
    Description d = exact_description();
    d.l3 = {640, 20, 50};
    d.always_abort.abort_on_read_eviction = level;
    TestMachine m(d);
    m.model().begin(CpuId(0), Cycles(1000), true);
    m.load(0, 5, 1500);
    for (std::uint64_t line = 0; line < 15'000; ++line) m.load(1 + line % 3, 100 + line, 2000 + 1000 * line);
    EXPECT_EQ(m.model().in_transaction(CpuId(0)), level == ReadEviction::kNever);
    m.expect_sound();
  }
}

// --- requests on their way to another core ---

class TravelTest : public TransactionTest {
 protected:
  TravelTest() { description_.coherence.request_cycles = 60; }

  /// CPU 0 is in a transaction that has loaded line 1.
  TestMachine& with_reader() {
    begin(0, 1000);
    machine().load(0, 1, 1100);
    return machine();
  }
};

TEST_F(TravelTest, RequestReachesAnotherCoreLater) {
  description_.topology = {1, 2, 2};
  TestMachine& m = with_reader();
  EXPECT_EQ(m.once(1, 1, kStore, 2000).clock.value, 2060u);
  EXPECT_TRUE(running(0)) << "the request is on its way";
  EXPECT_EQ(m.once(1, 1, kStore, 2060).verdict, Verdict::kDone);
  begin(0, 10'000);
  m.load(0, 2, 11'000);
  m.store(2, 2, 12'000);  // the sibling's
  begin(0, 20'000);
  m.load(0, 3, 21'000);
  m.model().end_conflicting(LineAddr(3), LineAddr(3), true, Cycles(22'000));
  ASSERT_EQ(m.aborts().size(), 3u);
  EXPECT_EQ(m.aborts()[0].now, 2060u);
  EXPECT_EQ(m.aborts()[1].now, 12'000u);
  EXPECT_EQ(m.aborts()[2].now, 22'000u);
  for (const AbortRecord& abort : m.aborts()) EXPECT_EQ(abort.resume, abort.now + 150);
}

TEST_F(TravelTest, TransactionThatEndsBeforeTheRequestArrivesCommits) {
  TestMachine& m = with_reader();
  EXPECT_EQ(m.once(1, 1, kAtomic, 2000).verdict, Verdict::kWait);
  commit(0, 2020);
  const Reply reply = m.once(1, 1, kAtomic, 2060);
  EXPECT_EQ(reply.verdict, Verdict::kDone);
  EXPECT_EQ(reply.clock.value, 2000u + 90 - 4) << "its way is a part of the transfer";
  EXPECT_TRUE(m.aborts().empty());
}

TEST_F(TravelTest, RequestThatComesLateBeginsItsWayAnew) {
  TestMachine& m = with_reader();
  EXPECT_EQ(m.once(1, 1, kStore, 2000).clock.value, 2060u);
  EXPECT_EQ(m.once(1, 1, kStore, 2121).clock.value, 2181u);
  EXPECT_EQ(m.once(1, 1, kStore, 2181).verdict, Verdict::kDone);
}

TEST_F(TravelTest, RequestWaitsAtTheCoreForACommit) {
  TestMachine& m = machine();
  begin(0, 1000);
  m.store(0, 1, 1100);
  EXPECT_EQ(m.once(1, 1, kStore, 2000).clock.value, 2060u);
  ASSERT_EQ(start_commit(0, 2050), 2075u);
  EXPECT_EQ(m.once(1, 1, kStore, 2060).clock.value, 2076u);
  m.model().finish_commit(CpuId(0));
  begin(0, 2075);
  m.store(0, 1, 2075);
  EXPECT_EQ(m.once(1, 1, kStore, 2076).verdict, Verdict::kDone) << "it is there already";
  EXPECT_FALSE(running(0));
}

TEST_F(TravelTest, RequestThatWaitsForALineIsHalfWayThere) {
  TestMachine& m = machine();
  begin(0, 1000);
  const std::uint64_t there = m.once(0, 1, kLoad, 1000).data_ready.value;
  EXPECT_EQ(m.once(1, 1, kStore, 1010).clock.value, there) << "the line is in flight";
  EXPECT_EQ(m.once(1, 1, kStore, there).clock.value, there + 30);
  EXPECT_EQ(m.once(1, 1, kStore, there + 30).verdict, Verdict::kDone);
  EXPECT_FALSE(running(0));
}

TEST_F(TravelTest, ContendedLineStaysUntilTheRequestArrives) {
  TestMachine& m = machine();
  m.atomic(0, 1, 1000);
  EXPECT_EQ(m.once(1, 1, kAtomic, 3000).verdict, Verdict::kDone) << "not contended yet";
  EXPECT_EQ(m.once(0, 1, kAtomic, 4000).verdict, Verdict::kDone);
  EXPECT_EQ(m.once(1, 1, kAtomic, 5000).clock.value, 5060u);
  EXPECT_TRUE(m.local_hit(0, 1, kLoad, 20'000)) << "CPU 0 has it still";
  m.rest(1);
  EXPECT_EQ(m.once(1, 1, kStore, 6000).clock.value, 6060u) << "and so it is for a store";
}

TEST_F(TravelTest, IndependentRequestsTravelTogether) {
  for (const bool dependent : {false, true}) {
    TestMachine m(description_);
    m.model().begin(CpuId(0), Cycles(1000), false);
    for (std::uint64_t line = 1; line <= 3; ++line) m.load(0, line, 1000);
    m.model().begin(CpuId(2), Cycles(2000), false);
    m.load(2, 2, 2000);
    m.rest(1);
    EXPECT_EQ(m.once(1, 1, kStore, 5000).clock.value, 5060u);
    EXPECT_EQ(m.once(1, 1, kStore, 5060).verdict, Verdict::kDone);
    const Reply next = m.once(1, 2, kStore, 5062, dependent ? 5050 : 0);
    if (dependent) {
      EXPECT_EQ(next.clock.value, 5122u);
    } else {
      EXPECT_EQ(next.verdict, Verdict::kDone) << "it left two cycles after the first one";
    }
    EXPECT_EQ(m.model().in_transaction(CpuId(2)), dependent);
  }
}

}  // namespace
}  // namespace elision::machine::testing
