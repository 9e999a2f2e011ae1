// SPDX-License-Identifier: Apache-2.0
#include "tm/fresh_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace elision::tm {
namespace {

const void* at(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

class FreshMemoryTest : public ::testing::Test {
 protected:
  FreshMemoryTest() { fresh_.reserve_first(); }
  ~FreshMemoryTest() override { fresh_.give_back(); }
  FreshMemory fresh_;
};

TEST_F(FreshMemoryTest, HasNothingAtFirstAndAfterwards) {
  EXPECT_FALSE(fresh_.has(at(0)));
  fresh_.note(at(1000), 16);
  EXPECT_TRUE(fresh_.has(at(1000)));
  fresh_.clear();
  EXPECT_FALSE(fresh_.has(at(1000)));
}

TEST_F(FreshMemoryTest, HasItsBlocksAndNothingBetween) {
  for (const std::uint64_t begin : {5000u, 1000u, 3000u, 9000u, 2000u}) fresh_.note(at(begin), 100);
  for (const std::uint64_t begin : {1000u, 2000u, 3000u, 5000u, 9000u}) {
    EXPECT_TRUE(fresh_.has(at(begin)) && fresh_.has(at(begin + 99))) << begin;
    EXPECT_FALSE(fresh_.has(at(begin - 1)) || fresh_.has(at(begin + 100))) << begin;
  }
}

TEST_F(FreshMemoryTest, AgreesWithASearchOfAllBlocks) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> begins;
  for (unsigned i = 0; i < 1000; ++i) begins.push_back(64 * (1 + i));
  std::shuffle(begins.begin(), begins.end(), random);
  begins.resize(500);
  for (const std::uint64_t begin : begins) fresh_.note(at(begin), 1 + begin / 64 % 60);
  for (std::uint64_t address = 0; address < 64 * 1002; ++address) {
    bool expected = false;
    for (const std::uint64_t begin : begins)
      expected |= address >= begin && address < begin + 1 + begin / 64 % 60;
    ASSERT_EQ(fresh_.has(at(address)), expected) << address;
  }
}

}  // namespace
}  // namespace elision::tm
