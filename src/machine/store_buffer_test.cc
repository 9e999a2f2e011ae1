// SPDX-License-Identifier: Apache-2.0
#include "machine/store_buffer.h"

#include <gtest/gtest.h>

#include "machine/test_machine.h"

namespace elision::machine {
namespace {

/// 6 entries, 3 requests at once.
StoreBuffer make() {
  StoreBuffer buffer;
  buffer.configure(testing::exact_description());
  return buffer;
}

TEST(StoreBuffer, DrainsInProgramOrder) {
  StoreBuffer buffer = make();
  EXPECT_EQ(buffer.push(10, 100), 100u);
  EXPECT_EQ(buffer.push(11, 50), 100u);  // its line arrives earlier, but it waits for the first
  EXPECT_EQ(buffer.push(12, 130), 130u);
  EXPECT_EQ(buffer.drained(), 130u);
  EXPECT_EQ(buffer.push(200, 200), 200u);
}

TEST(StoreBuffer, IsFullUntilOldestEntryDrains) {
  StoreBuffer buffer = make();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(buffer.entry_time(10), 10u);
    buffer.push(10, 100 + 10 * i);
  }
  EXPECT_EQ(buffer.entry_time(10), 100u);
  EXPECT_EQ(buffer.entry_time(99), 100u);
  EXPECT_EQ(buffer.entry_time(100), 100u);
  buffer.push(100, 100);
  EXPECT_EQ(buffer.entry_time(100), 110u);
}

TEST(StoreBuffer, StoreDrainedAtOnceTakesNoEntry) {
  StoreBuffer buffer = make();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(buffer.push(10, 10), 10u);
  EXPECT_EQ(buffer.entry_time(10), 10u);
  EXPECT_EQ(buffer.drained(), 0u) << "nobody had to wait for it";
}

TEST(StoreBuffer, OnlySoManyRequestsOverlap) {
  StoreBuffer buffer = make();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(buffer.request_time(10), 10u);
    buffer.requested(100 + i);
  }
  EXPECT_EQ(buffer.request_time(10), 100u);
  EXPECT_EQ(buffer.request_time(120), 120u);
  buffer.requested(200);
  EXPECT_EQ(buffer.request_time(10), 101u);
}

TEST(StoreBuffer, UndoingForgetsLaterStoresOnly) {
  StoreBuffer buffer = make();
  buffer.push(10, 100);
  const StoreBuffer::Mark mark = buffer.mark();
  for (int i = 0; i < 5; ++i) buffer.push(20, 300);
  EXPECT_EQ(buffer.entry_time(20), 100u);
  buffer.undo_to(mark);
  EXPECT_EQ(buffer.drained(), 100u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(buffer.entry_time(20), 20u);
    buffer.push(20, 200);
  }
  EXPECT_EQ(buffer.entry_time(20), 100u);
}

TEST(StoreBuffer, UndoAfterDrainKeepsQueueSound) {
  StoreBuffer buffer = make();
  buffer.push(10, 100);
  const StoreBuffer::Mark mark = buffer.mark();
  buffer.push(20, 300);
  EXPECT_EQ(buffer.entry_time(310), 310u);  // all stores have drained
  buffer.undo_to(mark);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(buffer.entry_time(310), 310u);
    buffer.push(310, 400);
  }
  EXPECT_EQ(buffer.entry_time(310), 400u);
}

}  // namespace
}  // namespace elision::machine
