// SPDX-License-Identifier: Apache-2.0
// Which branches the predictor learns, and how soon.
#include "machine/branch_predictor.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/random.h"

namespace elision::machine {
namespace {

class PredictorTest : public ::testing::Test {
 protected:
  /// The prediction as translated code makes it.
  bool mispredicts(std::uint32_t branch, bool taken) {
    if (predictor_->bias[branch] == BranchPredictor::sure(taken)) return false;
    return predictor_->resolve(branch, taken);
  }
  void SetUp() override { predictor_->prepare(); }
  template <class Way>
  unsigned count(std::uint32_t branch, unsigned times, Way way) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < times; ++i) wrong += mispredicts(branch, way(i));
    return wrong;
  }

  std::unique_ptr<BranchPredictor> predictor_{new BranchPredictor()};
};

TEST_F(PredictorTest, BranchIsSureAfterSixteenEqualOutcomes) {
  for (const bool taken : {true, false}) {
    const std::uint32_t branch = taken ? 1 : 2;
    count(branch, 15, [&](unsigned) { return taken; });
    EXPECT_NE(predictor_->bias[branch], BranchPredictor::sure(taken));
    count(branch, 1, [&](unsigned) { return taken; });
    EXPECT_EQ(predictor_->bias[branch], BranchPredictor::sure(taken));
    EXPECT_EQ(count(branch, 1000, [&](unsigned) { return taken; }), 0u);
    EXPECT_TRUE(mispredicts(branch, !taken)) << "the one time it does not";
    EXPECT_EQ(predictor_->bias[branch], 1 | (taken ? BranchPredictor::kNotTaken : 0));
  }
}

TEST_F(PredictorTest, LoopOfTenIsLearnt) {
  count(7, 1000, [](unsigned i) { return i % 10 != 9; });
  EXPECT_EQ(count(7, 1000, [](unsigned i) { return i % 10 != 9; }), 0u);
}

TEST_F(PredictorTest, LongLoopMispredictsOncePerRound) {
  count(7, 4000, [](unsigned i) { return i % 100 != 99; });
  EXPECT_EQ(count(7, 4000, [](unsigned i) { return i % 100 != 99; }), 40u);
}

TEST_F(PredictorTest, PatternIsLearntAndChanceIsNot) {
  count(9, 500, [](unsigned i) { return (0b0110100 >> i % 7 & 1) != 0; });
  EXPECT_EQ(count(9, 700, [](unsigned i) { return (0b0110100 >> (i + 500) % 7 & 1) != 0; }), 0u);
  Random random(3);
  const unsigned wrong = count(11, 10'000, [&](unsigned) { return random.below(2) == 0; });
  EXPECT_GT(wrong, 4500u);
  EXPECT_LT(wrong, 5500u);
}

TEST_F(PredictorTest, CorrelatedBranchIsLearnt) {
  Random random(5);
  unsigned wrong = 0;
  for (int i = 0; i < 4000; ++i) {
    const bool way = random.below(2) == 0;
    mispredicts(20, way);
    const bool missed = mispredicts(30, way);
    if (i >= 2000) wrong += missed;
  }
  EXPECT_LT(wrong, 100u);
}

TEST_F(PredictorTest, IndirectTargetsAreLearntInOrder) {
  const std::vector<std::uint64_t> targets = {0x401000, 0x401040, 0x401000, 0x401080, 0x4010c0};
  unsigned wrong = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const bool missed =
        predictor_->resolve_indirect(BranchPredictor::site_at(0x400123), targets[i % targets.size()]);
    if (i >= 100) wrong += missed;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(predictor_->resolve_indirect(BranchPredictor::site_at(0x400123), 0x402000));
}

}  // namespace
}  // namespace elision::machine
