// SPDX-License-Identifier: Apache-2.0
#include "profile/shared_data.h"

#include <gtest/gtest.h>

namespace elision::profile {
namespace {

constexpr std::uint32_t kProcess = 7;
constexpr std::uint64_t kLine = 0x10000;
constexpr std::uint64_t kLimit = SharedDataAccount::kMostApartNs;

class SharedDataTest : public testing::Test {
 protected:
  void load(std::uint32_t thread, std::uint64_t address, std::uint64_t pc = 0x100) {
    access(thread, address, pc, false);
  }
  void store(std::uint32_t thread, std::uint64_t address, std::uint64_t pc = 0x200) {
    access(thread, address, pc, true);
  }
  void wait(std::uint64_t ns) { time_ += ns; }
  AccessEvents events() { return account_.events(images_); }

 private:
  void access(std::uint32_t thread, std::uint64_t address, std::uint64_t pc, bool stores) {
    PerfSample sample;
    sample.process = kProcess;
    sample.thread = thread;
    sample.time = time_ += 1000;
    sample.ip = pc;
    sample.address = address;
    account_.add(sample, stores, images_, images_.number_of(kProcess));
  }

  ProcessImages images_;
  SharedDataAccount account_;
  std::uint64_t time_ = kLimit;
};

TEST_F(SharedDataTest, OneThreadSharesNothing) {
  for (int i = 0; i < 10; ++i) load(1, kLine), store(1, kLine + 8);
  EXPECT_EQ(events().shared, 0);
  EXPECT_EQ(events().loads, 10);
  EXPECT_EQ(events().stores, 10);
}

TEST_F(SharedDataTest, LoadsAloneShareNothing) {
  for (int i = 0; i < 10; ++i) load(1, kLine), load(2, kLine);
  EXPECT_EQ(events().shared, 0);
}

TEST_F(SharedDataTest, TheSameAddressIsTrueSharing) {
  store(1, kLine + 8, 0x200);
  load(2, kLine + 8, 0x300);
  const AccessEvents found = events();
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.shared, 1);
  EXPECT_EQ(found.apart, 0);
  EXPECT_EQ(found.rows[0].data.address, kLine + 8);
  EXPECT_EQ(found.rows[0].earlier.address, 0x200u);
  EXPECT_EQ(found.rows[0].later.address, 0x300u);
  EXPECT_TRUE(found.rows[0].earlier_stores);
  EXPECT_FALSE(found.rows[0].later_stores);
}

TEST_F(SharedDataTest, OtherAddressesInTheLineAreFalseSharing) {
  store(1, kLine);
  load(2, kLine + 56);
  store(2, kLine + 64);  // the next line
  EXPECT_EQ(events().shared, 1);
  EXPECT_EQ(events().apart, 1);
}

/// Threads 1 and 2 have a word each. That thread 2 was in the line last does not make them share a word.
TEST_F(SharedDataTest, OwnWordsOfThreadsAreApartInAnyOrder) {
  for (int i = 0; i < 10; ++i) store(1, kLine), store(1, kLine), store(2, kLine + 8), store(1, kLine);
  const AccessEvents found = events();
  EXPECT_GT(found.shared, 20);
  EXPECT_EQ(found.apart, found.shared);
}

/// A thread that reads often does not hide another one's store.
TEST_F(SharedDataTest, AStoreIsFoundBehindLoads) {
  store(1, kLine);
  load(3, kLine);
  load(2, kLine);
  load(2, kLine);
  EXPECT_EQ(events().shared, 3);
}

TEST_F(SharedDataTest, WhatIsTooOldIsNotShared) {
  store(1, kLine);
  wait(kLimit + 1);
  store(2, kLine);
  EXPECT_EQ(events().shared, 0);
  wait(kLimit - 2000);
  store(1, kLine);
  EXPECT_EQ(events().shared, 1);
}

TEST_F(SharedDataTest, LinesThatTheSameInstructionsShareAreOneRow) {
  for (std::uint64_t line = 0; line < 5; ++line) {
    store(1, kLine + 64 * line);
    store(2, kLine + 64 * line);
  }
  const AccessEvents found = events();
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].lines, 5u);
  EXPECT_EQ(found.rows[0].samples, 5);
}

/// Two instructions of one line of source are two rows, until names make them one: of one line.
TEST_F(SharedDataTest, OneLineIsCountedOnce) {
  for (const std::uint64_t at : {kLine, kLine + 8, kLine + 16}) {
    store(1, at);
    store(2, at);
  }
  const AccessEvents found = events();
  for (const SharedData& row : found.rows) EXPECT_EQ(row.lines, 1u);
}

TEST_F(SharedDataTest, RowsBeyondTheMostAreOneOfManyPlaces) {
  std::vector<SharedData> rows(SharedDataAccount::kMostWritten + 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].data.address = 64 * (i + 1);
    rows[i].samples = static_cast<double>(i + 1);
  }
  rows.push_back({.samples = 1000});  // of many places already
  keep_most_samples(rows);
  ASSERT_EQ(rows.size(), SharedDataAccount::kMostWritten + 1);
  EXPECT_EQ(rows.front().samples, SharedDataAccount::kMostWritten + 2);
  EXPECT_TRUE(is_many(rows.back().data));
  EXPECT_EQ(rows.back().samples, 1000 + 1 + 2);
}

TEST_F(SharedDataTest, WithoutAnAddressNothingIsKnown) {
  store(1, 0);
  store(2, 0);
  EXPECT_EQ(events().shared, 0);
  EXPECT_EQ(events().unknown, 2);
}

TEST_F(SharedDataTest, ManyLinesAndInstructionsTakeBoundedRoom) {
  constexpr std::uint64_t kMany = SharedDataAccount::kMostLines + 1000;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    store(1, kLine + 64 * i, 0x1000 + i);
    store(2, kLine + 64 * i, 0x2000000 + i);
  }
  const AccessEvents found = events();
  EXPECT_EQ(found.shared, kMany);
  EXPECT_EQ(found.rows.size(), SharedDataAccount::kMostWritten + 1);
  double sum = 0;
  for (const SharedData& row : found.rows) sum += row.samples;
  EXPECT_EQ(sum, kMany);
}

}  // namespace
}  // namespace elision::profile
