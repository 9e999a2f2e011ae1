// SPDX-License-Identifier: Apache-2.0
#include "tm/write_log.h"

#include <gtest/gtest.h>

#include <vector>

namespace elision::tm {
namespace {

constexpr std::uint64_t kWhole = ~std::uint64_t{0};

class WriteLogTest : public testing::Test {
 protected:
  WriteLogTest() {
    log_.reserve_first();
    log_.clear();
  }
  ~WriteLogTest() override { log_.give_back(); }
  WriteLog log_;
};

TEST_F(WriteLogTest, ManyWordsTakeFewProbes) {
  for (std::uint64_t stride : {8, 64, 4096}) {
    log_.clear();
    for (std::uint64_t i = 1; i <= 1 << 15; ++i) log_.store(i * stride, i, kWhole);
    EXPECT_LE(log_.most_probes(), 32u) << stride;
  }
}

TEST_F(WriteLogTest, FindsAndStoresEverythingAfterGrowth) {
  std::vector<std::uint64_t> memory(20000, 0);
  const auto word = [&](std::size_t i) { return reinterpret_cast<std::uint64_t>(&memory[i]); };
  for (std::size_t i = 0; i < memory.size(); i += 2) log_.store(word(i), i + 1, kWhole);
  for (std::size_t i = 0; i < memory.size(); i += 2) log_.store(word(i), 0xff00, 0xff00);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const WriteLog::Entry* const entry = log_.find(word(i));
    ASSERT_EQ(entry != nullptr, i % 2 == 0) << i;
    if (entry != nullptr) {
      ASSERT_EQ(entry->value, (i + 1) | 0xff00);
    }
  }
  log_.flush();
  for (std::size_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory[i], i % 2 == 0 ? (i + 1) | 0xff00 : 0);
}

TEST_F(WriteLogTest, IsEmptyAfterClear) {
  for (std::uint64_t i = 1; i <= 5000; ++i) log_.store(i * 8, i, kWhole);
  log_.clear();
  EXPECT_TRUE(log_.is_empty());
  for (std::uint64_t i = 1; i <= 5000; ++i) ASSERT_EQ(log_.find(i * 8), nullptr);
  log_.store(8, 1, kWhole);
  EXPECT_NE(log_.find(8), nullptr);
}

}  // namespace
}  // namespace elision::tm
