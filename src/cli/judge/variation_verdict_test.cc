// SPDX-License-Identifier: Apache-2.0
// Comparisons over variations of the machine: pairs within a variation, what holds in how many, what it turns
// on.
#include "cli/judge/variation_verdict.h"

#include <gtest/gtest.h>

#include "cli/judge/comparison_for_test.h"
#include "cli/judge/sensitivity.h"

namespace elision::cli::experiment {
namespace {

TEST_F(Varied, RatiosArePairedWithinAVariation) {
  vary("a.b", {0, 1, 2});
  add("pthread", {1, 10, 100});  // overlaps with tatas, but is slower on every machine
  add("tatas", {0.5, 8, 40});
  const Block result = block();
  const Row& tatas = result.rows[1];
  EXPECT_EQ(tatas.ratios, (std::vector<std::optional<double>>{2.0, 1.25, 2.5}));
  EXPECT_DOUBLE_EQ(tatas.ratio.median, 2.0);
  EXPECT_DOUBLE_EQ(tatas.ratio.low, 1.25);
  EXPECT_DOUBLE_EQ(tatas.ratio.high, 2.5);
  EXPECT_DOUBLE_EQ(tatas.speedup, 2.0);
  EXPECT_EQ(tatas.leads, 3u);
  EXPECT_EQ(result.rows[0].leads, 0u);
  EXPECT_EQ(result.verdict.kind, VerdictKind::kUse);
  EXPECT_EQ(result.verdict.sentence, "Use tatas: tatas beats pthread in 3 of 3, by 1.25x to 2.50x.");
}

TEST_F(Varied, HigherMetricIsBetter) {
  plan_.metric = "rate ([0-9]+)";
  vary("a.b", {0, 1});
  add("pthread", {1, 1});
  add("tatas", {1, 1});
  for (unsigned run = 0; run < 2; ++run) {
    result("pthread", run).sample.output = "rate 100\n";
    result("tatas", run).sample.output = run == 0 ? "rate 150\n" : "rate 250\n";
  }
  EXPECT_EQ(sentence(), "Use tatas: tatas beats pthread in 2 of 2, by 1.50x to 2.50x.");
}

TEST_F(Varied, SmallGainInEveryVariationNamesNoDesign) {
  vary("a.b", {0, 1});
  add("pthread", {1, 1});
  add("tatas", {0.95, 0.94});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNoGain);
  EXPECT_EQ(
      sentence(),
      "Stay with pthread: no design gains more than 10 % (the best beats it in 2 of 2, by 1.05x to 1.06x).");
}

TEST_F(Varied, PartialWinnerIsCalledSo) {
  vary("a.b", {0, 1, 2});
  add("pthread", {1, 1, 1});
  add("tatas", {0.5, 0.5, 1.25});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNotInEvery);
  EXPECT_EQ(sentence(),
            "Perhaps tatas: tatas beats pthread only in 2 of 3, at 0.80x to 2.00x: it does not win in every "
            "variation.");
}

TEST_F(Varied, UnsettledSmallGainNamesNoDesign) {
  vary("a.b", {0, 1, 2});
  add("pthread", {1, 1, 1});
  add("tatas", {0.98, 0.98, 1.25});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNoGain);
  EXPECT_EQ(
      sentence(),
      "Stay with pthread: no design gains more than 10 % (the best beats it only in 2 of 3, at 0.80x to "
      "1.02x).");
  EXPECT_TRUE(block().rows[0].best);
}

TEST_F(Varied, EqualResultIsNoWin) {
  vary("a.b", {0, 1});
  add("pthread", {1, 1});
  add("tatas", {0.5, 1});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNotInEvery);
}

TEST_F(Varied, NextBestIsNamedWithItsScore) {
  vary("a.b", {0, 1, 2});
  add("pthread", {4, 4, 4});
  add("tatas", {2, 2, 2});
  add("htm-10", {1, 1.25, 1});
  EXPECT_EQ(
      sentence(),
      "Use htm-10: htm-10 beats pthread in 3 of 3, by 3.20x to 4.00x. It beats tatas, the next best, in 3 "
      "of 3, by 1.60x to 2.00x.");
}

TEST_F(Varied, UnsettledRankingNamesWhatItTurnsOn) {
  std::vector<double> decisive, other, pthread, tatas, htm;
  for (int i = 0; i < 24; ++i) {
    decisive.push_back(i);
    other.push_back((i * 7) % 5);
    pthread.push_back(4);
    tatas.push_back(2);
    htm.push_back(i < 14 ? 1 + 0.01 * i : 2.1 + 0.01 * i);
  }
  vary("a.other", other);
  vary("transactions.decisive", decisive);
  add("pthread", pthread);
  add("tatas", tatas);
  add("htm-10", htm);
  const Block result = block();
  EXPECT_EQ(result.verdict.kind, VerdictKind::kUse);
  EXPECT_EQ(result.rows[1].leads, 10u);
  EXPECT_EQ(
      result.verdict.sentence,
      "Use htm-10: htm-10 beats pthread in 24 of 24, by 1.72x to 4.00x. It beats tatas, the next best, only "
      "in 14 of 24, at 0.86x to 2.00x: the ranking of these two is not settled, which turns on "
      "transactions.decisive.");
}

