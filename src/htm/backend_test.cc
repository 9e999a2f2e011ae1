// SPDX-License-Identifier: Apache-2.0
// Status words to causes, the scripted back end's order, and, where RTM is live, rollback by the CPU.
#include "htm/backend.h"

#include <gtest/gtest.h>

#include <atomic>

#include "htm/always_abort.h"
#include "htm/cpu.h"
#include "htm/none.h"
#include "htm/own_code.h"
#include "htm/rtm.h"
#include "htm/scripted.h"

namespace elision::htm {
namespace {

using abi::AbortCause;

TEST(Status, CauseOfEachWord) {
  struct Row {
    std::uint32_t raw;
    AbortCause cause;
  };
  const Row rows[] = {
      {0, AbortCause::kOther},
      {Status::kRetryBit, AbortCause::kOther},
      {Status::kConflictBit | Status::kRetryBit, AbortCause::kConflict},
      {Status::kConflictBit | Status::kCapacityBit, AbortCause::kConflict},
      {Status::kCapacityBit, AbortCause::kCapacity},
      {Status::kDebugBit, AbortCause::kDebug},
      {Status::kNestedBit, AbortCause::kNested},
      {Status::kNestedBit | Status::kConflictBit, AbortCause::kConflict},
      {Status::explicit_abort(kCodeLockBusy).raw, AbortCause::kLockBusy},
      {Status::explicit_abort(kCodeNestedBusy).raw | Status::kNestedBit, AbortCause::kLockBusy},
      {Status::explicit_abort(kCodeGiveUp).raw, AbortCause::kExplicit},
      {Status::explicit_abort(0).raw, AbortCause::kExplicit},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Status{row.raw}.cause(), row.cause) << std::hex << row.raw;
    EXPECT_FALSE(Status{row.raw}.started());
  }
  EXPECT_TRUE(Status{Status::kStarted}.started());
}

TEST(Status, CodeCountsOnlyWithTheExplicitBit) {
  EXPECT_TRUE(Status::explicit_abort(kCodeGiveUp).has_code(kCodeGiveUp));
  EXPECT_FALSE(Status{0xfdu << 24 | Status::kConflictBit}.has_code(kCodeGiveUp));
}

TEST(Scripted, ReplaysInOrderThenStarts) {
  Scripted::reset();
  int seen = 0;
  Scripted::script.steps.push_back({Status{Status::kConflictBit}, [&] { seen = 1; }});
  Scripted::script.steps.push_back({Status{0}, [&] { seen = 2; }});
  EXPECT_EQ(Scripted::begin().cause(), AbortCause::kConflict);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(Scripted::begin().cause(), AbortCause::kOther);
  EXPECT_EQ(seen, 2);
  EXPECT_TRUE(Scripted::begin().started());
  Scripted::commit();
  EXPECT_EQ(Scripted::script.begun, 3u);
  EXPECT_EQ(Scripted::script.committed, 1u);
}

TEST(Scripted, ItsOwnAbortComesBackOrThrows) {
  Scripted::reset();
  ASSERT_TRUE(Scripted::begin().started());
  EXPECT_TRUE(Scripted::abort<kCodeLockBusy>().has_code(kCodeLockBusy));
  ASSERT_TRUE(Scripted::begin_always_abort().started());
  EXPECT_TRUE(Scripted::in_always_abort());
  EXPECT_THROW((void)Scripted::abort<kCodeGiveUp>(), Scripted::AbortedByItself);
  EXPECT_FALSE(Scripted::in_always_abort());
  EXPECT_TRUE(Scripted::abort<kCodeGiveUp>().has_code(kCodeGiveUp)) << "outside a transaction it returns";
}

TEST(None, NeverStarts) {
  EXPECT_FALSE(None::begin().started());
  EXPECT_FALSE(None::begin_always_abort().started());
  EXPECT_FALSE(None::in_always_abort());
}

class LiveRtm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_cpu().has_rtm) GTEST_SKIP() << "no live RTM on this CPU";
    touch_own_code();
  }
};

TEST_F(LiveRtm, AbortUndoesWritesAndReturnsCode) {
  volatile int written = 0;
  Status status = Rtm::begin();
  for (int i = 0; i < 1000 && !status.started() && !status.has_code(kCodeGiveUp); ++i) status = Rtm::begin();
  if (status.started()) {
    written = 1;
    status = Rtm::abort<kCodeGiveUp>();
  }
  EXPECT_EQ(written, 0);
  EXPECT_TRUE(status.has_code(kCodeGiveUp));
}

TEST_F(LiveRtm, CommitKeepsWrites) {
  volatile int written = 0;
  for (int i = 0; i < 1000 && written == 0; ++i) {
    if (!Rtm::begin().started()) continue;
    written = Rtm::in_transaction() ? 1 : -1;
    Rtm::commit();
  }
  EXPECT_EQ(written, 1);
  EXPECT_FALSE(Rtm::in_transaction());
}

TEST_F(LiveRtm, StrayXendDoesNotCommitNestedAlwaysAbort) {
  nested_rtm_depth = measure_nesting_depth();
  if (nested_rtm_depth < 2) GTEST_SKIP() << "this CPU nests no transactions";
  volatile int written = 0;
  volatile bool told = false;
  for (int i = 0; i < 1000; ++i) {
    const Status status = NestedRtm::begin_always_abort();
    if (!status.started()) continue;
    written = 1;
    told = NestedRtm::in_always_abort();
    Rtm::commit();  // the stray one
    (void)NestedRtm::abort<kCodeGiveUp>();
  }
  EXPECT_EQ(written, 0);
  EXPECT_FALSE(told);
  EXPECT_FALSE(NestedRtm::in_always_abort());
}

}  // namespace
}  // namespace elision::htm
