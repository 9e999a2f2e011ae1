// SPDX-License-Identifier: Apache-2.0
#include "abi/tm_counters_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace elision::abi {
namespace {

class TmCountersReaderTest : public ::testing::Test {
 protected:
  TmCountersReaderTest() : file_(kTmCountersFileBytes, '\0') {
    header_.magic = kTmCountersMagic;
    header_.version = kTmCountersVersion;
    header_.slot_bytes = sizeof(TmCounters);
    header_.slots = kTmCounterSlots;
    header_.process_id = 77;
    header_.mode = static_cast<std::uint32_t>(TmMode::kAle);
    for (const std::uint32_t slot : {0u, 5u, kTmCounterSlots - 1}) {
      TmCounters counters{};
      counters.plain_commits = slot + 1;
      counters.write_backs_under_lock = 2;
      std::memcpy(file_.data() + kTmCountersHeaderBytes + slot * sizeof counters, &counters, sizeof counters);
    }
  }
  std::optional<TmCounterTotals> sum() {
    std::memcpy(file_.data(), &header_, sizeof header_);
    return sum_tm_counters(file_.data(), file_.size());
  }
  std::string file_;
  TmCountersHeader header_{};
};

TEST_F(TmCountersReaderTest, AddsAllSlotsUp) {
  const auto totals = sum();
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->process_id, 77u);
  EXPECT_EQ(totals->counts.plain_commits, 1 + 6 + kTmCounterSlots);
  EXPECT_EQ(totals->counts.write_backs_under_lock, 6u) << "the last counter of a slot";
  EXPECT_EQ(totals->hardware_commits(), totals->counts.plain_commits);
  EXPECT_EQ(totals->software_commits(), 0u);
}

TEST_F(TmCountersReaderTest, SubtractsWhatWasBefore) {
  auto totals = sum();
  TmCounterTotals earlier;
  earlier.counts.plain_commits = 7;
  earlier.counts.cancels = 1;
  totals->subtract(earlier);
  EXPECT_EQ(totals->counts.plain_commits, kTmCounterSlots);
  EXPECT_EQ(totals->counts.cancels, 0u) << "never below zero";
}

TEST_F(TmCountersReaderTest, ReadsNothingElse) {
  const TmCountersHeader right = header_;
  header_.magic = 0;
  EXPECT_FALSE(sum()) << "it is being made";
  header_ = right;
  ++header_.version;
  EXPECT_FALSE(sum());
  header_ = right;
  header_.slots = 1;
  EXPECT_FALSE(sum());
  header_ = right;
  header_.slot_bytes = 8;
  EXPECT_FALSE(sum());
  header_ = right;
  header_.mode = static_cast<std::uint32_t>(TmMode::kCount);
  EXPECT_FALSE(sum());
  header_ = right;
  file_.pop_back();
  EXPECT_FALSE(sum()) << "it is cut off";
}

}  // namespace
}  // namespace elision::abi
