// SPDX-License-Identifier: Apache-2.0
#include "machine/miss_status_registers.h"

#include <gtest/gtest.h>

#include "machine/test_machine.h"

namespace elision::machine {
namespace {

/// 192 / 4 = 48 cycles of window, 10 fill buffers, 72 load buffer entries.
MissStatusRegisters make() {
  MissStatusRegisters registers;
  registers.configure(testing::exact_description());
  return registers;
}

TEST(MissStatusRegisters, MissStallsWhenReorderWindowIsFull) {
  MissStatusRegisters registers = make();
  EXPECT_EQ(registers.issue(100, 100, 200), 300u);
  EXPECT_EQ(registers.advance(147), 147u);
  EXPECT_EQ(registers.advance(148), 148u);        // 48 cycles of work: just fits
  EXPECT_EQ(registers.advance(149), 149u + 152);  // one more: stalls from 148 until 300
}

TEST(MissStatusRegisters, StopIsCountedOnce) {
  MissStatusRegisters registers = make();
  registers.issue(100, 100, 200);
  EXPECT_EQ(registers.advance(200), 352u);
  EXPECT_EQ(registers.advance(352), 352u);
  EXPECT_EQ(registers.advance(1000), 1000u);
}

TEST(MissStatusRegisters, ShortMissDoesNotStopTheCore) {
  MissStatusRegisters registers = make();
  registers.issue(100, 100, 48);  // arrives exactly when the window fills
  EXPECT_EQ(registers.advance(500), 500u);
  registers.issue(1000, 1000, 49);
  EXPECT_EQ(registers.advance(1500), 1501u);
}

TEST(MissStatusRegisters, IndependentMissesShareOneStop) {
  MissStatusRegisters registers = make();
  registers.issue(100, 100, 200);
  registers.issue(110, 110, 200);
  // The first stalls the core from 148 to 300. The second arrives at 310: by 300, 38 cycles of work have
  // followed it, and 10 more are allowed, so there is no other stall.
  EXPECT_EQ(registers.advance(500), 652u);
}

TEST(MissStatusRegisters, YoungerLongerMissStopsTheCoreAgain) {
  MissStatusRegisters registers = make();
  registers.issue(100, 100, 200);  // arrives at 300: stall from 148
  registers.issue(110, 110, 300);  // arrives at 410: its window ends 10 cycles of work after 300
  EXPECT_EQ(registers.advance(500), 500u + 152 + 100);
}

TEST(MissStatusRegisters, IdleTimeIsNotWork) {
  MissStatusRegisters registers = make();
  registers.issue(100, 100, 200);
  registers.idle(100);
  EXPECT_EQ(registers.advance(248), 248u);
  EXPECT_EQ(registers.advance(249), 249u + 52);
}

TEST(MissStatusRegisters, EleventhMissWaitsForAFillBuffer) {
  MissStatusRegisters registers = make();
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(registers.issue_time(100 + i, 0), 100 + i);
    registers.issue(100 + i, 100 + i, 40);
  }
  EXPECT_EQ(registers.issue_time(110, 0), 140u);
  EXPECT_EQ(registers.issue_time(139, 0), 140u);
  EXPECT_EQ(registers.advance(140), 140u);
  EXPECT_EQ(registers.issue_time(140, 0), 140u);
}

TEST(MissStatusRegisters, DependentMissTakesBufferWhenAddressIsReady) {
  MissStatusRegisters registers = make();
  for (std::uint64_t i = 0; i < 10; ++i) registers.issue(100, 100, 40 + i);
  EXPECT_EQ(registers.issue_time(100, 130), 100u);      // does not stall the core
  EXPECT_EQ(registers.issue(100, 130, 40), 140u + 40);  // but waits for the first buffer
  EXPECT_EQ(registers.issue(100, 145, 40), 145u + 40);
}

TEST(MissStatusRegisters, FullLoadBufferStopsTheCore) {
  MissStatusRegisters registers = make();
  for (int i = 0; i < 72; ++i) {
    EXPECT_EQ(registers.issue_time(100, 500 + 10 * i), 100u);
    registers.issue(100, 500 + 10 * i, 10);
  }
  EXPECT_EQ(registers.issue_time(100, 5000), 510u);
}

TEST(MissStatusRegisters, AllReadyIsLatestTimeUntilCleared) {
  MissStatusRegisters registers = make();
  registers.issue(100, 100, 200);
  registers.issue(101, 101, 20);
  EXPECT_EQ(registers.all_ready(110), 300u);
  EXPECT_EQ(registers.all_ready(400), 400u);
  registers.clear();
  EXPECT_EQ(registers.all_ready(110), 110u);
  EXPECT_EQ(registers.advance(10'000), 10'000u);
}

}  // namespace
}  // namespace elision::machine