TEST_F(Varied, ReferenceMayWinInAllOrSome) {
  vary("a.b", {0, 1, 2});
  add("pthread", {1, 1, 1});
  add("tatas", {2, 2, 1.25});
  add("ticket", {4, 4, 4});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kKeep);
  EXPECT_EQ(sentence(),
            "Stay with pthread: pthread beats tatas, the next best, in 3 of 3, by 1.25x to 2.00x.");
  result("tatas", 2).sample.seconds = 0.5;
  EXPECT_EQ(block().verdict.kind, VerdictKind::kNotInEvery);
  EXPECT_EQ(sentence(),
            "Stay with pthread: pthread beats tatas, the next best, only in 2 of 3, at 0.50x to 2.00x: the "
            "ranking of these two is not settled.");
}

TEST_F(Varied, OneVariationTellsNothingOfTheRange) {
  vary("a.b", {0});
  add("pthread", {1});
  add("tatas", {0.5});
  EXPECT_EQ(block().verdict.kind, VerdictKind::kOneRun);
  EXPECT_EQ(sentence(),
            "Perhaps tatas: 2.00 times pthread in the only variation; --vary 8 would show how sure that is.");
}

TEST_F(Varied, StoppedEarlyCountsPairsOnly) {
  vary("a.b", {0, 1, 2});
  add("pthread", {1, 1, 1});
  add("tatas", {0.5, 0.5});
  const Block result = block(false);
  EXPECT_EQ(result.verdict.sentence,
            "Stopped early. Use tatas: tatas beats pthread in 2 of 2, by 2.00x to 2.00x.");
  EXPECT_FALSE(result.rows[1].ratios[2]);
}

TEST_F(Varied, ExitCodesAreComparedWithinVariation) {
  vary("a.b", {0, 1});
  add("pthread", {1, 1});
  add("tatas", {0.5, 0.5});
  add("ticket", {0.5, 0.5});
  plan_.ignore_failure = true;
  for (const char* design : {"pthread", "tatas"}) result(design, 1).sample.status = 3;
  const Block analysed = block();
  EXPECT_EQ(analysed.rows[0].state, RowState::kGood);
  EXPECT_EQ(analysed.rows[1].state, RowState::kGood);
  EXPECT_EQ(analysed.rows[2].state, RowState::kFailed);
  EXPECT_EQ(analysed.rows[2].remark, "ended with exit code 0, in variation 1");
}

TEST(RankCorrelation, KnownValues) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {1, 10, 100, 1000}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation({5, 5, 5}, {1, 2, 3}), 0);
  // Textbook: 1 - 6 * 6 / (5 * 24), by hand.
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4, 5}, {2, 1, 4, 5, 3}), 0.6);
  // Ties share their ranks: 1.5 1.5 3.5 3.5 against 1 2 3 4 is 4 / sqrt(20).
  EXPECT_NEAR(rank_correlation({0, 0, 1, 1}, {1, 2, 3, 4}), 4 / 4.472135955, 1e-9);
}

std::vector<std::vector<machine::DrawnValue>> levels_of(std::size_t count, std::size_t fields) {
  std::vector<std::vector<machine::DrawnValue>> variations(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t f = 0; f < fields; ++f)
      variations[i].push_back({"f" + std::to_string(f), "", "", static_cast<double>((i * (2 * f + 1)) % 17)});
  }
  return variations;
}

std::vector<std::optional<double>> outcome_of(const std::vector<std::vector<machine::DrawnValue>>& variations,
                                              std::size_t field, double noise) {
  std::vector<std::optional<double>> outcome;
  for (std::size_t i = 0; i < variations.size(); ++i)
    outcome.emplace_back(-variations[i][field].level + noise * static_cast<double>((i * i * 13) % 17));
  return outcome;
}

TEST(Sensitivities, AreNamedIfClear) {
  const auto variations = levels_of(16, 5);
  const auto found = sensitivities(variations, outcome_of(variations, 2, 0.1));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().field, "f2");
  EXPECT_LT(found.front().correlation, -0.9);
}

TEST(Sensitivities, NoiseNamesNone) {
  const auto variations = levels_of(16, 5);
  EXPECT_TRUE(sensitivities(variations, outcome_of(variations, 2, 20)).empty());
}

TEST(Sensitivities, AreNotGuessedFromFew) {
  const auto variations = levels_of(8, 2);
  auto outcome = outcome_of(variations, 1, 0);
  EXPECT_FALSE(sensitivities(variations, outcome).empty());
  outcome[3] = std::nullopt;
  EXPECT_TRUE(sensitivities(variations, outcome).empty());
}

TEST(Sensitivities, ManyValuesNeedMoreThanTwo) {
  // A correlation of 0.79 over eight outcomes is clear for one value, not for the largest of forty.
  std::vector<std::vector<machine::DrawnValue>> one(8);
  const double levels[] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (std::size_t i = 0; i < 8; ++i) one[i].push_back({"f", "", "", levels[i]});
  const std::vector<std::optional<double>> outcome = {2.0, 1.0, 4.0, 3.0, 8.0, 5.0, 7.0, 6.0};
  EXPECT_EQ(sensitivities(one, outcome).size(), 1u);
  auto many = one;
  for (auto& variation : many) {
    for (int f = 0; f < 39; ++f) variation.push_back({"g", "", "", 0});
  }
  EXPECT_TRUE(sensitivities(many, outcome).empty());
}

}  // namespace
}  // namespace elision::cli::experiment
