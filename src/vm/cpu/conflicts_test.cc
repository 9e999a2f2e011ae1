// SPDX-License-Identifier: Apache-2.0
// What is remembered of a transaction's accesses.
#include "vm/cpu/conflicts.h"

#include <gtest/gtest.h>

#include <memory>

namespace elision::vm {
namespace {

Access access(std::uint64_t line, std::uint64_t pc) { return {start_of(LineAddr(line)).value + 8, pc, 8}; }

TEST(TransactionAccesses, KnowsTheFirstToEachLineOfThisTransaction) {
  const auto accesses = std::make_unique<TransactionAccesses>();
  accesses->note(access(5, 1), false);
  accesses->note(access(5, 2), false);
  EXPECT_EQ(accesses->first_in(LineAddr(5)).pc, 1u);
  EXPECT_EQ(accesses->first_in(LineAddr(6)).size, 0u);
  accesses->clear();
  EXPECT_EQ(accesses->first_in(LineAddr(5)).size, 0u);
  accesses->note(access(5, 3), false);
  EXPECT_EQ(accesses->first_in(LineAddr(5)).pc, 3u);
}

TEST(TransactionAccesses, ExpectsWhatEarlierTriesDid) {
  const auto accesses = std::make_unique<TransactionAccesses>();
  EXPECT_EQ(accesses->expected_in(LineAddr(5)).size, 0u);
  accesses->note(access(5, 1), false);
  accesses->clear();
  EXPECT_EQ(accesses->expected_in(LineAddr(5)).pc, 1u);
  EXPECT_EQ(accesses->expected_in(LineAddr(6)).size, 0u);
  accesses->note(access(5, 2), false);
  EXPECT_EQ(accesses->expected_in(LineAddr(5)).pc, 2u);
  accesses->clear();
  accesses->clear();
  EXPECT_EQ(accesses->expected_in(LineAddr(5)).pc, 2u) << "a try that was ended before it came to the line";
  accesses->end_tries();
  accesses->clear();
  EXPECT_EQ(accesses->expected_in(LineAddr(5)).size, 0u) << "of another transaction";
}

TEST(TransactionAccesses, WritesAreToldFromFirstAccesses) {
  const auto accesses = std::make_unique<TransactionAccesses>();
  accesses->note(access(5, 1), false);
  EXPECT_EQ(accesses->expected_write_in(LineAddr(5)).size, 0u);
  accesses->note(access(5, 2), true);
  accesses->note(access(5, 3), true);
  EXPECT_EQ(accesses->first_in(LineAddr(5)).pc, 1u);
  EXPECT_EQ(accesses->expected_write_in(LineAddr(5)).pc, 2u);
  accesses->clear();
  accesses->note(access(5, 4), false);
  EXPECT_EQ(accesses->expected_in(LineAddr(5)).pc, 4u);
  EXPECT_EQ(accesses->expected_write_in(LineAddr(5)).pc, 2u) << "of the try before";
  accesses->end_tries();
  accesses->clear();
  EXPECT_EQ(accesses->expected_write_in(LineAddr(5)).size, 0u);
}

TEST(TransactionAccesses, LinesAtRegularDistancesDoNotForgetEachOther) {
  constexpr std::uint64_t kLines = 64, kBegin = 0x418785;
  for (std::uint64_t distance = 1; distance <= 1 << 16; distance *= 2) {
    const auto accesses = std::make_unique<TransactionAccesses>();
    for (std::uint64_t i = 0; i < kLines; ++i) accesses->note(access(kBegin + i * distance, i + 1), false);
    for (std::uint64_t i = 0; i < kLines; ++i)
      EXPECT_EQ(accesses->first_in(LineAddr(kBegin + i * distance)).pc, i + 1) << distance;
  }
}

TEST(TransactionAccesses, MostLinesOfALargeTransactionAreKnown) {
  const auto accesses = std::make_unique<TransactionAccesses>();
  unsigned known = 0;
  for (std::uint64_t line = 0; line < 1024; ++line) accesses->note(access(line, line + 1), false);
  for (std::uint64_t line = 0; line < 1024; ++line)
    known += accesses->first_in(LineAddr(line)).pc == line + 1 ? 1 : 0;
  EXPECT_GE(known, 1000u);
}

TEST(TransactionWaits, AreAddedUpByLine) {
  TransactionWaits waits;
  waits.add(access(5, 1), 0, 10);
  waits.add(access(6, 2), 100, 120);
  waits.add(access(5, 3), 200, 230);
  ASSERT_EQ(waits.end() - waits.begin(), 2);
  EXPECT_EQ(waits.begin()[0].access.pc, 1u);
  EXPECT_EQ(waits.begin()[0].ticks, 40u);
  EXPECT_EQ(waits.begin()[1].ticks, 20u);
  waits.clear();
  EXPECT_EQ(waits.begin(), waits.end());
}

TEST(TransactionWaits, AFewLinesAreKept) {
  TransactionWaits waits;
  for (std::uint64_t line = 0; line < 100; ++line) waits.add(access(line, line), line, line + 1);
  const auto count = static_cast<std::size_t>(waits.end() - waits.begin());
  EXPECT_GE(count, 8u);
  EXPECT_LT(count, 100u);
  waits.add(access(0, 0), 100, 101);
  EXPECT_EQ(waits.begin()->ticks, 2u);
}

TEST(TransactionWaits, SideBySideCountOnce) {
  TransactionWaits waits;
  waits.add(access(5, 1), 0, 100);
  waits.add(access(6, 2), 10, 90);
  waits.add(access(7, 3), 50, 120);
  ASSERT_EQ(waits.end() - waits.begin(), 2);
  EXPECT_EQ(waits.begin()[0].ticks, 100u);
  EXPECT_EQ(waits.begin()[1].ticks, 20u);
}

}  // namespace
}  // namespace elision::vm
